import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runEdgeChaos } from '../../lab/edges/run.ts';

const [SEED, SECONDS] = [1, 15];

test('publishers, edges and NATS that are killed, parted and full leave no gap, no repeat and no fork behind the edges', async () => {
  const { violations, received } = await runEdgeChaos({ seed: SEED, seconds: SECONDS }, () => undefined);
  assert.deepEqual(violations, []);
  assert.ok(received > 0);
});
