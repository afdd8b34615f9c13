import Type from 'typebox';
import { OrNull } from '../../wire/or-null.ts';
import { FEE_COLUMNS } from '../lists/actions.ts';
import {
  address,
  amountOrNull,
  big,
  type Columns,
  readRow,
  rowSchema,
  selectList,
  textOrNull,
  ticker
} from '../lists/columns.ts';
import { listsOf, nullFields, sharedFields, VOTE_KINDS } from '../lists/details.ts';
import type { List, Row } from '../lists/list.ts';
import { DETAILS, LISTS } from '../lists/lists.ts';
import { POLL_DETAILS } from '../lists/votes.ts';
import { ACTION_COLUMNS } from '../lists/written.ts';
import type { Query } from '../read/reader.ts';
import { readActionIndex } from '../read/subject.ts';
import { readCanceller, readListOf, readOfferState, type Stated, totalOf } from './action-parts.ts';
import { MAX_ROWS, type RecordMethod, readRows } from './record.ts';

const MOVED: Columns = {
  address: address('t.address_id'),
  tick: ticker('t.tick_id'),
  amount: amountOrNull('t.amount')
};
const FEE: Columns = {
  source: address('(SELECT a.source_id FROM actions a WHERE a.action_index = t.action_index)'),
  ...FEE_COLUMNS
};
const TABLES = ['credits', 'debits', 'escrows'] as const;
const TOTALS: Columns = Object.fromEntries(
  TABLES.map((table) => [
    `${table}_total`,
    big(`(SELECT COUNT(*) FROM ${table} t WHERE t.action_index = a.action_index)`)
  ])
);
/** Order of rows whose tables have no key of their own. */
const ORDER = 't.address_id, t.tick_id, t.amount';
const firstOf = (table: string, columns: Columns) =>
  OrNull(Type.Array(rowSchema(columns), { description: `the first ${MAX_ROWS} of \`${table}_total\`` }));
const SAID = '(SELECT x.data FROM transactions x WHERE x.tx_index = a.tx_index)';
const ACTION: Columns = {
  ...ACTION_COLUMNS,
  data: textOrNull(SAID, 'what its transaction said'),
  tx_data: textOrNull(SAID, 'the same')
};
/** Columns of a kind's table that the record has under another name: its own is that of what every action has. */
const RENAMED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  BROADCAST: { fee: 'broadcast_fee' },
  PRICE: { fee: 'oracle_fee' },
  DISPENSER: { fiat: 'fiat_code' }
};
/** Rows of the kinds that may have several, by the name under which the record has them all. */
const LEGS: Readonly<Record<string, string>> = { SEND: 'sends', DESTROY: 'destroys', AIRDROP: 'airdrops' };
const LEG_FIELDS = ['destination', 'tick', 'amount', 'memo', 'status'];
/** Kinds whose state changes later. */
const STATED: Readonly<Record<string, Stated>> = { ORDER: 'order', SWAP: 'swap', DISPENSER: 'dispenser' };
const pick = (row: Row, names: readonly string[]): Row =>
  Object.fromEntries(names.flatMap((name) => (name in row ? [[name, row[name]] as const] : [])));

/** Answer about an action that does not exist: it moved nothing. */
const NOTHING = { credits: null, debits: null, escrows: null, fee: null };

export const action: RecordMethod = {
  summary: 'An action: what it did, what it moved, and why it was refused',
  tag: 'Actions',
  takes: 'action index',
  schema: Type.Object({
    ...Type.Partial(rowSchema(ACTION)).properties,
    status: Type.Optional(OrNull(Type.String(), { description: '`valid`, or why it was refused' })),
    statuses: Type.Optional(Type.Array(Type.String(), { description: 'several for several legs' })),
    credits: firstOf('credits', MOVED),
    debits: firstOf('debits', MOVED),
    escrows: firstOf('escrows', MOVED),
    fee: OrNull(rowSchema(FEE)),
    ...Type.Partial(rowSchema(TOTALS)).properties
  }),
  read: async ({ query, question: { query: name = '' } }) => {
    const index = readActionIndex(name);
    const [found] = await readRows(query, ACTION, 'actions a WHERE a.action_index = ?', [index]);
    if (!found) return NOTHING;
    const kind = String(found['action']);
    return { ...found, ...(await readKind(query, kind, index)), ...(await readMoves(query, index)) };
  }
};

/** Reads the movements of an action, and its fee. */
async function readMoves(query: Query, index: number): Promise<Row> {
  const rowsOf = async (table: string) => {
    const rows = await readRows(
      query,
      MOVED,
      `${table} t WHERE t.action_index = ? ORDER BY ${ORDER} LIMIT ${MAX_ROWS}`,
      [index]
    );
    return rows.length === 0 ? null : rows;
  };
  const [fee = null] = await readRows(query, FEE, 'fees t WHERE t.action_index = ? LIMIT 1', [index]);
  const [totals] = await readRows(query, TOTALS, 'actions a WHERE a.action_index = ?', [index]);
  return {
    credits: await rowsOf('credits'),
    debits: await rowsOf('debits'),
    escrows: await rowsOf('escrows'),
    fee,
    ...totals
  };
}

