import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_LIMITS } from '../../../src/coin/limits.ts';
import { formatAmount, parseAmount } from '../../../src/consensus/amount.ts';
import type { Trade } from '../../../src/indexer/state/offer.ts';
import fc from '../../support/fast-check.ts';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';

const ADDRESSES = ['A', 'B', 'C', 'D'];

const open = (ledger: MemoryLedger) =>
  ledger.offers.filter((offer): offer is Trade => offer.kind === 'order' && offer.status === 'open');
const leftOf = (ledger: MemoryLedger, source: string) =>
  open(ledger).flatMap((order) =>
    order.source === source ? [`${formatAmount(order.giveLeft)} ${formatAmount(order.getLeft)}`] : []
  );

/** Amounts of each match of the newest block: what the taker gives and gets. */
function fillsOf(ledger: MemoryLedger): { maker: number; taker: number; give: bigint; get: bigint }[] {
  return ledger.blocks.at(-1)!.rows.flatMap(({ table, columns }) => {
    if (table !== 'order_matches') return [];
    const amount = (name: string) => parseAmount(String(columns[name]))!;
    const [maker, taker] = [Number(columns['give_action_index']), Number(columns['get_action_index'])];
    return [{ maker, taker, give: amount('give_amount'), get: amount('get_amount') }];
  });
}

const textsOf = (ledger: MemoryLedger) =>
  fillsOf(ledger).map(({ give, get }) => `${formatAmount(get)} for ${formatAmount(give)}`);

function indivisible(gold: string, shares: string): MemoryLedger {
  const ledger = new MemoryLedger();
  ledger.give('GOLD', 0, 'A', { A: gold });
  ledger.give('SHRS', 0, 'B', { B: shares });
  return ledger;
}

test('FAIR_FILLS: no taker of indivisible tokens pays less than the maker asked, however he chooses his amounts', () => {
  const ledger = indivisible('1000', '14');
  ledger.act(['A', 'ORDER|0|BTC|GOLD|1000|0|BTC|SHRS|10']);
  const fills = Array.from({ length: 7 }, () => {
    ledger.act(['B', 'ORDER|0|BTC|SHRS|2|0|BTC|GOLD|149']);
    return textsOf(ledger);
  });
  assert.deepEqual(fills.slice(0, 5), Array(5).fill(['149 for 2']));
  assert.equal(ledger.balance('SHRS', 'A'), '10', 'the maker has all that he asked');
  assert.equal(ledger.balance('GOLD', 'A'), '255', 'and what is left of the rest');
});

test('FAIR_FILLS: a fill that passes the price of the taker is cut to the largest that does not', () => {
  const ledger = indivisible('11', '16');
  ledger.act(['A', 'ORDER|0|BTC|GOLD|7|0|BTC|SHRS|7'], ['A', 'ORDER|0|BTC|GOLD|4|0|BTC|SHRS|6']);
  ledger.act(['B', 'ORDER|0|BTC|SHRS|16|0|BTC|GOLD|10']);
  assert.deepEqual(textsOf(ledger), ['7 for 7', '2 for 3'], '3 would cost 5, and he gives 4.8 for them');
  assert.deepEqual(leftOf(ledger, 'B'), ['6 1']);
});

test('FAIR_FILLS: an order whose rest can never be filled ends, and its units go back', () => {
  const ledger = indivisible('4', '10');
  ledger.act(['A', 'ORDER|0|BTC|GOLD|4|0|BTC|SHRS|10'], ['B', 'ORDER|0|BTC|SHRS|8|0|BTC|GOLD|3']);
  assert.deepEqual(textsOf(ledger), ['3 for 8']);
  assert.deepEqual([open(ledger), ledger.balance('GOLD', 'A')], [[], '1']);
});

test('below the height of FAIR_FILLS each side is rounded half up', () => {
  const ledger = new MemoryLedger(100, {
    ...TEST_RULES,
    isActive: (name, height) => (name === 'FAIR_FILLS' ? height >= 101 : TEST_RULES.isActive(name, height))
  });
  ledger.give('GOLD', 0, 'A', { A: '1000' });
  ledger.give('SHRS', 0, 'B', { B: '10' });
  ledger.act(['A', 'ORDER|0|BTC|GOLD|1000|0|BTC|SHRS|10'], ['B', 'ORDER|0|BTC|SHRS|2|0|BTC|GOLD|149']);
  assert.deepEqual(textsOf(ledger), ['149 for 1']);
  ledger.height = 101;
  ledger.act(['B', 'ORDER|0|BTC|SHRS|2|0|BTC|GOLD|149']);
  assert.deepEqual(textsOf(ledger), ['149 for 2']);
});

