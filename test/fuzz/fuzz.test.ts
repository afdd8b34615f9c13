import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { play } from '../../lab/fuzz/support/target.ts';
import { TARGETS } from '../../lab/fuzz/targets.ts';

const SEED = 20_250;

for (const target of TARGETS) {
  test(`${target.name}: ${target.promise}`, async () => {
    const finding = await play(target, SEED, target.shortRuns);
    const again = `npm run fuzz -- --seconds 0 --seed ${SEED} --target ${target.name}`;
    assert.equal(finding, null, finding ? `${finding.reason}\nsmallest input: ${finding.input}\n${again}` : again);
  });
}

after(async () => {
  for (const target of TARGETS) await target.close?.();
});
