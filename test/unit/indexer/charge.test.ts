import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readProfile } from '../../../src/coin/profile.ts';
import { parseAmount } from '../../../src/consensus/amount.ts';
import type { ChainTransaction, ExecutedBlock } from '../../../src/indexer/block/block.ts';
import { Effects } from '../../../src/indexer/state/effects.ts';
import { RECENT_ROUNDS } from '../../../src/indexer/state/facts.ts';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';

const { gas } = readProfile({
  name: 'fees',
  gas: {
    issue: 100_000,
    issueSubtoken: 50_000,
    recipient: 100,
    item: 100,
    sweep: 5_000,
    callback: 5_000,
    offerDay: 550,
    offerOwnership: 50_000
  }
});
const DAY_S = 86_400;

/** A ledger whose source A has some of the gas token; D is donated to, Z is paid in the coin where it is named. */
function ledgerWith(held: string, { destination, coin = 'BTC' }: { destination?: string; coin?: string } = {}) {
  const fees = { gas, price: '0.00001', destination, donation: 'D' };
  const ledger = new MemoryLedger(100, { ...TEST_RULES, coin, fees });
  ledger.give('GAS', 8, 'G', { A: held });
  ledger.give('TOKA', 0, 'A', { A: '100', B: '5', C: '1' });
  return ledger;
}

function run(ledger: MemoryLedger, data: string, paid: readonly string[] = []): ExecutedBlock {
  const hash = String(ledger.blocks.length).padStart(64, 'a');
  const outputs = paid.map((amount, vout) => ({ vout, address: 'Z', amount: parseAmount(amount)! }));
  const transactions: ChainTransaction[] = [{ hash, source: 'A', fee: null, data, outputs }];
  return ledger.run({ height: ledger.height, time: ledger.time, hash, transactions });
}

const rowsOf = ({ rows }: ExecutedBlock, table: string) =>
  rows.filter((row) => row.table === table).map(({ columns }) => columns);
const statusOf = (block: ExecutedBlock, table: string) => rowsOf(block, table).map((row) => row['status_id']);

/** Prices of the gas token and the coin, as of a time. */
function price(ledger: MemoryLedger, gasUsd: string, coinUsd: string, timestamp = 0): void {
  const effects = new Effects(ledger.view);
  const pairs = [
    { pair: 'GAS/USD', price: gasUsd },
    { pair: 'BTC/USD', price: coinUsd }
  ];
  effects.set('rounds', RECENT_ROUNDS, [{ round: 7, timestamp, pairs }]);
  ledger.view.commit(effects.changes);
}

test('the first ISSUE of a ticker is paid in the gas token, which DONATE1 gets; an edit is free', () => {
  const ledger = ledgerWith('3');
  const issued = run(ledger, 'ISSUE|0|TOKN|0|0|0');
  assert.deepEqual(rowsOf(issued, 'fees'), [
    {
      action_index: ledger.lastAction,
      tick_id: 1,
      amount: '1',
      method: 2,
      gas_cost: 100_000,
      gas_price: '0.00001',
      destination_id: rowsOf(issued, 'fees')[0]!['destination_id'],
      xchain_amount: '1',
      payment_mode: 2,
      native_coin_amount: null,
      native_coin: null,
      oracle_round: null,
      fee_preference: 2,
      status_id: 'valid',
      fee_version: 2
    }
  ]);
  assert.deepEqual([ledger.balance('GAS', 'A'), ledger.balance('GAS', 'D'), ledger.supply('GAS')], ['2', '1', '3']);
  assert.equal(rowsOf(run(ledger, 'ISSUE|1|TOKN|text'), 'fees').length, 0);
  run(ledger, 'ISSUE|0|TOKN.SUB|0|0|0');
  assert.equal(ledger.balance('GAS', 'A'), '1.5');
});

test('FEE_PREFERENCE 1 destroys the fee', () => {
  const ledger = ledgerWith('3');
  run(ledger, 'ADDRESS|0|1');
  const [fee] = rowsOf(run(ledger, 'ISSUE|0|TOKN|0|0|0'), 'fees');
  assert.deepEqual([fee!['method'], fee!['destination_id'], fee!['fee_preference']], [1, null, 1]);
  assert.deepEqual([ledger.balance('GAS', 'A'), ledger.supply('GAS')], ['2', '2']);
});

