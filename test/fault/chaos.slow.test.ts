import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runChaos } from '../../lab/chaos/run.ts';

test('twelve seconds of chaos: afterwards every replica is equal, no height was lost or repeated, and nothing is left', async () => {
  const { faults, violations, text } = await runChaos({ seed: '4', seconds: 12 });
  assert.deepEqual(violations, [], text);
  assert.ok(faults >= 5, text);
});

test('ten seconds of hostile sources: oversized, endless, lying and stuttering ones, followed or not, change nothing', async () => {
  const { faults, violations, text } = await runChaos({ seed: '1', seconds: 10, kinds: ['hostileSource'] });
  assert.deepEqual(violations, [], text);
  assert.ok(faults >= 5, text);
});
