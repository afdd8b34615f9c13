import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OlderTakers } from '../../../../src/decoder/dispensers/older-takers.ts';
import fc from '../../../support/fast-check.ts';

/** Dispensers by the index of their transactions: the bound that a table has, and what they take; null for nothing. */
type Rows = readonly { readonly bound: number; least: number | null }[];

/** The takers among rows, and how many rows their searches passed. */
function takersOf(rows: Rows) {
  const passed = { rows: 0, searches: 0 };
  const search = async (amount: bigint, from: number) => {
    passed.searches += 1;
    for (let at = from; at < rows.length; at++) {
      passed.rows += 1;
      if (rows[at]!.bound <= amount) return at;
    }
    return undefined;
  };
  const leastOf = async (at: number) => {
    const { least } = rows[at]!;
    return least === null ? undefined : BigInt(least);
  };
  return { takers: new OlderTakers(search, leastOf), passed };
}

test('the oldest that takes an amount is found as by looking at each, while they take less and less', async () => {
  const row = fc.tuple(fc.nat(9), fc.nat(3)).map(([bound, more]) => ({ bound, least: bound + more }));
  const ask = fc.record({
    amount: fc.nat(12),
    others: fc.array(fc.nat(12), { maxLength: 3 }),
    changed: fc.nat(9),
    to: fc.option(fc.nat(12))
  });
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 10 }), fc.array(ask, { maxLength: 12 }), async (rows, asks) => {
      const list: Rows = rows;
      const { takers } = takersOf(list);
      for (const { amount, others, changed, to } of asks) {
        const expected = list.findIndex(({ least }) => least !== null && least <= amount);
        const found = await takers.oldestFor(BigInt(amount), others.map(BigInt));
        assert.equal(found, expected < 0 ? undefined : expected);
        const one = list[changed];
        if (one?.least != null) one.least = to === null ? null : Math.max(one.least, to);
      }
    })
  );
});

test('a block that asks for many amounts passes each dispenser that asks for too much once', async () => {
  const dear = Array.from({ length: 5_000 }, (_, at) => ({ bound: 10_000 - at, least: 10_000 - at }));
  const { takers, passed } = takersOf(dear);
  const amounts = Array.from({ length: 300 }, (_, at) => BigInt(5_100 + at));
  for (const amount of amounts) assert.equal(await takers.oldestFor(amount, amounts), 10_000 - Number(amount));
  assert.ok(passed.rows <= dear.length + 2 * amounts.length, `${passed.rows} rows`);
});

test('amounts that one dispenser takes are searched for once, and once more when it has ended', async () => {
  const rows: Rows = [1, 5, 1].map((least) => ({ bound: least, least }));
  const { takers, passed } = takersOf(rows);
  const amounts = Array.from({ length: 1_000 }, (_, at) => BigInt(1 + at));
  for (const amount of amounts) assert.equal(await takers.oldestFor(amount, amounts), 0);
  assert.equal(passed.searches, 1);
  rows[0]!.least = null;
  for (const amount of amounts) assert.equal(await takers.oldestFor(amount, amounts), amount < 5n ? 2 : 1);
  assert.equal(passed.searches, 3);
});
