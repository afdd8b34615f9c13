import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createDatabase } from '../support/mariadb.ts';
import { startProgram } from '../support/service-process.ts';
import { appendBlocks, createDecoder } from '../support/sync/generated-decoder.ts';
import { PAIR_KEY, startPair } from '../support/sync/sync-pair.ts';
import { eventually } from '../support/sync/sync-process.ts';

const NEW_BLOCKS = 3;
const path = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));

test('the examples download a snapshot of a real server and follow its blocks without a gap', async () => {
  const source = await createDatabase('examples');
  await createDecoder(source, { seed: 'examples', blocks: 20, rows: 200 });
  const first = await appendBlocks(source, 1, 'first');
  const { server } = await startPair('decoder', source);
  const database = 'decoder/litecoin/regtest';
  const env = { SYNC_API_KEY: PAIR_KEY, POLL_S: '0.2' };
  const examples = [
    startProgram(path('scripts/run-node'), [path('docs/examples/follow.ts'), server.url, database], env),
    startProgram(path('docs/examples/follow.sh'), [server.url, database], env)
  ];
  const prints = (wanted: RegExp) =>
    eventually(`each example prints ${wanted}`, async () => {
      for (const { child, output } of examples) assert.equal(child.exitCode, null, output());
      return examples.every(({ output }) => wanted.test(output()));
    });
  await prints(new RegExp(`^snapshot: [1-9]\\d* bytes of JSON at block ${first}$`, 'm'));
  const last = await appendBlocks(source, NEW_BLOCKS, 'followed');
  await prints(new RegExp(`^block ${last}$`, 'm'));
  const [stream] = examples;
  for (let height = first + 1; height <= last; height += 1) assert.ok(stream!.output().includes(`block ${height}\n`));
});
