import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DISPENSER_DELAY_S } from '../../../src/coin/action/dispenser.ts';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { payTo } from '../../../src/coin/script/pay-scripts.ts';
import { medianTime } from '../../../src/consensus/median-time.ts';
import { readDispenser } from '../../../src/decoder/dispenser-action.ts';
import {
  type BookState,
  type Dispenser,
  DispenserBook,
  type DispenserTransaction,
  type Extension,
  KEPT_BLOCKS,
  MAX_PAYMENTS,
  type Price
} from '../../../src/decoder/dispenser-book.ts';
import { MedianClock } from '../../../src/decoder/median-clock.ts';
import fc from '../../support/fast-check.ts';

const opening = (
  txIndex: number,
  address: string | null,
  expiration: number | null,
  { source = 'owner', least = 1n } = {}
) => ({
  txIndex,
  source,
  dispensers: { opened: [{ address, oracleAddress: null, expiration, least }], extendedTo: null }
});
const extension = (txIndex: number, extendedTo: number, source = 'owner') => ({
  txIndex,
  source,
  dispensers: { opened: [], extendedTo }
});
const isOpen = (book: DispenserBook, address: string) => book.isTaken(address, 1_000n);

/** Enough blocks of this time to make it the median. */
function pass(book: DispenserBook, from: number, time: number): void {
  for (let height = from; height < from + 11; height++) book.enter(height, time);
}

test('an address takes payments while one of its dispensers may be open in a ledger', () => {
  const book = new DispenserBook();
  book.enter(1, 600);
  assert.equal(isOpen(book, 'till'), false);
  book.apply(opening(0, 'till', 1_000));
  book.apply(opening(1, 'till', 2_000));
  assert.equal(isOpen(book, 'till'), true);
  pass(book, 2, 2_001);
  pass(book, 13, 2_001 + DISPENSER_DELAY_S - 1);
  assert.equal(isOpen(book, 'till'), true);
  pass(book, 24, 2_001 + DISPENSER_DELAY_S);
  assert.equal(isOpen(book, 'till'), false);
});

test('a dispenser cancelled in the first block whose median is above the expiration sells for an hour from that median', () => {
  const book = new DispenserBook();
  book.enter(1, 600);
  book.apply(opening(0, 'till', 1_000));
  pass(book, 2, 1_000); // at its expiration it is open
  const late = 1_000 + 2 * DISPENSER_DELAY_S;
  pass(book, 13, late);
  pass(book, 24, late + DISPENSER_DELAY_S - 1);
  assert.equal(isOpen(book, 'till'), true);
  pass(book, 35, late + DISPENSER_DELAY_S);
  assert.equal(isOpen(book, 'till'), false);
});

test('one block of a late time closes nothing: ledgers count by the median', () => {
  const book = new DispenserBook();
  for (let height = 1; height <= 11; height++) book.enter(height, 600);
  book.apply(opening(0, 'till', 1_000));
  book.enter(12, 90_000);
  book.enter(13, 600);
  assert.equal(isOpen(book, 'till'), true);
});

test('an edit never shortens, and one by the address at which it is paid extends it too', () => {
  const book = new DispenserBook();
  book.enter(1, 600);
  book.apply(opening(0, 'till', 50_000));
  for (const [txIndex, time] of [1, 700, 40_000].entries()) book.apply(extension(txIndex + 1, time));
  pass(book, 2, 30_000);
  assert.equal(isOpen(book, 'till'), true);
  book.apply(extension(5, 90_000, 'till'));
  book.apply(extension(6, 95_000, 'stranger'));
  assert.deepEqual(
    book.takeChanges().extensions.map(({ address, expiration }) => [address, expiration]),
    [
      ['owner', 700],
      ['owner', 40_000],
      ['till', 90_000]
    ]
  );
  pass(book, 13, 60_000);
  assert.equal(isOpen(book, 'till'), true);
  pass(book, 24, 90_001);
  assert.equal(isOpen(book, 'till'), true);
  pass(book, 35, 90_001 + DISPENSER_DELAY_S);
  assert.equal(isOpen(book, 'till'), false);
});