/** Reads the rows that it wrote into the table of its kind, at most 100, and the method of its list. */
async function readWritten(query: Query, kind: string, index: number) {
  for (const method of listsOf(LISTS, kind)) {
    const list = LISTS[method]!;
    const columns = method === 'polls' ? { ...list.columns, ...POLL_DETAILS } : list.columns;
    const rows = await readRowsOf(query, { ...list, columns }, index);
    if (rows.length > 0) return { method, rows };
  }
  return { method: '', rows: [] as readonly Row[] };
}

async function readRowsOf(query: Query, { columns, joins, within }: List, index: number): Promise<readonly Row[]> {
  const order = within.length === 0 ? '' : ` ORDER BY ${within.join(', ')}`;
  const rows = await query<Row>(
    `SELECT ${selectList(columns)} FROM (SELECT ? AS k) k ${joins}${order} LIMIT ${MAX_ROWS}`,
    [index]
  );
  return rows.map((row) => readRow(columns, row));
}

/** Reads the fields that only one kind of action has. */
async function readKind(query: Query, kind: string, index: number): Promise<Row> {
  const { method, rows } = await readWritten(query, kind, index);
  const [first = {}] = rows;
  const names = RENAMED[kind] ?? {};
  const own = Object.fromEntries(
    Object.entries(first)
      .filter(([field]) => !(field in ACTION_COLUMNS))
      .map(([field, value]) => [names[field] ?? field, value])
  );
  const statuses = [...new Set(rows.map((row) => String(row['status'])))];
  const shared = { ...sharedFields(kind), ...own, status: first['status'] ?? null, statuses };
  const legs = LEGS[kind];
  if (legs) {
    const total = await totalOf(query, rows, `(SELECT ? AS k) k ${LISTS[method]?.joins ?? ''}`, [index]);
    return { ...shared, [legs]: rows.map((row) => pick(row, LEG_FIELDS)), [`${legs}_total`]: total };
  }
  const stated = STATED[kind];
  if (stated)
    return {
      ...shared,
      ...(stated === 'dispenser' ? await readCanceller(query, index) : {}),
      state: first['status'] ? await readOfferState(query, stated, index) : null
    };
  if (kind === 'LIST') return { ...shared, ...(await readListOf(query, index, first)) };
  if (kind === 'BATCH') return { ...shared, ...(await readParts(query, index)) };
  if (kind === 'VOTE') return { ...nullFields(VOTE_FIELDS), ...shared, ...voteOf(method, rows) };
  return shared;
}

/** Fields of polls, ballots and delegations; each has only some of them. */
const VOTE_FIELDS = [
  ...Object.keys(POLL_DETAILS).filter((name) => name !== 'status'),
  'ballot',
  'poll_ref',
  'memo',
  'delegator',
  'delegate_to',
  'delegation_tick',
  'delegation_tick_id'
];

function voteOf(method: string, rows: readonly Row[]): Row {
  const [first = {}] = rows;
  const kind = { vote_kind: VOTE_KINDS[method] ?? null };
  if (method === 'polls') return { ...kind, options: optionsIn(first['options']) };
  if (method === 'vote_delegations') return { ...kind, delegate_to: first['delegate'], delegation_tick: first['tick'] };
  if (method !== 'votes') return kind;
  const ballot = rows.map((row) => pick(row, ['choice', 'share']));
  return { ...kind, options: null, poll_ref: first['poll_index'], ballot };
}

/** Reads the options of a poll, which its row has as JSON. */
export function optionsIn(text: unknown): unknown {
  try {
    return JSON.parse(String(text)) as unknown;
  } catch {
    return null;
  }
}

/** Reads the actions of a BATCH: those of its transaction behind it. */
async function readParts(query: Query, index: number): Promise<Row> {
  const from =
    'actions a WHERE a.tx_index = (SELECT b.tx_index FROM actions b WHERE b.action_index = ?) AND a.action_index > ?';
  const parts = await readRows(query, ACTION_COLUMNS, `${from} ORDER BY a.action_index LIMIT ${MAX_ROWS}`, [
    index,
    index
  ]);
  const total = { actions_total: await totalOf(query, parts, from, [index, index]) };
  if (parts.length === 0) return { actions: parts, ...total };
  const details = await DETAILS.read(query, parts);
  return { actions: details.map(({ details, ...part }) => ({ ...part, summary: details })), ...total };
}
