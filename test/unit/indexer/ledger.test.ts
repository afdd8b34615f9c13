import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAmount } from '../../../src/consensus/amount.ts';
import { executeBlocks } from '../../../src/indexer/execute.ts';
import { type FactKey, splitPair, View } from '../../../src/indexer/state.ts';
import fc from '../../support/fast-check.ts';
import { anyBlocks } from '../../support/indexer-actions.ts';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';

const amountOf = (text: unknown) => {
  const digits = String(text);
  return digits.startsWith('-') ? -parseAmount(digits.slice(1))! : parseAmount(digits)!;
};

test('supply = credits - debits + escrows = balances, and no balance is negative', () => {
  const valid = new Set<string>();
  fc.assert(
    fc.property(anyBlocks, (blocks) => {
      const ledger = new MemoryLedger();
      for (const block of blocks) {
        for (const { table, columns } of ledger.run(block).rows) {
          if (columns['status_id'] === 'valid') valid.add(table);
        }
      }
      const sums = new Map<string, bigint>();
      const add = (tick: string, amount: bigint) => sums.set(tick, (sums.get(tick) ?? 0n) + amount);
      const signs: Readonly<Record<string, bigint>> = { credits: 1n, debits: -1n, escrows: 1n };
      for (const { table, columns } of ledger.blocks.flatMap(({ rows }) => rows)) {
        const sign = signs[table];
        if (sign !== undefined)
          add(ledger.view.get('tick', String(columns['tick_id']))!.toLowerCase(), sign * amountOf(columns['amount']));
      }
      const held = new Map<string, bigint>();
      for (const [pair, amount] of ledger.balances()) {
        assert.ok(amount >= 0n, `${pair} holds ${amount}`);
        held.set(splitPair(pair)[0], (held.get(splitPair(pair)[0]) ?? 0n) + amount);
      }
      for (const [tick, sum] of sums) {
        assert.equal(ledger.view.get('token', tick)!.supply, sum, `supply of ${tick}`);
        assert.equal(held.get(tick) ?? 0n, sum, `balances of ${tick}`);
      }
    }),
    { numRuns: 400 }
  );
  // The generator reaches every action: none of them is always refused.
  assert.deepEqual(
    [...valid].sort(),
    [
      ...['addresses', 'airdrops', 'batches', 'broadcasts', 'callbacks', 'destroys', 'dividends', 'files', 'issues'],
      ...['links', 'list_edits', 'lists', 'messages', 'mints', 'sends', 'sleeps', 'sweeps']
    ].sort()
  );
});

test('the same blocks give the same rows and hashes', () => {
  fc.assert(
    fc.property(anyBlocks, (blocks) => {
      const [once, again] = [new MemoryLedger(), new MemoryLedger()];
      for (const block of blocks) assert.deepEqual(once.run(block), again.run(block));
    }),
    { numRuns: 100 }
  );
});

test('a view that loads what is missing gives what a whole one gives, in groups of any size', async () => {
  await fc.assert(
    fc.asyncProperty(anyBlocks, fc.integer({ min: 1, max: 5 }), async (blocks, groupSize) => {
      const whole = new MemoryLedger();
      for (let at = 0; at < blocks.length; at += groupSize) {
        const group = blocks.slice(at, at + groupSize);
        const view = new View({ isWhole: false });
        const load = async (keys: readonly FactKey[]) => {
          for (const { kind, key } of keys) loadFrom(whole.view, view, kind, key);
        };
        const executed = await executeBlocks({ view, rules: TEST_RULES, load }, group, whole.hashes);
        const expected = group.map((block) => whole.run(block));
        assert.deepEqual(executed, expected);
      }
    }),
    { numRuns: 100 }
  );
});

function loadFrom(stored: View, view: View, kind: FactKey['kind'], key: string): void {
  if (kind === 'holders' || kind === 'holdings' || kind === 'owned') view.loadSet(kind, key, stored.get(kind, key));
  else view.load(kind, key, stored.get(kind, key));
}