test('without an address it is that of the source, for 90 days; one that is over at once is none', () => {
  const book = new DispenserBook();
  book.enter(1, 600);
  book.apply(opening(0, null, null));
  book.apply(opening(1, 'till', 600));
  const row = { txIndex: 0, address: 'owner', oracleAddress: null, source: 'owner', expiredAt: null };
  const counted = { prices: [{ least: 1n, dispensers: 1, payments: 0 }] };
  assert.deepEqual(book.takeChanges().rows, [{ ...row, ...counted, expiration: 600 + 90 * 86_400 }]);
  assert.deepEqual(book.takeChanges(), {
    rows: [],
    extensions: [],
    payments: [],
    forgotten: { rows: [], extensions: [] }
  });
});

test('126 blocks after it ended it is forgotten', () => {
  const book = new DispenserBook();
  book.enter(1, 600);
  book.apply(opening(0, 'till', 700));
  pass(book, 2, 701);
  pass(book, 13, 9_000);
  assert.equal(isOpen(book, 'till'), false);
  const ended = book.takeChanges().rows[0]!.expiredAt!;
  const forgotten = () => book.takeChanges().forgotten.rows.length;
  for (let height = 24; height < ended + KEPT_BLOCKS; height++) book.enter(height, 9_000);
  assert.deepEqual([...book.addresses(), forgotten()], ['till', 0]);
  book.enter(ended + KEPT_BLOCKS, 9_000);
  assert.equal(forgotten(), 1);
  assert.deepEqual([...book.addresses()], []);
});

test('prices of an address are forgotten with its last dispenser, once no rollback takes it back', () => {
  const book = new DispenserBook();
  book.enter(1, 600);
  book.apply(opening(0, 'till', 700));
  book.apply(extension(1, 800));
  pass(book, 2, 801);
  pass(book, 13, 9_000);
  const ended = book.takeChanges().rows[0]!.expiredAt!;
  book.enter(ended + KEPT_BLOCKS, 9_000);
  assert.deepEqual(book.takeChanges().forgotten.extensions, [{ height: 1, address: 'owner', expiration: 800 }]);
});

test('a payment that is less than any dispenser asks is none', () => {
  const book = new DispenserBook();
  book.enter(1, 600);
  book.apply(opening(0, 'till', 9_000, { least: 50n }));
  assert.deepEqual([book.isTaken('till', 49n), book.isTaken('till', 50n)], [false, true]);
});

test('at the address of a stranger, one transaction buys what a ledger would serve and no more', () => {
  const book = new DispenserBook({}, 2);
  book.enter(1, 600);
  book.apply(opening(0, 'stranger', 10 ** 14));
  for (let count = 0; count < 10; count++) assert.equal(book.take('stranger', 1n), true);
  book.enter(2, 600);
  for (let count = 0; count < MAX_PAYMENTS; count++) assert.equal(book.take('stranger', 1n), true);
  assert.equal(book.take('stranger', 1n), false);
  const { rows, payments } = book.takeChanges();
  assert.equal(rows[0]!.expiredAt, 2);
  assert.deepEqual(
    payments.map(({ height, count }) => [height, count]),
    [[2, MAX_PAYMENTS]],
    'payments below the height do not count'
  );
});

test('a payment of an address to itself counts below the height of the limits alone', () => {
  const book = new DispenserBook({}, 2);
  const areOwn = [1, 2].map((height) => {
    book.enter(height, 600);
    return [book.isOwnChange('A', 'A'), book.isOwnChange('B', 'A')];
  });
  assert.deepEqual(areOwn, [
    [false, false],
    [true, false]
  ]);
});

test('a BATCH watches no address but its own: 8 KB would buy 672,000 payments of strangers', () => {
  const { addresses } = chainNetwork('litecoin', 'mainnet');
  const addressAt = (byte: number) => addressOf(payTo({ kind: 'keyHash', bytes: Buffer.alloc(20, byte) }), addresses)!;
  const at = (address: string) => `DISPENSER||LTC|X|1||1|LTC||0.00000001|${address}`;
  const source = addressAt(0);
  const strangers = Array.from({ length: 111 }, (_, byte) => addressAt(byte + 1));
  const watching = (text: string, limitFrom: number) => {
    const book = new DispenserBook({}, limitFrom);
    book.enter(1, 600);
    book.apply({ txIndex: 0, source, dispensers: readDispenser(text, ['LTC'], addresses) });
    return book;
  };
  const stored = (text: string) => {
    const book = watching(text, 0);
    return book.addresses().map((address) => {
      let payments = 0;
      while (book.take(address, 1n)) payments++;
      return payments;
    });
  };
  const batch = `BATCH|0|${[at(source), at(''), ...strangers.map(at)].join(';')}`;
  assert.deepEqual(stored(batch), [2 * MAX_PAYMENTS], 'those at its own address');
  assert.equal(watching(batch, 2).addresses().length, 112, 'below the height ledgers take them');
  assert.deepEqual(stored(at(strangers[0]!)), [MAX_PAYMENTS]);
});

