import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BEHAVIOURS } from '../../lab/federation/liars.ts';
import { Simulation } from '../../lab/federation/simulation.ts';

const STEPS = 10_000;
/** Long cuts and absences, and much that is written meanwhile. */
const LONG = { isBusy: true, disturbance: 0.00015 };
/** Much that is committed and not yet written when the power goes. */
const SLOW = { isBusy: true, disturbance: 0.003, longestWriteMs: 300 };

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

test('honest hubs whose databases are slow agree and lose no write when all lose their power at once', () => {
  for (const [hubs, seed] of [
    [3, 1],
    [3, 6],
    [4, 5]
  ] as const) {
    const { batches } = new Simulation({ seed, hubs, steps: 8_000, ...SLOW }).run();
    assert.ok(batches > 20, `${batches} batches`);
  }
});

for (const [place, behaviour] of BEHAVIOURS.entries())
  test(`one hub of four ${behaviour}: the others agree, lose no write and name no honest hub`, () => {
    let delivered = 0;
    for (const round of [1, 2, 3]) {
      const seed = round * BEHAVIOURS.length + place;
      const { operations, checked, lies } = new Simulation({ seed, hubs: 4, behaviour, steps: STEPS }).run();
      assert.ok(operations > 20 && checked > 20, `${operations} operations, ${checked} answers`);
      delivered += lies;
    }
    assert.ok(delivered > 0, 'it did not lie');
  });

test('the first leader leads for ever while no message is lost', () => {
  const { highestView, checked } = new Simulation({ seed: 6, hubs: 4, steps: STEPS, disturbance: 0 }).run();
  assert.equal(highestView, 0);
  assert.ok(checked > 100, String(checked));
});

test('a hub that signs two things for one place is named', () => {
  const runs = [1, 2, 3, 4, 5, 6].map((seed) =>
    new Simulation({ seed, hubs: 4, behaviour: 'equivocates', steps: STEPS / 2 }).run()
  );
  assert.ok(runs.filter(({ named }) => named.size === 1).length >= 5, 'most runs have evidence');
});

test('the log is long enough that checkpoints, pruned logs and replaced states take part', () => {
  const { batches, replaced } = new Simulation({ seed: 4, hubs: 4, steps: 40_000, ...LONG }).run();
  assert.ok(batches > 400 && replaced > 0, `${batches} batches, ${replaced} states`);
});

test('a seed plays the same run again', () => {
  const play = () => new Simulation({ seed: 9, hubs: 4, behaviour: 'floods', steps: 3_000 }).run();
  assert.deepEqual(play(), play());
});
