import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BEHAVIOURS } from './liars.ts';
import { Simulation } from './simulation.ts';

const STEPS = 10_000;

test('honest hubs agree and lose no write through crashes, partitions and lost messages', () => {
  for (const [hubs, seed] of [
    [1, 1],
    [3, 2],
    [4, 3],
    [7, 4]
  ] as const) {
    const { operations, crashes } = new Simulation({ seed, hubs, steps: STEPS }).run();
    assert.ok(operations > 20 && crashes > 0, `${hubs} hubs: ${operations} operations, ${crashes} crashes`);
  }
});

for (const [place, behaviour] of BEHAVIOURS.entries())
  test(`one hub of four ${behaviour}: the others agree, lose no write and name no honest hub`, () => {
    for (const round of [1, 2, 3]) {
      const seed = round * BEHAVIOURS.length + place;
      const { operations } = new Simulation({ seed, hubs: 4, behaviour, steps: STEPS / 2 }).run();
      assert.ok(operations > 20, String(operations));
    }
  });

test('a hub that signs two proposals for one place is named', () => {
  const { named } = new Simulation({ seed: 12, hubs: 4, behaviour: 'equivocates', steps: STEPS }).run();
  assert.equal(named.size, 1);
});

test('the log is long enough that checkpoints, pruned logs and replaced states take part', () => {
  const { batches } = new Simulation({ seed: 5, hubs: 4, steps: 60_000, isBusy: true }).run();
  assert.ok(batches > 400, String(batches));
});

test('a seed plays the same run again', () => {
  const play = () => new Simulation({ seed: 9, hubs: 4, behaviour: 'floods', steps: 3_000 }).run();
  assert.deepEqual(play(), play());
});