test('a dispenser priced in a currency is no reason to keep dust: its GET_AMOUNT is the least payment', () => {
  const { addresses } = chainNetwork('bitcoin', 'regtest');
  const opened = (least: string) => readDispenser(`DISPENSER|0|BTC|T|1|0|10|BTC||${least}||USD|1`, ['BTC'], addresses);
  assert.deepEqual(
    opened('0.00005').opened.map(({ least }) => least),
    [5_000n]
  );
  for (const least of ['', '0']) assert.deepEqual(opened(least).opened, [], 'no ledger opens it');
});

test('two dispensers of one transaction at one address are one row, open while one of them is', () => {
  const book = new DispenserBook();
  book.enter(1, 600);
  const [one, other] = [opening(0, 'till', 5_000, { least: 9n }), opening(0, 'till', 7_000, { least: 4n })];
  book.apply({
    ...one,
    dispensers: { opened: [...one.dispensers.opened, ...other.dispensers.opened], extendedTo: null }
  });
  assert.deepEqual(
    book.takeChanges().rows.map(({ expiration, prices }) => ({ expiration, prices })),
    [{ expiration: 7_000, prices: [4n, 9n].map((least) => ({ least, dispensers: 1, payments: 0 })) }]
  );
});

const names = fc.constantFrom('a', 'b', 'c');
const step = fc.record({
  source: names,
  address: fc.option(names),
  time: fc.integer({ min: 0, max: 5_000 }),
  kind: fc.constantFrom('open', 'extend', 'block', 'pay')
});

/** The part of a book that the tables of a decoder keep. */
class Kept {
  readonly rows = new Map<string, Dispenser>();
  readonly extensions: Extension[] = [];
  readonly times: number[] = [];

  keep(book: DispenserBook): void {
    const { rows, extensions, payments } = book.takeChanges();
    for (const row of rows) this.rows.set(`${row.txIndex} ${row.address}`, row);
    for (const { dispenser, least, count } of payments) {
      const place = `${dispenser.txIndex} ${dispenser.address}`;
      const row = this.rows.get(place)!;
      const paid = (price: Price) => (price.least === least ? { ...price, payments: price.payments + count } : price);
      if (!rows.includes(row)) this.rows.set(place, { ...row, prices: row.prices.map(paid) });
    }
    this.extensions.push(...extensions);
  }

  get state(): BookState {
    return { dispensers: this.rows.values(), extensions: this.extensions, clock: new MedianClock(this.times) };
  }
}

test('the open dispensers are those that a ledger may have open, and a book that is read again goes on alike', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.nat(60), (steps, cut) => {
      let book = new DispenserBook({}, 0);
      let [height, now] = [1, 600];
      const kept = new Kept();
      /** One that is cancelled in the block that ends it closes an hour after that block's median. */
      const opened: { till: string; parties: string[]; until: number; endedAt: number }[] = [];
      let below = Number.NEGATIVE_INFINITY;
      const enter = () => {
        book.enter(height, now);
        if (kept.times.length > 0) below = medianTime(kept.times);
        for (const one of opened) if (one.until < below) one.endedAt = Math.min(one.endedAt, below);
        kept.times.push(now);
      };
      enter();
      for (const [place, { source, address, time, kind }] of steps.entries()) {
        const median = medianTime(kept.times.slice(-11));
        if (kind === 'block') {
          height += 1;
          now += time;
          enter();
        } else if (kind === 'open') {
          const transaction: DispenserTransaction = opening(place, address, median + time, { source });
          book.apply(transaction);
          const till = address ?? source;
          if (time > 0)
            opened.push({ till, parties: [till, source], until: median + time, endedAt: Number.POSITIVE_INFINITY });
        } else if (kind === 'extend') {
          book.apply(extension(place, median + time, source));
          // A ledger takes the new time as it is, also an earlier one.
          for (const one of opened)
            if (one.parties.includes(source) && time > 0 && one.endedAt > below) one.until = median + time;
        } else book.take(source, 1n);
        for (const { till, endedAt } of opened)
          assert.ok(endedAt + DISPENSER_DELAY_S <= below || book.isTaken(till, 1n), `${till} is closed`);
        if (place === cut) {
          kept.keep(book);
          const again = new DispenserBook(kept.state, 0);
          const [one, other] = [book, again].map((each) => ['a', 'b', 'c'].map((name) => each.isTaken(name, 1n)));
          assert.deepEqual(other, one);
          book = again;
          // The block goes on in the next one.
          height += 1;
          enter();
        }
      }
    })
  );
});

