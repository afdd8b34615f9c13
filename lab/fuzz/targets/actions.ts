import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseAmount } from '../../../src/consensus/amount.ts';
import { HANDLERS } from '../../../src/indexer/actions/handlers.ts';
import type { ChainTransaction } from '../../../src/indexer/block/block.ts';
import { MemoryLedger } from '../../../test/support/indexer-ledger.ts';
import { hostileText, ODD_NUMBERS } from '../support/hostile.ts';
import { target } from '../support/target.ts';

const NAMES = [...HANDLERS.keys(), 'COINPAY', 'DEPLOY', 'transfer', ' send ', '__proto__', 'constructor', ''];
/** The name, the version, then fields of any kind. */
const fields = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('TOKA', 'TOKB', 'A', 'B', 'BTC', 'a'.repeat(64), '1', '2', '4', '', '^1', '^2')
  },
  fc.constantFrom(
    ...ODD_NUMBERS,
    '１２',
    '1.0000000000000000001',
    '+1',
    '1e3',
    '-1',
    '^',
    '^-1',
    '^99999999999999999999'
  ),
  fc.constantFrom('x'.repeat(8_000), '9'.repeat(8_000), '😀'.repeat(4_000), `0.${'0'.repeat(8_000)}1`),
  hostileText
);
const command = fc
  .tuple(
    fc.constantFrom(...NAMES),
    fc.constantFrom('0', '1', '2', '3', '4', '5', '6', '', '-1', '256', '0.5', 'x', "'1'"),
    fc.array(fields, { maxLength: 30 })
  )
  .map((parts) => parts.flat().join('|'));
const texts = fc.oneof(
  { weight: 6, arbitrary: command },
  fc.array(command, { maxLength: 6 }).map((commands) => `BATCH|0|${commands.join(';')}`),
  fc.array(command, { maxLength: 3 }).map((commands) => `BATCH|0|BATCH|0|${commands.join(';BATCH|0|')}`),
  fc.constantFrom(250, 251, 5_000).map((count) => `BATCH|0|${'SEND|0|TOKA|1|B;'.repeat(count).slice(0, -1)}`),
  hostileText
);

const STATUS = /^(?:valid|invalid: .+)$/;

function transactionOf(data: string, place: number): ChainTransaction {
  const outputs = ['A', 'B'].map((address, vout) => ({ vout, address, amount: parseAmount('5')! }));
  return { hash: String(place).padStart(64, '0'), source: 'AB'[place % 2]!, fee: null, data, outputs };
}

export const actions = target<readonly string[]>({
  name: 'actions',
  promise: 'every text gets an action with a status, none an exception; no balance falls below zero',
  runs: 3_000,
  shortRuns: 200,
  inputs: fc.array(texts, { minLength: 1, maxLength: 5 }),
  check: (list) => {
    const ledger = new MemoryLedger();
    ledger.give('TOKA', 2, 'A', { A: '1000', B: '50' });
    ledger.give('TOKB', 0, 'B', { B: '1000' });
    ledger.give('GAS', 8, 'A', { A: '1000', B: '50' });
    const transactions = list.filter((text) => text !== '').map(transactionOf);
    const { rows } = ledger.run({ height: 1, time: 1_700_000_000, hash: '', transactions });
    for (const { table, columns } of rows) {
      if ('status_id' in columns && !table.endsWith('_statuses') && table !== 'dispenser_closes')
        assert.match(String(columns['status_id']), table === 'order_matches' ? /./ : STATUS, table);
    }
    for (const amount of ledger.balances().values()) assert.ok(amount >= 0n);
  },
  growing: {
    'a field': (length) => [`SEND|0|TOKA|${'9'.repeat(length)}|B`],
    fields: (length) => [`SEND|1|TOKA${'|1|B'.repeat(length / 4)}`],
    commands: (length) => [`BATCH|0|${'x;'.repeat(length / 2)}`]
  }
});
