import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SanitySchedule } from '../../../src/indexer/store/sanity-schedule.ts';

/** Rows that checks read, each time that one ticker is moved. */
function rowsRead(size: number, times: number, isGroup: boolean): number {
  const schedule = new SanitySchedule();
  let read = 0;
  for (let time = 0; time < times; time++) {
    const due = schedule.begin(new Map([[7, 1]]), isGroup);
    read += due.length * size;
    schedule.finish(new Map(due.map((id) => [id, size])));
  }
  return read;
}

test('at the tip a small ticker is checked with every block', () => {
  assert.equal(rowsRead(100, 50, false), 5_000);
});

for (const isGroup of [false, true]) {
  test(`the cost of checks does not grow with the rows of a ticker, ${isGroup ? 'in a catch-up' : 'at the tip'}`, () => {
    const [hundredThousand, million] = [100_000, 1_000_000].map((size) => rowsRead(size, 1_000_000, isGroup)) as [
      number,
      number
    ];
    assert.ok(million <= hundredThousand * 1.4, `${million} rows beside ${hundredThousand}`);
  });
}

test('a catch-up leaves a ticker that few blocks moved to the first block at the tip', () => {
  const schedule = new SanitySchedule();
  assert.deepEqual(schedule.begin(new Map([[1, 20]]), true), []);
  assert.deepEqual(schedule.begin(new Map([[1, 1]]), false), [1]);
});

test('a catch-up checks each ticker that it moves often', () => {
  const schedule = new SanitySchedule();
  const due = Array.from({ length: 100 }, () => schedule.begin(new Map([[1, 1]]), true).length);
  assert.equal(due.indexOf(1), 49);
});

test('tickers are not kept for ever, but for those that are left out for ever', () => {
  const schedule = new SanitySchedule();
  schedule.finish(
    new Map([
      [1, Number.POSITIVE_INFINITY],
      [2, 1_000_000]
    ])
  );
  const due = (ids: readonly number[]) => schedule.begin(new Map(ids.map((id) => [id, 1])), false);
  assert.deepEqual(due([1, 2]), []);
  due(Array.from({ length: 300_000 }, (_, at) => 3 + at));
  assert.deepEqual(due([1, 2]), [2]);
});

test('a ticker that was never checked is due', () => {
  const schedule = new SanitySchedule();
  schedule.finish(new Map([[1, 1_000_000]]));
  const moved = new Map([
    [1, 1],
    [2, 1]
  ]);
  assert.deepEqual(schedule.begin(moved, false), [2]);
});
