import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAmount } from '../../../src/consensus/amount.ts';
import type { ChainTransaction, SettledPrices } from '../../../src/indexer/block/block.ts';
import { Effects } from '../../../src/indexer/state/effects.ts';
import { type PriceRound, RECENT_ROUNDS } from '../../../src/indexer/state/facts.ts';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';

const NOW = 1_700_000_000;
const DAY_S = 86_400;
const FEW = '0 0 invalid: insufficient funds';
const round = (number: number, price: string, timestamp = NOW, coin = 'BTC'): PriceRound => {
  return { round: number, timestamp, pairs: [{ pair: `${coin}/USD`, price }] };
};

function ledgerWith(...rounds: readonly PriceRound[]): MemoryLedger {
  const ledger = new MemoryLedger();
  ledger.time = NOW;
  ledger.give('TOKA', 0, 'A', { A: '1000000' });
  setRounds(ledger, rounds);
  return ledger;
}

function setRounds(ledger: MemoryLedger, rounds: readonly PriceRound[]): void {
  const effects = new Effects(ledger.view);
  effects.set('rounds', RECENT_ROUNDS, rounds);
  ledger.view.commit(effects.changes);
}

const open = (ledger: MemoryLedger, fiatAmount: string, { give = '1', escrow = '10', least = '0.00000001' } = {}) =>
  ledger.act(['A', `DISPENSER|0|BTC|TOKA|${give}|0|${escrow}|BTC||${least}||USD|${fiatAmount}`])[0];

/** Returns the results of payments to A: `fills paid status` of each dispense. */
function pay(ledger: MemoryLedger, amounts: readonly string[], prices?: SettledPrices): string[] {
  const outputs = amounts.map((amount, vout) => ({ vout, address: 'A', amount: parseAmount(amount)! }));
  const hash = String(ledger.blocks.length).padStart(64, 'c');
  const transactions: ChainTransaction[] = [{ hash, source: 'B', fee: null, data: '', outputs }];
  const block = { height: ledger.height, time: ledger.time, hash, transactions, ...(prices ? { prices } : {}) };
  return ledger
    .run(block)
    .rows.filter(({ table }) => table === 'dispenses')
    .map(({ columns }) => `${columns['give_amount']} ${columns['get_amount']} ${columns['status_id']}`);
}

test('a fill costs its currency by the newest round of the last day by which the payment suffices', () => {
  const ledger = ledgerWith(
    round(9, '20000'),
    round(8, '30000'),
    round(7, '25000'),
    round(6, '90000', NOW - DAY_S - 1)
  );
  assert.deepEqual(open(ledger, '3'), ['valid']);
  assert.deepEqual(pay(ledger, ['0.00045']), ['3 0.00045 valid'], 'of what three cost nothing is left');
  assert.deepEqual(pay(ledger, ['0.0001']), ['1 0.0001 valid'], 'the round before gives one');
  assert.deepEqual(pay(ledger, ['0.00009999']), [FEW], 'too little by any');
  assert.deepEqual(pay(ledger, ['1']), ['6 0.0009 valid'], 'what is too much is kept');
  assert.equal(ledger.balance('TOKA', 'B'), '10');
  assert.deepEqual(ledger.offers, [], 'it is empty');
});

test('a fill that costs no whole base units costs the next one', () => {
  const ledger = ledgerWith(round(1, '70000'));
  open(ledger, '0.01', { escrow: '5' });
  assert.deepEqual(pay(ledger, ['0.00000014']), [FEW]);
  assert.deepEqual(pay(ledger, ['0.00000043']), ['3 0.00000043 valid']);
});

test('no matching oracle price: before the first round, a day after the last, and when a reorg took it back', () => {
  const ledger = ledgerWith();
  for (const amount of ['3', '4']) open(ledger, amount);
  const refused = '0 0 invalid: no matching oracle price';
  assert.deepEqual(pay(ledger, ['1']), [refused, refused]);
  setRounds(ledger, [round(1, '20000', NOW - DAY_S)]);
  assert.deepEqual(pay(ledger, ['0.00015']), ['1 0.00015 valid']);
  ledger.time += 1;
  for (let block = 0; block < 6; block++) pay(ledger, []);
  assert.deepEqual(pay(ledger, ['0.00015']), [refused, refused]);
  setRounds(ledger, []);
  assert.deepEqual(pay(ledger, ['0.00015']), [refused, refused]);
});

test('the oldest is served first, whether it costs coins or a currency', () => {
  const ledger = ledgerWith(round(1, '10000'));
  open(ledger, '2', { escrow: '1' });
  ledger.act(['A', 'DISPENSER|0|BTC|TOKA|5|0|5|BTC||0.0001']);
  open(ledger, '1', { give: '7', escrow: '7' });
  assert.deepEqual(pay(ledger, ['0.0004']), ['1 0.0002 valid', '5 0.0001 valid', '7 0.0001 valid']);
});

