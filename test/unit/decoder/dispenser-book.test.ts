import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DispenserBook, type DispenserTransaction } from '../../../src/decoder/dispenser-book.ts';
import fc from '../../support/fast-check.ts';

const opening = (txIndex: number, address: string | null, expiration: number | null, source = 'owner') => ({
  ...{ txIndex, source },
  dispensers: { opened: { address, oracleAddress: null, expiration }, extendedTo: null }
});
const extension = (txIndex: number, extendedTo: number, source = 'owner') => ({
  ...{ txIndex, source },
  dispensers: { opened: null, extendedTo }
});

test('an address takes payments while one of its dispensers is open', () => {
  const book = new DispenserBook();
  book.enter(1, 600);
  assert.equal(book.isOpen('till'), false);
  book.apply(opening(0, 'till', 1_000));
  book.apply(opening(1, 'till', 2_000));
  assert.equal(book.isOpen('till'), true);
  book.enter(2, 1_001);
  assert.equal(book.isOpen('till'), true);
  book.enter(3, 2_000); // at its time it is still open
  assert.equal(book.isOpen('till'), true);
  book.enter(4, 2_001);
  assert.equal(book.isOpen('till'), false);
  book.apply(extension(2, 9_000));
  assert.equal(book.isOpen('till'), true);
  assert.deepEqual(
    book.takeChanges().replaced.map(({ height, dispenser }) => [height, dispenser.txIndex, dispenser.expiredAt]),
    [
      [4, 0, 2],
      [4, 1, 4]
    ]
  );
});

test('without an address it is that of the source, for 90 days', () => {
  const book = new DispenserBook();
  book.enter(1, 600);
  book.apply(opening(0, null, null));
  const row = { txIndex: 0, address: 'owner', oracleAddress: null, source: 'owner', expiredAt: null };
  assert.deepEqual(book.takeChanges().rows, [{ ...row, expiration: 600 + 90 * 86_400 }]);
  assert.deepEqual(book.takeChanges(), { rows: [], replaced: [] });
});

test('126 blocks after it expired it is forgotten, and no extension brings it back', () => {
  const book = new DispenserBook();
  book.enter(1, 600);
  book.apply(opening(0, 'till', 700));
  book.enter(2, 701);
  book.enter(127, 800);
  book.purge();
  assert.deepEqual([...book.addresses()], ['till']);
  book.enter(128, 900);
  book.apply(extension(1, 9_000));
  assert.equal(book.isOpen('till'), false);
  book.purge();
  assert.deepEqual([...book.addresses()], []);
});

const names = fc.constantFrom('a', 'b', 'c');
const step = fc.record({
  source: names,
  address: fc.option(names),
  time: fc.integer({ min: 0, max: 40 }),
  kind: fc.constantFrom('open', 'extend', 'block')
});

test('what is open is what its rows say, however the steps fall, and a book that is read again goes on alike', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.nat(60), (steps, cut) => {
      let book = new DispenserBook();
      let [height, now] = [0, 0];
      const rows = new Map<number, ReturnType<DispenserBook['takeChanges']>['rows'][number]>();
      for (const [place, { source, address, time, kind }] of steps.entries()) {
        if (kind === 'block') {
          height += 1;
          now += time;
          book.enter(height, now);
        } else {
          const said: DispenserTransaction =
            kind === 'open' ? opening(place, address, now + time, source) : extension(place, now + time, source);
          book.apply(said);
        }
        for (const row of book.takeChanges().rows) rows.set(row.txIndex, row);
        for (const name of ['a', 'b', 'c']) {
          const isOpen = [...rows.values()].some((row) => row.address === name && row.expiredAt === null);
          assert.equal(book.isOpen(name), isOpen);
        }
        if (place !== cut) continue;
        book = new DispenserBook(rows.values());
        book.enter(height, now);
        assert.deepEqual(book.takeChanges().rows, []);
      }
    })
  );
});
