import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../../src/coin/chains.ts';
import { addressOf } from '../../../../src/coin/script/address.ts';
import { payTo } from '../../../../src/coin/script/pay-scripts.ts';
import { readDispenser } from '../../../../src/decoder/dispensers/action.ts';
import { MAX_PAYMENTS } from '../../../../src/decoder/dispensers/prices.ts';
import {
  DispenserRun,
  KEPT_BLOCKS,
  NO_STOPS,
  NONE_BEFORE,
  type Stops
} from '../../../../src/decoder/dispensers/run.ts';
import { MedianClock } from '../../../../src/decoder/median-clock.ts';

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

/** A run from the first block of a chain on. @param limitFrom  first block whose payments count */
function runFrom(limitFrom = Number.POSITIVE_INFINITY, stops: Stops = NO_STOPS): DispenserRun {
  return new DispenserRun(NONE_BEFORE, new MedianClock(), { limitFrom, stops });
}

/** Enough blocks of this time to make it the median. */
function pass(run: DispenserRun, from: number, time: number): void {
  for (let height = from; height < from + 11; height++) run.enter(height, time);
}

test('a run ends before the block that may end a dispenser, or forget one', async () => {
  const run = runFrom(2);
  run.enter(1, 600);
  await run.apply(opening(0, 'till', 1_000));
  pass(run, 2, 5_000);
  assert.equal(run.accepts(13), true, 'no median above the expiration is an hour old');
  pass(run, 13, 9_000);
  assert.equal(run.accepts(24), false);

  const other = runFrom(2, { height: 500, time: Number.POSITIVE_INFINITY });
  assert.deepEqual([other.accepts(499), other.accepts(500)], [true, false]);
  other.enter(2, 600);
  await other.apply(opening(0, null, 10 ** 9));
  await other.apply(extension(1, 10 ** 10));
  assert.deepEqual([other.accepts(1 + KEPT_BLOCKS), other.accepts(2 + KEPT_BLOCKS)], [true, false]);
});

test('an edit never shortens, and is none of whoever has no dispenser', async () => {
  const run = runFrom();
  run.enter(1, 600);
  await run.apply(opening(0, 'till', 50_000));
  for (const [txIndex, time] of [1, 700, 40_000, 39_000].entries()) await run.apply(extension(txIndex + 1, time));
  await run.apply(extension(5, 90_000, 'till'));
  await run.apply(extension(6, 95_000, 'stranger'));
  assert.deepEqual(
    run.changes.extensions.map(({ address, expiration }) => [address, expiration]),
    [
      ['owner', 700],
      ['owner', 40_000],
      ['till', 90_000]
    ]
  );
});

test('without an address it is that of the source, for 90 days; one that is over at once is none', async () => {
  const run = runFrom();
  run.enter(1, 600);
  await run.apply(opening(0, null, null));
  await run.apply(opening(1, 'till', 600));
  const row = { txIndex: 0, address: 'owner', oracleAddress: null, source: 'owner', expiredAt: null };
  const counted = { prices: [{ least: 1n, dispensers: 1, payments: 0 }] };
  assert.deepEqual(run.changes.dispensers, [{ ...row, ...counted, expiration: 600 + 90 * 86_400 }]);
});

test('a payment that is less than any dispenser asks is none', async () => {
  const run = runFrom();
  run.enter(1, 600);
  await run.apply(opening(0, 'till', 9_000, { least: 50n }));
  assert.deepEqual([await run.isTaken('till', 49n), await run.isTaken('till', 50n)], [false, true]);
});

test('at the address of a stranger, one transaction buys what a ledger would serve and no more', async () => {
  const run = runFrom(2);
  run.enter(1, 600);
  await run.apply(opening(0, 'stranger', 10 ** 14));
  for (let count = 0; count < 10; count++) assert.equal(await run.take('stranger', 1n), true);
  run.enter(2, 600);
  for (let count = 0; count < MAX_PAYMENTS; count++) assert.equal(await run.take('stranger', 1n), true);
  assert.equal(await run.take('stranger', 1n), false);
  const { dispensers, payments } = run.changes;
  assert.equal(dispensers[0]!.expiredAt, 2);
  assert.deepEqual(
    payments.map(({ height, count }) => [height, count]),
    [[2, MAX_PAYMENTS]],
    'payments below the height do not count'
  );
});

test('a payment of an address to itself counts below the height of the limits alone', async () => {
  const run = runFrom(2);
  const areOwn = [1, 2].map((height) => {
    run.enter(height, 600);
    return [run.isOwnChange('A', 'A'), run.isOwnChange('B', 'A')];
  });
  assert.deepEqual(areOwn, [
    [false, false],
    [true, false]
  ]);
});

