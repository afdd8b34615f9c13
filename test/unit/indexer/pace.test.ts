import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pace } from '../../../src/indexer/trial/pace.ts';

/** Runs ten pieces of work of 100 ms each on a clock of its own. @returns its share of the time up to the last one's begin */
async function shareOf(rests: (now: number) => number, isFailing = false): Promise<number> {
  let now = 0;
  const pace = new Pace({
    rests: () => rests(now),
    longestMs: 8_000,
    now: () => now,
    sleep: async (ms) => {
      now += ms;
    }
  });
  let last = 0;
  const works = Array.from({ length: 10 }, () =>
    pace.run(async () => {
      last = now;
      now += 100;
      if (isFailing) throw new Error('failed');
    })
  );
  await Promise.allSettled(works);
  return 900 / last;
}

test('work has half of the thread, and a fifth while blocks wait', async () => {
  assert.equal(await shareOf(() => 1), 0.5);
  assert.equal(await shareOf(() => 4), 0.2);
});

test('work that fails rests as long', async () => {
  assert.equal(await shareOf(() => 4, true), 0.2);
});

test('blocks that come during a rest make it longer', async () => {
  const share = await shareOf((now) => (now >= 150 ? 4 : 1));
  assert.equal(share, 0.2);
});

test('a result or error of work goes to its caller, and the next one runs', async () => {
  const pace = new Pace({ rests: () => 0, longestMs: 0 });
  await assert.rejects(
    pace.run(async () => {
      throw new Error('refused');
    }),
    /refused/
  );
  assert.equal(await pace.run(async () => 'judged'), 'judged');
});
