import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditLimits } from '../../../lab/reference/limits.ts';
import { DEFAULT_LIMITS } from '../../../src/coin/limits.ts';
import fc from '../../support/fast-check.ts';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';

const SOURCES = ['A', 'B', 'C', 'D'] as const;
/** Sizes of the lists that AIRDROPs name, by the index of the LIST. */
const SIZES: Readonly<Record<number, number>> = { 1: 3, 2: 40, 3: 250 };

const items = (count: number) => Array.from({ length: count }, (_, at) => `H${at}`).join('|');
const anyList = fc.integer({ min: 1, max: 60 }).map((count) => ({ text: `LIST|0|2||${items(count)}`, parts: [count] }));
const anyGift = fc
  .record({ list: fc.constantFrom(1, 2, 3), tick: fc.constantFrom('TOKA', 'TOKB') })
  .map(({ list, tick }) => ({ text: `AIRDROP|0|${tick}|1|${list}`, parts: [SIZES[list]!] }));
const plain = fc
  .constantFrom('BROADCAST|0|x', 'SEND|0|TOKA|1|Z', 'ORDER|0|BTC|TOKA|1|0|BTC||1')
  .map((text) => ({ text, parts: [0] }));
const anyCommand = fc.oneof(anyList, anyGift, anyGift, plain);
const anyBatch = fc.array(anyCommand, { minLength: 1, maxLength: 6 }).map((commands) => ({
  text: `BATCH|0|${commands.map(({ text }) => text).join(';')}`,
  parts: [0, ...commands.flatMap(({ parts }) => parts)]
}));
const anyTransactions = fc.array(fc.tuple(fc.constantFrom(...SOURCES), fc.oneof(anyCommand, anyBatch)), {
  minLength: 1,
  maxLength: 12
});

test('a block refuses for want of room exactly the actions that its rows leave no room for, as the document adds them up', () => {
  const limits = { ...DEFAULT_LIMITS, blockUnits: 100_000 };
  let [refused, blocks] = [0, 0];
  fc.assert(
    fc.property(anyTransactions, fc.integer({ min: 1, max: 900 }), (acts, blockUnits) => {
      limits.blockUnits = 100_000;
      const ledger = new MemoryLedger(100, {
        ...TEST_RULES,
        readAddress: (text) => (/^[A-Z]\d*$/.test(text) ? text : undefined),
        limitsAt: () => limits
      });
      const held = Object.fromEntries(SOURCES.map((source) => [source, '1000000']));
      for (const tick of ['TOKA', 'TOKB']) ledger.give(tick, 0, 'A', held);
      for (const size of Object.values(SIZES)) ledger.act(['A', `LIST|0|2||${items(size)}`]);
      const before = ledger.lastAction;
      limits.blockUnits = blockUnits;
      const transactions = acts.map(([source, { text }], at) => ({ hash: String(at), source, fee: null, data: text }));
      const executed = ledger.run({ height: 100, time: 0, hash: 'filled', transactions });
      const parts = partsByIndex(
        acts.map(([, { parts: own }]) => own),
        executed.rows,
        before
      );
      refused += auditLimits(executed, blockUnits, (index) => parts.get(index) ?? 0);
      blocks += 1;
    }),
    { numRuns: 300 }
  );
  assert.ok(refused > blocks / 2, `${refused} refusals in ${blocks} blocks`);
});

/** Returns what each action is about: a refused BATCH runs no command. */
function partsByIndex(
  asked: readonly (readonly number[])[],
  rows: readonly { readonly table: string; readonly columns: Readonly<Record<string, unknown>> }[],
  before: number
): Map<number, number> {
  const made = rows.filter(({ table, columns }) => table === 'actions' && columns['tx_index'] !== null);
  const byTransaction = Map.groupBy(made, ({ columns }) => Number(columns['tx_index']));
  const parts = new Map<number, number>();
  for (const [place, own] of [...byTransaction.values()].entries())
    for (const [at, { columns }] of own.entries()) {
      const index = Number(columns['action_index']);
      assert.ok(index > before);
      parts.set(index, asked[place]![at] ?? 0);
    }
  return parts;
}
