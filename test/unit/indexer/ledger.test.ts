import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAmount } from '../../../src/consensus/amount.ts';
import { executeBlocks } from '../../../src/indexer/block/execute.ts';
import type { FactKey } from '../../../src/indexer/state/facts.ts';
import { splitPair } from '../../../src/indexer/state/keys.ts';
import { View } from '../../../src/indexer/state/view.ts';
import fc from '../../support/fast-check.ts';
import { anyBlocks } from '../../support/indexer-actions.ts';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';

const amountOf = (text: unknown) => {
  const digits = String(text);
  return digits.startsWith('-') ? -parseAmount(digits.slice(1))! : parseAmount(digits)!;
};

test('supply = credits - debits + escrows = balances + escrows, and no balance is negative', () => {
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
      const escrowed = new Map<string, bigint>();
      const add = (to: Map<string, bigint>, tick: string, amount: bigint) =>
        to.set(tick, (to.get(tick) ?? 0n) + amount);
      const signs: Readonly<Record<string, bigint>> = { credits: 1n, debits: -1n, escrows: 1n };
      for (const { table, columns } of ledger.blocks.flatMap(({ rows }) => rows)) {
        const sign = signs[table];
        if (sign === undefined) continue;
        const tick = ledger.view.get('tick', String(columns['tick_id']))!.toLowerCase();
        add(sums, tick, sign * amountOf(columns['amount']));
        if (table === 'escrows') add(escrowed, tick, amountOf(columns['amount']));
      }
      const held = new Map<string, bigint>();
      for (const [pair, amount] of ledger.balances()) {
        assert.ok(amount >= 0n, `${pair} holds ${amount}`);
        add(held, splitPair(pair)[0], amount);
      }
      for (const [tick, sum] of sums) {
        assert.equal(ledger.view.get('token', tick)!.supply, sum, `supply of ${tick}`);
        assert.equal((held.get(tick) ?? 0n) + (escrowed.get(tick) ?? 0n), sum, `balances and escrows of ${tick}`);
        assert.ok((escrowed.get(tick) ?? 0n) >= 0n, `escrows of ${tick}`);
      }
    }),
    { numRuns: 1_000 }
  );
  // The generator reaches every action: none of them is always refused.
  assert.deepEqual(
    [...valid].sort(),
    [
      'addresses',
      'airdrops',
      'batches',
      'broadcasts',
      'callbacks',
      'destroys',
      'dividends',
      'files',
      'issues',
      'links',
      'list_edits',
      'lists',
      'messages',
      'mints',
      'sends',
      'sleeps',
      'sweeps',
      'coinpay_expires',
      'coinpays',
      'dispenser_cancels',
      'dispenser_edits',
      'dispenser_expires',
      'dispensers',
      'dispenses',
      'order_cancels',
      'order_edits',
      'order_expires',
      'order_matches',
      'orders',
      'swap_cancels',
      'swap_edits',
      'swap_expires',
      'swap_matches',
      'swaps',
      'delegations',
      'stake_key_revocations',
      'stakes',
      'unstakes'
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

test('a view that loads what is missing gives what a whole one gives, in groups of any size that end anywhere', async () => {
  await fc.assert(
    fc.asyncProperty(anyBlocks, fc.integer({ min: 1, max: 5 }), fc.nat(40), async (blocks, groupSize, rows) => {
      const whole = new MemoryLedger();
      for (let at = 0; at < blocks.length; ) {
        const group = blocks.slice(at, at + groupSize);
        const view = new View({ isWhole: false });
        for (const offer of whole.offers) view.loadOffer(String(offer.index), offer);
        view.hasAllOffers = true;
        const load = async (keys: readonly FactKey[]) => {
          for (const { kind, key } of keys) loadFrom(whole.view, view, kind, key);
        };
        const parts = { view, rules: TEST_RULES, load, most: { rows, ms: 60_000 } };
        const executed = await executeBlocks(parts, group, { hashes: whole.hashes, times: whole.times });
        const expected = group.slice(0, executed.length).map((block) => whole.run(block));
        assert.deepEqual(executed, expected);
        const made = executed.reduce((sum, block) => sum + block.rows.length, 0);
        assert.ok(executed.length === group.length || (executed.length > 0 && made > rows), 'a group ends too early');
        at += executed.length;
      }
    }),
    { numRuns: 100 }
  );
});

test('an action that needs facts of thousands is tried a few times, not once for each of them', async () => {
  const whole = new MemoryLedger();
  const members = Array.from({ length: 26 }, (_, at) => String.fromCharCode(65 + at));
  whole.give('TOKA', 0, 'A', { A: '1000' });
  const block = (height: number, data: string) => {
    const transactions = [{ hash: String(height), source: 'A', fee: null, data }];
    return { height, time: height, hash: String(height), transactions };
  };
  whole.run(block(100, `LIST|0|2||${members.join('|')}`));
  const view = new View({ isWhole: false });
  let loads = 0;
  const load = async (keys: readonly FactKey[]) => {
    loads += 1;
    for (const { kind, key } of keys) loadFrom(whole.view, view, kind, key);
  };
  const drop = block(101, `AIRDROP|0|TOKA|1|${whole.lastAction}`);
  const below = { hashes: whole.hashes, times: whole.times };
  const executed = await executeBlocks({ view, rules: TEST_RULES, load }, [drop], below);
  assert.deepEqual(executed, [whole.run(drop)]);
  assert.equal(executed[0]!.rows.filter(({ table }) => table === 'credits').length, members.length);
  assert.ok(loads < 10, `${loads} loads`);
});

function loadFrom(stored: View, view: View, kind: FactKey['kind'], key: string): void {
  if (kind === 'holders' || kind === 'holdings' || kind === 'owned' || kind === 'voters')
    view.loadSet(kind, key, stored.get(kind, key));
  else if (kind === 'holderCount') view.loadCount('holders', key, stored.get('holders', key).size);
  else if (kind === 'holdingCount') view.loadCount('holdings', key, stored.get('holdings', key).size);
  else if (kind === 'ownedCount') view.loadCount('owned', key, stored.get('owned', key).size);
  else if (kind === 'listCount') {
    const list = stored.get('list', key);
    view.load(kind, key, list ? { size: list.members.size, changes: list.changes } : undefined);
  } else if (kind === 'member') {
    const [root, item] = splitPair(key);
    view.load(kind, key, stored.get('list', root)?.members.has(item) ?? false);
  } else view.load(kind, key, stored.get(kind, key));
}