test('insufficient funds (FEE): nothing is taken, also where the action takes the gas token itself', () => {
  const poor = ledgerWith('0.5');
  assert.deepEqual(statusOf(run(poor, 'ISSUE|0|TOKN|0|0|0'), 'issues'), ['invalid: insufficient funds (FEE)']);
  assert.equal(poor.balance('GAS', 'A'), '0.5');
  const exact = ledgerWith('0.002');
  assert.deepEqual(statusOf(run(exact, 'DIVIDEND|0|TOKA|GAS|0.0003'), 'dividends'), [
    'invalid: insufficient funds (FEE)'
  ]);
  assert.equal(exact.balance('GAS', 'A'), '0.002');
});

test('fan-outs pay for each receiver, offers for each day beyond ninety, an ownership besides', () => {
  const ledger = ledgerWith('10');
  const costOf = (data: string) => rowsOf(run(ledger, data), 'fees').map(({ gas_cost }) => gas_cost);
  run(ledger, 'LIST|0|2||B|C');
  const list = ledger.lastAction;
  assert.deepEqual(costOf(`AIRDROP|1|${list}|TOKA|1|TOKA|1`), [400]);
  assert.deepEqual(costOf('DIVIDEND|0|TOKA|TOKA|1'), [200]);
  assert.deepEqual(costOf(`ORDER|0|BTC|TOKA|1|0|BTC||1|||${90 * DAY_S}`), []);
  assert.deepEqual(costOf(`ORDER|0|BTC|TOKA|1|0|BTC||1|||${92 * DAY_S}`), [1_100]);
  assert.deepEqual(costOf(`DISPENSER|0|BTC|TOKA|||1|BTC||1`), []);
  assert.deepEqual(costOf('SWEEP|0|B|1|0'), [5_200]);
});

test('an edit of an offer pays for the days beyond ninety that the offer did not have before', () => {
  const ledger = ledgerWith('1');
  ledger.time = 1_000_000;
  const ends = (days: number) => ledger.time + days * DAY_S;
  const gasOf = (data: string) => rowsOf(run(ledger, data), 'fees').map((row) => row['gas_cost']);
  for (const [open, edit] of [
    ['ORDER|0|BTC|TOKA|1|0|BTC||1', (index: number, days: number) => `ORDER|2|${index}|${ends(days)}`],
    ['SWAP|0|BTC|TOKA|1|0|BTC|GAS|9', (index: number, days: number) => `SWAP|2|${index}|${ends(days)}`],
    ['DISPENSER|0|BTC|TOKA|1||1|BTC||1', (index: number, days: number) => `DISPENSER|2|${index}||${ends(days)}`]
  ] as const) {
    assert.deepEqual(gasOf(open), [], 'ninety days are free');
    const index = ledger.view.get('counter', 'action');
    const costs = [80, 100, 95, 100, 110].map((days) => gasOf(edit(index, days)));
    assert.deepEqual(costs, [[], [10 * 550], [], [5 * 550], [10 * 550]], open);
    assert.deepEqual(gasOf(`${open.split('|')[0]}|2|${index}|`), [], 'an edit that names no EXPIRATION');
  }
  const index = ledger.view.get('counter', 'action');
  run(ledger, 'ORDER|0|BTC|TOKA|1|0|BTC||2');
  const order = index + 1;
  const dear = run(ledger, `ORDER|2|${order}|999999999999999`);
  assert.deepEqual(statusOf(dear, 'order_edits'), ['invalid: insufficient funds (FEE)']);
  const kept = ledger.view.get('offer', String(order));
  assert.equal(kept?.expiration, ends(90), 'and the order keeps its end');
});

test('GAS (insufficient): a BATCH of commands that all cost more than the source has', () => {
  const ledger = ledgerWith('0.4');
  const batch = (text: string) => statusOf(run(ledger, `BATCH|0|${text}`), 'batches');
  assert.deepEqual(batch('ISSUE|0|TOKA.X|0;ISSUE|0|TOKA.Y|0'), ['invalid: GAS (insufficient)']);
  assert.deepEqual(batch('ISSUE|0|TOKA.X|0;SEND|0|TOKA|1|B'), ['valid']);
});