test('payments to a cheap dispenser end it, and none that asks more in the same transaction', () => {
  const book = new DispenserBook({}, 0);
  book.enter(1, 600);
  for (const least of [100n, 1n, 100n]) book.apply(opening(0, 'till', 9_000, { least }));
  for (let count = 0; count < MAX_PAYMENTS; count++) assert.equal(book.take('till', 50n), true);
  assert.equal(book.take('till', 50n), false);
  // The cheap one may have been closed by any of the payments, so that those below 100 count for nobody.
  for (let count = 0; count < 3 * MAX_PAYMENTS; count++) assert.equal(book.take('till', 100n), true);
  assert.equal(book.take('till', 100n), false);
  const [row] = book.takeChanges().rows;
  assert.equal(row!.expiredAt, 1);
});

test('a dear payment ends no cheap dispenser while a dearer one may have served it', () => {
  const book = new DispenserBook({}, 0);
  book.enter(1, 600);
  for (const least of [1n, 100n]) book.apply(opening(0, 'till', 9_000, { least }));
  for (let count = 0; count < 2 * MAX_PAYMENTS - 1; count++) assert.equal(book.take('till', 100n), true);
  assert.equal(book.take('till', 1n), true);
  assert.equal(book.take('till', 100n), true, 'the cheap one may have taken all its payments from those of 100');
  assert.equal(book.take('till', 100n), false, 'both have served as often as they may');
});

test('payments below a dear dispenser do not end it, whatever the cheap one beside it has taken before', () => {
  const book = new DispenserBook({}, 0);
  book.enter(1, 600);
  for (const least of [1_000n, 1_001n]) book.apply(opening(0, 'till', 9_000, { least }));
  const pay = (times: number, amount: bigint) => {
    for (let count = 0; count < times; count++) book.take('till', amount);
  };
  pay(MAX_PAYMENTS - 5, 1_001n); // the cheap one is older, and asked first
  pay(10, 1_001n);
  pay(MAX_PAYMENTS - 5, 1_000n);
  assert.ok(book.isTaken('till', 1_001n), 'a ledger has it open with ten payments');
});

test('a payment costs no more where others opened dispensers at its address that ask for too much', () => {
  const timed = (others: number) => {
    const book = new DispenserBook({}, 0);
    book.enter(1, 600);
    for (let at = 0; at < others; at++)
      book.apply(opening(at, 'an exchange', 10_000, { source: `owner ${at}`, least: 1_000_000n }));
    book.apply(opening(others, 'an exchange', 10_000, { least: 5n }));
    const before = process.threadCpuUsage();
    for (let payment = 0; payment < 2_000; payment++) assert.ok(book.take('an exchange', 10n));
    return process.threadCpuUsage(before).user / 1_000;
  };
  timed(1);
  const [few, many] = [timed(10), timed(30_000)];
  assert.ok(many < 20 * few + 200, `${many} ms with 30,000 of them, ${few} ms with 10`);
});

test('addresses are listed anew only when they change', () => {
  const book = new DispenserBook();
  book.enter(1, 600);
  const none = book.addresses();
  book.apply(opening(0, 'till', 1_000));
  const one = book.addresses();
  book.apply(opening(1, 'till', 1_000));
  book.enter(2, 600);
  assert.deepEqual([none, one], [[], ['till']]);
  assert.equal(book.addresses(), one);
  pass(book, 3, 1_001);
  pass(book, 14, 1_001 + DISPENSER_DELAY_S);
  for (let height = 25; height <= 25 + KEPT_BLOCKS; height++) book.enter(height, 9_000);
  assert.equal(book.takeChanges().forgotten.rows.length, 2);
  assert.deepEqual(book.addresses(), []);
});
