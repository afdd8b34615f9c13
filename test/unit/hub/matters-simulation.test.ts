import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MATTER_BEHAVIOURS, MattersSimulation } from '../../../lab/federation/matters.ts';

const STEPS = 250;

test('all that honest hubs ask for is decided, and all that is decided is true', () => {
  const { attested, confirmed, passed, failed, executed, settled } = new MattersSimulation({
    seed: 1,
    hubs: 4,
    steps: 2 * STEPS
  }).run();
  assert.ok(attested > 50 && confirmed > 5, `${attested} attested, ${confirmed} confirmed`);
  assert.ok(passed > 0 && failed > 0, `${passed} passed, ${failed} failed`);
  assert.ok(executed > 5 && settled > 0, `${executed} executed, ${settled} settled`);
});

for (const [place, behaviour] of MATTER_BEHAVIOURS.entries())
  test(`as many hubs as may lie, each ${behaviour}: what is decided is true, and honest hubs get their answers`, () => {
    for (const hubs of [4, 7]) {
      // One that fills its part of the log makes each step of the run longer.
      const steps = behaviour === 'asks all the time' ? STEPS / 5 : STEPS;
      const run = new MattersSimulation({ seed: 10 + place, hubs, steps, behaviour }).run();
      assert.ok(run.lies > 0, 'none lied');
      assert.ok(run.attested > 20, `${run.attested} attested`);
    }
  });
