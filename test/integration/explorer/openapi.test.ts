import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { OpenApi } from '../../../src/service/schema/openapi.ts';
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

test('a client made from /openapi.json finds no server error and no answer that breaks its schema', async () => {
  const document = (await (await fetch(`${explorer.url}/openapi.json`)).json()) as { openapi: string };
  assert.match(document.openapi, /^3\.1\./);
  const { unanswered } = await checkByDescription({ url: explorer.url, runs: 25 });
  assert.deepEqual([...unanswered], []);
});

test('/openapi.json tells of CSV, 304, headers, pages, and the paths without a code', async () => {
  const document = (await (await fetch(`${explorer.url}/openapi.json`)).json()) as OpenApi;
  assert.deepEqual(document.components.schemas['Error']?.['required'], ['error', 'code']);
  for (const path of ['/{coin}/api/blocks', '/api/blocks', '/api/block/{query}']) {
    const { responses } = document.paths[path]!['get']!;
    const served = await fetch(`${explorer.url}${path.replace('{coin}', 'RBTC').replace('{query}', '1')}`);
    const described = Object.keys({ ...responses[200]?.headers, ...responses[429]?.headers }).map((name) =>
      name.toLowerCase()
    );
    for (const name of ['etag', 'cache-control', 'x-block-height', 'x-lag-blocks', 'ratelimit', 'ratelimit-policy']) {
      assert.ok(served.headers.has(name), `${path} has ${name}`);
      assert.ok(described.includes(name), `${name} of ${path} is described`);
    }
    assert.ok(described.includes('retry-after'));
    assert.ok(responses[304]?.headers?.['ETag']);
    assert.equal('text/csv' in (responses[200]?.content ?? {}), path.endsWith('blocks'), path);
  }
  const search = document.paths['/search']!['get']!.responses;
  assert.ok(search[303]);
  for (const status of [400, 404, 503]) assert.deepEqual(Object.keys(search[status]?.content ?? {}), ['text/html']);
  const ids = Object.values(document.paths).flatMap((path) =>
    Object.values(path).map(({ operationId }) => operationId)
  );
  assert.equal(new Set(ids).size, ids.length, 'each operation has a name of its own');
});
