import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ATTACKS } from '../../lab/hostile/attacks/all.ts';
import { hostileDevnet } from '../../lab/hostile/devnet.ts';

test('a devnet under every attack stays live, and equal to one that is made anew', { timeout: 1_200_000 }, async () => {
  const lines: string[] = [];
  const report = await hostileDevnet({
    seed: 'in short',
    blocks: 110,
    pace: 1,
    stallMs: 60_000,
    attacks: ATTACKS,
    tell: (line) => void lines.push(line)
  });
  assert.deepEqual(report.faults, [], lines.slice(-20).join('\n'));
  assert.equal(report.attacks, ATTACKS.length);
});
