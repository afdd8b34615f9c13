import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DISPENSER_DELAY_S } from '../../../src/indexer/offers/delays.ts';
import { listsAt } from '../../../src/indexer/offers/dispense.ts';
import { withEdit } from '../../../src/indexer/offers/dispenser-lists.ts';
import type { Dispenser, DispenserLists } from '../../../src/indexer/state/offer.ts';
import fc from '../../support/fast-check.ts';

const FIRST: DispenserLists = { from: 0, allowList: null, blockList: null };
const countingAt = (lists: readonly DispenserLists[], time: number) => listsAt({ lists } as Dispenser, time);

test('property: the lists that edits leave count at every later time as those of all edits would', () => {
  const waits = fc.array(fc.constantFrom(0, 0, 1, 600, 1_800, 3_600, 4_000), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(waits, fc.integer({ min: 0, max: 8_000 }), (pauses, later) => {
      let [now, kept, all] = [1_000, [FIRST] as readonly DispenserLists[], [FIRST]];
      for (const [place, pause] of pauses.entries()) {
        now += pause;
        const edit = { from: now + DISPENSER_DELAY_S, allowList: place, blockList: null };
        [kept, all] = [withEdit(kept, edit, now), [...all, edit]];
        for (const time of [now, now + 1, now + DISPENSER_DELAY_S, now + later])
          assert.deepEqual(countingAt(kept, time), countingAt(all, time));
      }
    })
  );
});

test('thousands of edits of a dispenser leave one pair of lists for each block of the last hour', () => {
  let kept: readonly DispenserLists[] = [FIRST];
  for (let place = 0; place < 20_000; place++) {
    const now = 1_000 + 600 * Math.floor(place / 250);
    kept = withEdit(kept, { from: now + DISPENSER_DELAY_S, allowList: place, blockList: null }, now);
    assert.ok(kept.length <= 8, `${kept.length} after ${place}`);
  }
});
