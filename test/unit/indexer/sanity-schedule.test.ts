import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SanitySchedule } from '../../../src/indexer/store/sanity-schedule.ts';

/** Rows that the checks of so many groups read, each of which moves one ticker. */
function rowsRead(size: number, groups: number): number {
  const schedule = new SanitySchedule();
  let read = 0;
  for (let group = 0; group < groups; group++) {
    const due = schedule.begin([7]);
    read += due.length * size;
    schedule.finish(new Map(due.map((id) => [id, size])));
  }
  return read;
}

test('a small ticker is checked with every group', () => {
  assert.equal(rowsRead(100, 50), 5_000);
});

test('what checks cost does not grow with the rows of a ticker', () => {
  const [hundredThousand, million] = [rowsRead(100_000, 10_000), rowsRead(1_000_000, 10_000)];
  assert.ok(million <= hundredThousand * 1.2, `${million} rows beside ${hundredThousand}`);
});

test('a ticker that was never checked is due', () => {
  const schedule = new SanitySchedule();
  schedule.finish(new Map([[1, 1_000_000]]));
  assert.deepEqual(schedule.begin([1, 2]), [2]);
});
