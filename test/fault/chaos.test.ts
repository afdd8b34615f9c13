import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runChaos } from '../../lab/chaos/run.ts';

/** Its faults cut and kill on every side, and a source that is followed is hostile twice. */
const SEED = '353';

test('seven seconds of chaos: afterwards every replica is equal, no height was lost or repeated, and nothing is left', async () => {
  const { faults, violations, text } = await runChaos({ seed: SEED, seconds: 7 });
  assert.deepEqual(violations, [], text);
  assert.ok(faults >= 4, text);
});
