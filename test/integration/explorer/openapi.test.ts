import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { checkByDescription } from '../../support/explorer-client.ts';
import { createExplored } from '../../support/explorer-database.ts';
import { startExplorer } from '../../support/explorer-process.ts';

let explored: Awaited<ReturnType<typeof createExplored>>;
let explorer: Awaited<ReturnType<typeof startExplorer>>;
before(async () => {
  explored = await createExplored();
  explorer = await startExplorer(explored, { EXPLORER_RATE_LIMIT_RPM: '1000000' });
});
after(() => explored.store.close());

test('EEX-01, SVC-09, ADR-06: a client made from /openapi.json finds no server error and no answer that breaks its schema', async () => {
  const document = (await (await fetch(`${explorer.url}/openapi.json`)).json()) as { openapi: string };
  assert.match(document.openapi, /^3\.1\./);
  const { unanswered } = await checkByDescription({ url: explorer.url, runs: 25 });
  assert.deepEqual([...unanswered], []);
});