test('a trade with which the largest fill has to be searched for counts as many looks, however long its amounts are', () => {
  const ledger = new MemoryLedger(100, { ...TEST_RULES, limitsAt: () => ({ ...DEFAULT_LIMITS, blockUnits: 500 }) });
  let [small, great] = [1n, 1n];
  while (small < 10n ** 30n) [small, great] = [great, small + great];
  ledger.give('GOLD', 0, 'A', { A: String(small * 100n) });
  ledger.give('SHRS', 0, 'B', { B: String(great) });
  ledger.act(['A', 'ORDER|0|BTC|GOLD|1|0|BTC|SHRS|1']);
  for (let at = 0; at < 60; at++) ledger.act(['A', `ORDER|0|BTC|GOLD|${small}|0|BTC|SHRS|${great}`]);
  ledger.act(['B', `ORDER|0|BTC|SHRS|${great}|0|BTC|GOLD|${small}`]);
  assert.deepEqual(textsOf(ledger), ['1 for 1'], 'at his own price the others sell all or nothing');
  assert.ok(ledger.blocks.at(-1)!.rows.some(({ table }) => table === 'order_expires'));
});

const anyUnits = fc.integer({ min: 1, max: 30 });
const anyMarket = fc.record({
  places: fc.constantFrom(0, 1, 2, 18),
  /** Places of the token on the other side; null for the coin. */
  otherPlaces: fc.constantFrom(0, 1, 18, null),
  orders: fc.array(
    fc.record({
      source: fc.constantFrom(...ADDRESSES),
      isSale: fc.boolean(),
      /** Units of the token that is sold, and of the other side. */
      units: fc.tuple(anyUnits, anyUnits)
    }),
    { minLength: 2, maxLength: 14 }
  )
});

const unitIn = (places: number | null) => 10n ** BigInt(18 - (places ?? 8));
const isGood = ({ give, get }: Trade, given: bigint, got: bigint) => given * get.amount <= got * give.amount;

/** Whether some fill of two orders keeps the prices of both. Tries all. */
function canMatch(a: Trade, b: Trade, units: { readonly a: bigint; readonly b: bigint }): boolean {
  for (let x = units.a; x <= a.giveLeft && x <= b.getLeft; x += units.a)
    for (let y = units.b; y <= a.getLeft && y <= b.giveLeft; y += units.b)
      if (isGood(a, x, y) && isGood(b, y, x)) return true;
  return false;
}

/** Units of a token that somebody holds, or that offers hold. */
function unitsOf(ledger: MemoryLedger, tick: string, unit: bigint): bigint {
  const held = ADDRESSES.reduce((sum, address) => sum + parseAmount(ledger.balance(tick, address))!, 0n);
  const inEscrow = ledger.offers.reduce((sum, offer) => {
    if (offer.give.tick !== tick) return sum;
    return sum + (offer.kind === 'order' ? offer.giveLeft : offer.give.amount);
  }, 0n);
  assert.equal(held % unit, 0n);
  return (held + inEscrow) / unit;
}

test('FAIR_FILLS: no fill is below the price of either, none that is possible is left out, and no unit is lost', () => {
  let matches = 0;
  fc.assert(
    fc.property(anyMarket, ({ places, otherPlaces, orders }) => {
      const ledger = new MemoryLedger();
      const units = { sold: unitIn(places), other: unitIn(otherPlaces) };
      const give = (tick: string, decimals: number, unit: bigint) => {
        const holdings = ADDRESSES.map((address) => [address, formatAmount(1_000n * unit)]);
        ledger.give(tick, decimals, 'A', Object.fromEntries(holdings));
      };
      give('TOKA', places, units.sold);
      if (otherPlaces !== null) give('TOKB', otherPlaces, units.other);
      const made = new Map<number, Trade>();
      for (const { source, isSale, units: counts } of orders) {
        const sold = `TOKA|${formatAmount(BigInt(counts[0]) * units.sold)}|0`;
        const other = `${otherPlaces === null ? '' : 'TOKB'}|${formatAmount(BigInt(counts[1]) * units.other)}|0`;
        const index = ledger.lastAction + 1;
        const sides = isSale ? [sold, other] : [other, sold];
        assert.equal(ledger.act([source, `ORDER|0|BTC|${sides.join('|BTC|')}`])[0]![0], 'valid');
        made.set(index, ledger.view.get('offer', String(index)) as Trade);
        for (const { maker, taker, give: given, get: got } of fillsOf(ledger)) {
          matches++;
          assert.ok(isGood(made.get(maker)!, got, given) && isGood(made.get(taker)!, given, got), 'both prices');
          const unit = isSale ? units.sold : units.other;
          assert.ok(!isGood(made.get(maker)!, got, given - unit), 'no unit above the price of the maker');
        }
      }
      const isSale = ({ give: { tick } }: Trade) => tick === 'TOKA';
      for (const sale of open(ledger).filter(isSale))
        for (const bid of open(ledger).filter((order) => !isSale(order) && order.source !== sale.source))
          assert.ok(!canMatch(sale, bid, { a: units.sold, b: units.other }), 'a fill is left out');
      assert.equal(unitsOf(ledger, 'TOKA', units.sold), 4_000n);
      if (otherPlaces !== null) assert.equal(unitsOf(ledger, 'TOKB', units.other), 4_000n);
    }),
    { numRuns: 500 }
  );
  assert.ok(matches > 500, `${matches} matches`);
});
