import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAmount } from '../../../src/consensus/amount.ts';
import type { ChainTransaction } from '../../../src/indexer/block/block.ts';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';

/** Ledger in which A sells a token that Z may not have. */
const ledgerWithDispenser = (rules = TEST_RULES) => {
  const ledger = new MemoryLedger(100, rules);
  ledger.give('TOKA', 0, 'A', { A: '100' });
  ledger.act(['A', 'LIST|0|2||Z']);
  ledger.act(['A', `ISSUE|5|TOKA||${ledger.lastAction}`], ['A', 'DISPENSER|0|BTC|TOKA|1|0|10|BTC||5']);
  return ledger;
};

/** One block in which these pay 5 coins to A. */
function pay(ledger: MemoryLedger, sources: readonly string[], data = '') {
  const hash = String(ledger.blocks.length).padStart(64, 'f');
  const outputs = [{ vout: 0, address: 'A', amount: parseAmount('5')! }];
  const transactions: ChainTransaction[] = sources.map((source) => ({ hash, source, fee: null, data, outputs }));
  return ledger.run({ height: ledger.height, time: ledger.time, hash, transactions });
}

test('nobody buys nothing: a transaction whose coins no address stands for has a row, no action and no account', () => {
  const ledger = ledgerWithDispenser();
  for (const data of ['', '', 'SEND|0|TOKA|1|B', 'COINPAY|0|1']) {
    const { rows } = pay(ledger, [''], data);
    assert.deepEqual(
      rows.map(({ table, columns }) => [table, columns['source_id']]),
      [['transactions', null]]
    );
  }
  assert.equal(ledger.balance('TOKA', ''), '0');
  pay(ledger, ['B']);
  assert.equal(ledger.balance('TOKA', 'B'), '1');
});

test('DISPENSER_LIMITS: a dispenser ends after 1,000 payments, refused ones among them, unless it is refilled', () => {
  const ledger = ledgerWithDispenser();
  const barred = (count: number) => pay(ledger, Array(count).fill('Z'));
  barred(600);
  ledger.act(['A', `DISPENSER|2|${ledger.offers[0]!.index}|1`]);
  barred(997);
  pay(ledger, ['B', 'C']);
  assert.equal(ledger.balance('TOKA', 'C'), '1');
  assert.equal(ledger.offers.length, 1);
  const { rows } = barred(3);
  assert.equal(rows.filter(({ table }) => table === 'dispenses').length, 1, 'those behind it ask nobody');
  assert.deepEqual(ledger.offers, []);
  assert.equal(ledger.balance('TOKA', 'A'), '98');
});

test('DISPENSER_LIMITS: below its height refusals do not count', () => {
  const isActive = (name: string) => name !== 'DISPENSER_LIMITS' && TEST_RULES.isActive(name, 0);
  const ledger = ledgerWithDispenser({ ...TEST_RULES, isActive });
  pay(ledger, Array(1_001).fill('Z'));
  assert.equal(ledger.offers.length, 1);
});

test('DISPENSER_LIMITS: what an address pays to itself asks no dispenser, in coins and in tokens', () => {
  for (const isActive of [TEST_RULES.isActive, (name: string) => name !== 'DISPENSER_LIMITS']) {
    const ledger = ledgerWithDispenser({ ...TEST_RULES, isActive });
    ledger.act(['A', 'DISPENSER|0|BTC|TOKA|1|0|5|BTC|TOKA|1']);
    const own = pay(ledger, Array(1_001).fill('A'));
    pay(ledger, ['A'], 'SEND|0|TOKA|1|A');
    const refused = [own, ledger.blocks.at(-1)!].map(
      ({ rows }) => rows.filter(({ table }) => table === 'dispenses').length
    );
    assert.deepEqual(refused, isActive === TEST_RULES.isActive ? [0, 0] : [1_001, 1]);
    assert.equal(ledger.offers.length, 2);
  }
});
