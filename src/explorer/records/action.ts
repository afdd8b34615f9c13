import Type from 'typebox';
import { ACTION_COLUMNS } from '../lists/actions.ts';
import { address, amountOrNull, type Columns, rowSchema, textOrNull, ticker } from '../lists/columns.ts';
import { readActionIndex } from '../read/subject.ts';
import { MAX_ROWS, type RecordMethod, readRows, unknown } from './record.ts';

const MOVED: Columns = {
  address: address('t.address_id'),
  tick: ticker('t.tick_id'),
  amount: amountOrNull('t.amount')
};
const FEE: Columns = {
  tick: ticker('t.tick_id'),
  amount: amountOrNull('t.amount'),
  destination: address('t.destination_id')
};
const ACTION: Columns = {
  ...ACTION_COLUMNS,
  data: textOrNull('(SELECT x.data FROM transactions x WHERE x.tx_index = a.tx_index)', 'what its transaction said')
};
/** Tables whose rows hold the verdict on an action. */
const JUDGED = [
  ...['addresses', 'airdrops', 'batches', 'broadcasts', 'callbacks', 'coinpays', 'destroys', 'dispenser_cancels'],
  ...[
    'dispenser_closes',
    'dispenser_edits',
    'dispensers',
    'dispenses',
    'dividends',
    'files',
    'issues',
    'links',
    'lists'
  ],
  ...['messages', 'mints', 'order_cancels', 'order_edits', 'orders', 'sends', 'sleeps', 'swap_cancels', 'swap_edits'],
  ...['swaps', 'sweeps']
];
const VERDICTS = JUDGED.map((table) => `SELECT status_id FROM ${table} WHERE action_index = ?`).join(' UNION ');

export const action: RecordMethod = {
  summary: 'An action: what it did, what it moved, and why it was refused',
  tag: 'Actions',
  takes: 'action index',
  schema: Type.Object({
    ...rowSchema(ACTION).properties,
    statuses: Type.Array(Type.String(), { description: '`valid`, or why it was refused; several for several legs' }),
    credits: Type.Array(rowSchema(MOVED), { description: `the first ${MAX_ROWS}` }),
    debits: Type.Array(rowSchema(MOVED), { description: `the first ${MAX_ROWS}` }),
    escrows: Type.Array(rowSchema(MOVED), { description: `the first ${MAX_ROWS}` }),
    fees: Type.Array(rowSchema(FEE))
  }),
  read: async ({ query, question: { query: name = '' } }) => {
    const index = readActionIndex(name);
    const [found] = await readRows(query, ACTION, 'actions a WHERE a.action_index = ?', [index]);
    if (!found) return unknown('action', name);
    const statuses = await query<{ status: string }>(
      `SELECT i.status FROM (${VERDICTS}) v JOIN index_statuses i ON i.id = v.status_id ORDER BY i.status LIMIT ${MAX_ROWS}`,
      JUDGED.map(() => index)
    );
    const rowsOf = (columns: Columns, table: string) =>
      readRows(query, columns, `${table} t WHERE t.action_index = ? LIMIT ${MAX_ROWS}`, [index]);
    return {
      ...found,
      statuses: statuses.map(({ status }) => status),
      credits: await rowsOf(MOVED, 'credits'),
      debits: await rowsOf(MOVED, 'debits'),
      escrows: await rowsOf(MOVED, 'escrows'),
      fees: await rowsOf(FEE, 'fees')
    };
  }
};
