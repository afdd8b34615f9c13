import Type from 'typebox';
import { ACTION_COLUMNS } from '../lists/actions.ts';
import { address, amountOrNull, big, type Columns, rowSchema, textOrNull, ticker } from '../lists/columns.ts';
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
const TABLES = ['credits', 'debits', 'escrows'] as const;
const TOTALS: Columns = Object.fromEntries(
  TABLES.map((table) => [
    `${table}_total`,
    big(`(SELECT COUNT(*) FROM ${table} t WHERE t.action_index = a.action_index)`)
  ])
);
/** Their tables have no key of their own. */
const ORDER = 't.address_id, t.tick_id, t.amount';
const firstOf = (table: string, columns: Columns) =>
  Type.Array(rowSchema(columns), { description: `the first ${MAX_ROWS} of \`${table}_total\`` });
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
    credits: firstOf('credits', MOVED),
    debits: firstOf('debits', MOVED),
    escrows: firstOf('escrows', MOVED),
    fees: Type.Array(rowSchema(FEE)),
    ...rowSchema(TOTALS).properties
  }),
  read: async ({ query, question: { query: name = '' } }) => {
    const index = readActionIndex(name);
    const [found] = await readRows(query, ACTION, 'actions a WHERE a.action_index = ?', [index]);
    if (!found) return unknown('action', name);
    const statuses = await query<{ status: string }>(
      `SELECT i.status FROM (${VERDICTS}) v JOIN index_statuses i ON i.id = v.status_id ORDER BY i.status LIMIT ${MAX_ROWS}`,
      JUDGED.map(() => index)
    );
    const rowsOf = (columns: Columns, table: string, order = ORDER) =>
      readRows(query, columns, `${table} t WHERE t.action_index = ? ORDER BY ${order} LIMIT ${MAX_ROWS}`, [index]);
    const [totals] = await readRows(query, TOTALS, 'actions a WHERE a.action_index = ?', [index]);
    return {
      ...found,
      statuses: statuses.map(({ status }) => status),
      credits: await rowsOf(MOVED, 'credits'),
      debits: await rowsOf(MOVED, 'debits'),
      escrows: await rowsOf(MOVED, 'escrows'),
      fees: await rowsOf(FEE, 'fees', 't.tick_id'),
      ...totals
    };
  }
};
