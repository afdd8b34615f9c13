import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isLive, marketOf, type Offer, type Trade } from '../../../src/indexer/state/offer.ts';
import { compareMakers, LISTED_MARKET, OfferBook } from '../../../src/indexer/state/offer-book.ts';

const side = (tick: string | null, amount: bigint) => ({ tick, amount, isOwnership: false });

function tradeOf(index: number, given: Partial<Trade>): Trade {
  const { give, get } = { give: side('TOKA', 10n), get: side('TOKB', 10n), ...given };
  return {
    kind: 'order',
    index,
    source: 'a',
    status: 'open',
    give,
    get,
    giveLeft: give.amount,
    getLeft: get.amount,
    getAddress: 'a',
    expiration: 100,
    allowList: null,
    blockList: null,
    refundAddress: 'a',
    ...given
  };
}

/** Returns numbers that look like chance, the same ones in each run. */
function dice(): (sides: number) => number {
  let state = 12_345;
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % sides;
  };
}

test('after many changes a book tells the same as a sorted list of its live offers', () => {
  const book = new OfferBook();
  const offers = new Map<number, Offer>();
  const roll = dice();
  // The large amounts differ by less than a float tells apart, or need more than 128 bits.
  const amounts = [1n, 2n, 3n, 10n ** 30n, 10n ** 30n + 1n, 10n ** 57n, 10n ** 57n + 1n];
  const amount = () => amounts[roll(amounts.length)]!;
  for (let change = 0; change < 6_000; change++) {
    const index = 1 + roll(1_500);
    const common = { expiration: roll(50), source: `source${roll(5)}`, getAddress: `address${roll(40)}` };
    const status = roll(4) === 0 ? 'expired' : 'open';
    const terms = { give: side(`T${roll(3)}`, amount()), get: side(`T${roll(3)}`, amount()) };
    const kind = roll(2) === 0 ? 'order' : 'swap';
    const match: Offer = {
      kind: 'coinpay',
      index,
      status: status === 'open' ? 'pending_coinpay' : status,
      expiration: roll(50),
      payee: 'a',
      coinAmount: 1n,
      seller: 5_000 + roll(20),
      buyer: 6_000 + roll(20),
      give: side('T1', 1n)
    };
    const allowList = roll(3) === 0 ? 7 : null;
    const offer = roll(4) === 0 ? match : tradeOf(index, { kind, ...common, status, ...terms, allowList });
    if (roll(10) === 0) {
      book.forget(index);
      offers.delete(index);
    } else {
      book.put(offer);
      offers.set(index, offer);
    }
  }
  const live = [...offers.values()].filter(isLive).sort((a, b) => a.index - b.index);
  assert.ok(live.length > 500);
  const indexes = (found: Iterable<{ index: number }>) => Array.from(found, ({ index }) => index);
  for (const kind of ['order', 'swap', 'coinpay'] as const) {
    const ofKind = live.filter((offer) => offer.kind === kind);
    assert.deepEqual([...book.ofKind(kind)], indexes(ofKind));
    const ended = ofKind.filter(({ expiration }) => expiration <= 25);
    assert.deepEqual(indexes(book.ending(kind, 25)), indexes(ended.sort((a, b) => a.expiration - b.expiration)));
  }
  const trades = live.filter((offer): offer is Trade => offer.kind !== 'coinpay');
  for (const [key, those] of Map.groupBy(trades, ({ kind, source }) => `${kind}|${source}`)) {
    const [kind, source] = key.split('|') as ['order' | 'swap', string];
    assert.deepEqual([...book.of(kind, source)], indexes(those));
    assert.equal(book.countOf(kind, source), those.length);
  }
  const placeOf = (trade: Trade) => marketOf(trade) + (trade.allowList === null ? '' : LISTED_MARKET);
  for (const [place, those] of Map.groupBy(trades, placeOf)) {
    const found = [...book.at(place, () => false)];
    const amountsOf = new Map(those.map(({ index, give, get }) => [index, { give: give.amount, get: get.amount }]));
    const sorted = indexes(found.toSorted(compareMakers));
    assert.deepEqual([indexes(found), sorted.toSorted((a, b) => a - b)], [sorted, indexes(those)]);
    for (const { index, give, get } of found) assert.deepEqual({ give, get }, amountsOf.get(index));
    const middle = found[found.length >> 1]!;
    const rest = [...book.at(place, (entry) => compareMakers(entry, middle) < 0)];
    assert.deepEqual(indexes(rest), indexes(found.slice(found.length >> 1)));
  }
  for (let order = 5_000; order < 6_020; order++) {
    const awaited = live.filter((offer) => offer.kind === 'coinpay' && [offer.seller, offer.buyer].includes(order));
    assert.deepEqual([...book.awaitedBy(order)], indexes(awaited));
  }
  for (const index of offers.keys()) book.forget(index);
  assert.deepEqual([...book.ofKind('order'), ...book.ending('swap', 100), ...book.awaitedBy(5_000)], []);
  assert.equal(book.countOf('order', 'source1'), 0);
});

test('an offer at a place of its own takes less than 80 bytes of the heap', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const book = new OfferBook();
  const put = (from: number, to: number) => {
    for (let index = from; index < to; index++)
      book.put(tradeOf(index, { kind: 'swap', give: side('TOKA', BigInt(index)), source: `${'source'}${index % 3}` }));
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = put(1, 1_000);
  const each = (put(1_000, 41_000) - before) / 40_000;
  assert.ok(each < 80, `${each} bytes`);
  assert.equal([...book.ofKind('swap')].length, 40_999);
});