test('0, a token for a price of coins, and an oracle are refused; the largest amounts are not too large', () => {
  const ledger = ledgerWith(round(1, '10000000000'));
  assert.deepEqual(open(ledger, '0'), ['invalid: FIAT_AMOUNT (format)']);
  assert.deepEqual(open(ledger, '0.00'), ['invalid: FIAT_AMOUNT (format)']);
  const unpriced = 'invalid: FIAT_CODE (no price snapshot in the settlement window)';
  const priced = (terms: string) => ledger.act(['A', `DISPENSER|0|BTC|TOKA|1|0|10|${terms}`])[0];
  assert.deepEqual(priced('BTC|TOKA|1||USD|1'), [unpriced]);
  assert.deepEqual(priced('BTC||1||USD|1|C'), ['invalid: ORACLE_ADDRESS (no effective oracle price)']);
  assert.deepEqual(open(ledger, '999999999999999.99'), ['valid']);
  assert.deepEqual(open(ledger, '0.01', { give: '1', escrow: '500000' }), ['valid']);
  assert.deepEqual(pay(ledger, ['20999999.9769']), ['10 1000000 valid', '500000 0.0000005 valid']);
});

test('DISPENSER_LIMITS: payments that are too small count, as decoders count them', () => {
  const ledger = ledgerWith(round(1, '10000'));
  open(ledger, '1');
  assert.deepEqual(pay(ledger, ['0']), [], 'it is no payment');
  const small = pay(
    ledger,
    Array.from({ length: 999 }, () => '0.00000546')
  );
  assert.deepEqual(
    small,
    Array.from({ length: 999 }, () => FEW)
  );
  assert.equal(ledger.offers.length, 1);
  pay(ledger, ['0.0001']);
  const ended = ledger.blocks.at(-1)!.rows.findLast(({ table }) => table === 'dispenser_statuses')!;
  assert.equal(ended.columns['status_id'], 'max_dispenses_reached');
  assert.deepEqual(ledger.offers, []);
  assert.deepEqual([ledger.balance('TOKA', 'B'), ledger.balance('TOKA', 'A')], ['1', '999999']);
});

test('GET_AMOUNT is the least payment that counts: dust ends nothing, and what is too small for a fill is paid', () => {
  const ledger = ledgerWith(round(1, '10000'));
  assert.deepEqual(open(ledger, '1', { least: '0.00005' }), ['valid']);
  const dust = Array.from({ length: 2_000 }, () => '0.00004999');
  assert.deepEqual(pay(ledger, dust), []);
  assert.deepEqual(pay(ledger, ['0.00005', '0.0002']), [FEW, '2 0.0002 valid']);
  for (const least of ['', '0']) {
    const refused = open(ledger, '1', { least });
    assert.deepEqual(refused, ['invalid: GET_AMOUNT (must be positive)'], 'nobody opens what dust ends');
  }
});

test('FIAT_DISPENSERS: below its height they are refused as before', () => {
  const isActive = (name: string, height: number) => TEST_RULES.isActive(name, height) && name !== 'FIAT_DISPENSERS';
  const ledger = new MemoryLedger(100, { ...TEST_RULES, isActive });
  ledger.give('TOKA', 0, 'A', { A: '10' });
  const unpriced = ['invalid: FIAT_CODE (no price snapshot in the settlement window)'];
  for (const amount of ['1', '0'])
    for (const least of ['', '1']) assert.deepEqual(open(ledger, amount, { least }), unpriced);
});

test('on another chain the settled rounds of Bitcoin count, and none of its own', () => {
  const ledger = new MemoryLedger(100, { ...TEST_RULES, coin: 'LTC' });
  ledger.time = NOW;
  ledger.give('TOKA', 0, 'A', { A: '10' });
  setRounds(ledger, [round(9, '1000', NOW, 'LTC')]);
  ledger.act(['A', 'DISPENSER|0|LTC|TOKA|1|0|10|LTC||0.00000001||USD|1']);
  const at = { height: 7, hash: '7'.repeat(64) };
  const settled = (price: string, timestamp: number) => ({ at, rounds: [round(1, price, timestamp, 'LTC')] });
  assert.deepEqual(pay(ledger, ['0.01'], settled('100', NOW - 14_400 - DAY_S)), ['1 0.01 valid']);
  assert.deepEqual(pay(ledger, ['0.01'], settled('100', NOW - 14_400 - DAY_S - 1)), [
    '0 0 invalid: no matching oracle price'
  ]);
});