test('an output to FEE_DESTINATION pays in the coin, by prices of the last half hour', () => {
  const ledger = ledgerWith('0', { destination: 'Z' });
  const issue = (tick: string, ...paid: string[]) => statusOf(run(ledger, `ISSUE|0|${tick}|0`, paid), 'issues')[0];
  const stale = (ticker: string) =>
    `invalid: no current oracle price for ${ticker}/USD (missing or stale beyond 1800s)`;
  assert.equal(issue('ONEA', '1'), stale('GAS'));
  price(ledger, '2', '100000');
  assert.equal(issue('ONEA', '0'), 'invalid: fee output has zero value');
  const low = 'invalid: insufficient native coin fee (paid: 0.00001, expected: 0.00002, min: 0.000019)';
  assert.equal(issue('ONEA', '0.00001'), low);
  assert.equal(issue('ONEA', '0.000019'), 'valid');
  const [fee] = rowsOf(run(ledger, 'ISSUE|0|TWOB|0', ['0.5']), 'fees');
  const { payment_mode, native_coin_amount, native_coin, oracle_round, amount, method } = fee!;
  assert.deepEqual(
    [payment_mode, native_coin_amount, native_coin, oracle_round, amount, method],
    [1, '0.00002', 'BTC', 7, '1', 2]
  );
  assert.equal(ledger.balance('GAS', 'A'), '0');
  price(ledger, '2', '0');
  assert.equal(issue('TREE', '1'), 'invalid: invalid oracle price for BTC/USD');
  price(ledger, '2', '1', -1_801);
  assert.equal(issue('TREE', '1'), stale('GAS'));
  assert.equal(issue('TREE'), 'invalid: insufficient funds (FEE)');
});

test('the commands of a BATCH draw one output down', () => {
  const ledger = ledgerWith('0', { destination: 'Z' });
  price(ledger, '2', '100000');
  const batch = run(ledger, 'BATCH|0|ISSUE|0|TOKA.X|0;ISSUE|0|TOKA.Y|0;ISSUE|0|TOKA.Z|0', ['0.00002']);
  assert.deepEqual(
    statusOf(batch, 'issues').map((status) => String(status).slice(0, 36)),
    ['valid', 'valid', 'invalid: insufficient native coin fe']
  );
});

test('other chains take their own coin alone', () => {
  const ledger = ledgerWith('5', { destination: 'Z', coin: 'LTC' });
  const status = statusOf(run(ledger, 'ISSUE|0|TOKN|0'), 'issues');
  assert.deepEqual(status, ['invalid: insufficient fee (native coin output required)']);
});

test('EXACT_AMOUNTS: no stake, deposit or fee is finer than the gas token', () => {
  const ledger = new MemoryLedger(100, {
    ...TEST_RULES,
    fees: { gas, price: '0.000004', destination: undefined, donation: undefined }
  });
  ledger.give('GAS', 0, 'G', { A: '20' });
  ledger.give('TOKA', 0, 'A', { A: '100', B: '5' });
  const key = 'a'.repeat(64);
  assert.deepEqual(statusOf(run(ledger, `STAKE|1|0.5|${key}`), 'stakes'), ['invalid: AMOUNT (format)']);
  assert.deepEqual(statusOf(run(ledger, `STAKE|1|5|${key}`), 'stakes'), ['valid']);
  const poll = (deposit: string) => statusOf(run(ledger, `VOTE|0|TOKA|200|x,y|1|||||||?|${deposit}`), 'polls');
  assert.deepEqual(poll('0.25'), ['invalid: DEPOSIT (non-negative amount)']);
  assert.deepEqual(poll('2'), ['valid']);
  const [fee] = rowsOf(run(ledger, 'ISSUE|0|TOKN|0'), 'fees'); // 0.4 of the gas token is none
  assert.equal(fee, undefined);
  run(ledger, 'UNSTAKE|0|'.concat(key, '|1.5'));
  for (const { rows } of ledger.blocks)
    for (const { table, columns } of rows)
      if (['credits', 'debits', 'escrows'].includes(table)) assert.match(String(columns['amount']), /^-?\d+$/);
  assert.equal(ledger.balance('GAS', 'A'), '13');
});