test('a BATCH watches no address but its own: 8 KB would buy 672,000 payments of strangers', async () => {
  const { addresses } = chainNetwork('litecoin', 'mainnet');
  const addressAt = (byte: number) => addressOf(payTo({ kind: 'keyHash', bytes: Buffer.alloc(20, byte) }), addresses)!;
  const at = (address: string) => `DISPENSER||LTC|X|1||1|LTC||0.00000001|${address}`;
  const source = addressAt(0);
  const strangers = Array.from({ length: 111 }, (_, byte) => addressAt(byte + 1));
  const watching = async (text: string, limitFrom: number) => {
    const run = runFrom(limitFrom);
    run.enter(1, 600);
    await run.apply({ txIndex: 0, source, dispensers: readDispenser(text, ['LTC'], addresses) });
    return run;
  };
  const watched = (run: DispenserRun) => run.changes.dispensers.map(({ address }) => address);
  const stored = async (text: string) => {
    const run = await watching(text, 0);
    const counts: number[] = [];
    for (const address of watched(run)) {
      let payments = 0;
      while (await run.take(address, 1n)) payments++;
      counts.push(payments);
    }
    return counts;
  };
  const batch = `BATCH|0|${[at(source), at(''), ...strangers.map(at)].join(';')}`;
  assert.deepEqual(await stored(batch), [2 * MAX_PAYMENTS], 'those at its own address');
  assert.equal(watched(await watching(batch, 2)).length, 112, 'below the height ledgers take them');
  assert.deepEqual(await stored(at(strangers[0]!)), [MAX_PAYMENTS]);
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

test('two dispensers of one transaction at one address are one row, open while one of them is', async () => {
  const run = runFrom();
  run.enter(1, 600);
  const [one, other] = [opening(0, 'till', 5_000, { least: 9n }), opening(0, 'till', 7_000, { least: 4n })];
  await run.apply({
    ...one,
    dispensers: { opened: [...one.dispensers.opened, ...other.dispensers.opened], extendedTo: null }
  });
  assert.deepEqual(
    run.changes.dispensers.map(({ expiration, prices }) => ({ expiration, prices })),
    [{ expiration: 7_000, prices: [4n, 9n].map((least) => ({ least, dispensers: 1, payments: 0 })) }]
  );
});

test('payments to a cheap dispenser end it, and none that asks more in the same transaction', async () => {
  const run = runFrom(0);
  run.enter(1, 600);
  for (const least of [100n, 1n, 100n]) await run.apply(opening(0, 'till', 9_000, { least }));
  for (let count = 0; count < MAX_PAYMENTS; count++) assert.equal(await run.take('till', 50n), true);
  assert.equal(await run.take('till', 50n), false);
  // The cheap one may have been closed by any of the payments, so that those below 100 count for nobody.
  for (let count = 0; count < 3 * MAX_PAYMENTS; count++) assert.equal(await run.take('till', 100n), true);
  assert.equal(await run.take('till', 100n), false);
  const [row] = run.changes.dispensers;
  assert.equal(row!.expiredAt, 1);
});

test('a dear payment ends no cheap dispenser while a dearer one may have served it', async () => {
  const run = runFrom(0);
  run.enter(1, 600);
  for (const least of [1n, 100n]) await run.apply(opening(0, 'till', 9_000, { least }));
  for (let count = 0; count < 2 * MAX_PAYMENTS - 1; count++) assert.equal(await run.take('till', 100n), true);
  assert.equal(await run.take('till', 1n), true);
  assert.equal(await run.take('till', 100n), true, 'the cheap one may have taken all its payments from those of 100');
  assert.equal(await run.take('till', 100n), false, 'both have served as often as they may');
});

test('payments below a dear dispenser do not end it, whatever the cheap one beside it has taken before', async () => {
  const run = runFrom(0);
  run.enter(1, 600);
  for (const least of [1_000n, 1_001n]) await run.apply(opening(0, 'till', 9_000, { least }));
  const pay = async (times: number, amount: bigint) => {
    for (let count = 0; count < times; count++) await run.take('till', amount);
  };
  await pay(MAX_PAYMENTS - 5, 1_001n); // the cheap one is older, and asked first
  await pay(10, 1_001n);
  await pay(MAX_PAYMENTS - 5, 1_000n);
  assert.ok(await run.isTaken('till', 1_001n), 'a ledger has it open with ten payments');
});

test('a payment costs no more where others opened dispensers at its address that ask for too much', async () => {
  const timed = async (others: number) => {
    const run = runFrom(0);
    run.enter(1, 600);
    for (let at = 0; at < others; at++)
      await run.apply(opening(at, 'an exchange', 10_000, { source: `owner ${at}`, least: 1_000_000n }));
    await run.apply(opening(others, 'an exchange', 10_000, { least: 5n }));
    const before = process.threadCpuUsage();
    for (let payment = 0; payment < 2_000; payment++) assert.ok(await run.take('an exchange', 10n));
    return process.threadCpuUsage(before).user / 1_000;
  };
  await timed(1);
  const [few, many] = [await timed(10), await timed(30_000)];
  assert.ok(many < 20 * few + 200, `${many} ms with 30,000 of them, ${few} ms with 10`);
});
