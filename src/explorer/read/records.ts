import Type, { type TSchema } from 'typebox';
import type { ChainNetwork } from '../../coin/chains.ts';
import { PlatformError } from '../../errors.ts';
import { ACTION_COLUMNS } from '../lists/actions.ts';
import {
  address,
  amountOrNull,
  big,
  bigOrNull,
  type Columns,
  flag,
  integerOrNull,
  looked,
  readRow,
  rowSchema,
  selectList,
  textOrNull,
  ticker
} from '../lists/columns.ts';
import { BLOCK_COLUMNS } from '../lists/state.ts';
import type { Question } from '../question.ts';
import type { Query } from './reader.ts';
import { findAddress, findTicker, readActionIndex, readHash, readHeight } from './subject.ts';
import type { Tip } from './tip.ts';
import type { Totals } from './totals.ts';

/** A network, and what runs a read on one of its databases. */
export interface Databases {
  readonly network: ChainNetwork;
  readonly indexer: <T>(work: (query: Query, tip: Tip | null) => Promise<T>) => Promise<T>;
  readonly decoder: <T>(work: (query: Query) => Promise<T>) => Promise<T>;
  /** How long the lists of the ledger are. */
  readonly totals: Totals;
}

interface RecordRead {
  readonly query: Query;
  readonly question: Question;
  readonly databases: Databases;
}

/** One thing that a method tells about, and how it is read. */
export interface RecordMethod {
  readonly summary: string;
  readonly tag: string;
  /** What `{query}` is; absent: the method takes none. */
  readonly takes?: string;
  /** What `{type}` may be; a path may leave it out. */
  readonly types?: readonly string[];
  readonly schema: TSchema;
  /** Part of the answer is the decoder's, and changes between blocks of the ledger. */
  readonly asksDecoder?: true;
  /** The answer tells its `block_index`, and stays as it is once no reorg can reach that block. */
  readonly isSettled?: true;
  /** @throws {PlatformError} RECORD_UNKNOWN, or by what was asked */
  readonly read: (asked: RecordRead) => Promise<Readonly<Record<string, unknown>>>;
}

const MAX_ROWS = 100;

const unknown = (what: string, name: string): never => {
  throw new PlatformError('RECORD_UNKNOWN', { reason: `there is no ${what} "${name.slice(0, 80)}"` });
};

/** Rows of a statement as its columns tell them. */
async function readRows(query: Query, columns: Columns, from: string, values: readonly (string | number | null)[]) {
  const found = await query<Record<string, unknown>>(`SELECT ${selectList(columns)} FROM ${from}`, values);
  return found.map((row) => readRow(columns, row));
}

const span = (from: string, column: string, condition: string) =>
  big(`(SELECT COALESCE(MAX(${column}) - MIN(${column}) + 1, 0) FROM ${from} WHERE ${condition})`);
const BLOCK: Columns = {
  ...BLOCK_COLUMNS,
  actions: span('actions x', 'x.action_index', 'x.block_index = b.block_index'),
  transactions: span('transactions x', 'x.tx_index', 'x.block_index = b.block_index')
};

const block: RecordMethod = {
  summary: 'A block, by its height or by the hash that the chain gives it',
  tag: 'Blocks',
  takes: 'height or 64 hex digits',
  schema: rowSchema(BLOCK),
  isSettled: true,
  read: async ({ query, question: { query: name = '' }, databases }) => {
    const hash = readHash(name);
    const height = hash === null ? readHeight(name) : await databases.decoder((each) => heightOf(each, hash));
    const [found] = await readRows(query, BLOCK, 'blocks b WHERE b.block_index = ? LIMIT 1', [height]);
    return found ?? unknown('block', name);
  }
};

async function heightOf(query: Query, hash: string): Promise<number> {
  const [found] = await query<{ height: number }>(
    'SELECT b.block_index AS height FROM blocks b JOIN index_transactions i ON i.id = b.block_hash_id WHERE i.hash = ?',
    [hash]
  );
  return found?.height ?? unknown('block', hash);
}

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

const action: RecordMethod = {
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

const TRANSACTION: Columns = {
  tx_index: big('x.tx_index'),
  tx_hash: looked('index_transactions', 'x.tx_hash_id'),
  block_index: integerOrNull('x.block_index'),
  timestamp: integerOrNull('(SELECT b.block_time FROM blocks b WHERE b.block_index = x.block_index LIMIT 1)'),
  source: address('x.source_id')
};
const OF_TRANSACTION: Columns = {
  action_index: big('a.action_index'),
  action: looked('index_actions', 'a.action_id')
};

const transaction: RecordMethod = {
  summary: 'A transaction with its actions, by its hash or its index',
  tag: 'Actions',
  takes: '64 hex digits, or a transaction index',
  types: ['tx_hash', 'tx_index'],
  isSettled: true,
  schema: Type.Object({ ...rowSchema(TRANSACTION).properties, actions: Type.Array(rowSchema(OF_TRANSACTION)) }),
  read: async ({ query, question: { query: name = '', type } }) => {
    const hash = type === 'tx_index' ? null : readHash(name);
    const index = type !== 'tx_hash' && /^\d{1,15}$/.test(name) ? Number(name) : null;
    const where =
      hash === null ? 'x.tx_index = ?' : 'x.tx_hash_id = (SELECT i.id FROM index_transactions i WHERE i.hash = ?)';
    const [found] = await readRows(query, TRANSACTION, `transactions x WHERE ${where} LIMIT 1`, [hash ?? index]);
    if (!found) return unknown('transaction', name);
    const from = `actions a WHERE a.tx_index = ? ORDER BY a.action_index LIMIT ${MAX_ROWS}`;
    return { ...found, actions: await readRows(query, OF_TRANSACTION, from, [Number(found['tx_index'])]) };
  }
};

/** The fields of a token in their groups. */
const TOKEN: Readonly<Record<string, Columns>> = {
  info: {
    tick: ticker('t.tick_id'),
    description: textOrNull('t.description'),
    owner: address('t.owner_id'),
    decimals: integerOrNull('t.decimals'),
    action_index: big('t.action_index', 'the ISSUE that made it'),
    last_action_index: bigOrNull('t.last_action_index', 'the newest ISSUE of it'),
    escrow_action_index: bigOrNull('t.escrow_action_index', 'the offer that holds its ownership')
  },
  supply: { supply: amountOrNull('t.supply'), max_supply: amountOrNull('t.max_supply') },
  mints: {
    max_mint: amountOrNull('t.max_mint'),
    mint_address_max: amountOrNull('t.mint_address_max'),
    mint_start_block: bigOrNull('t.mint_start_block'),
    mint_stop_block: bigOrNull('t.mint_stop_block')
  },
  locks: {
    max_supply: flag('t.lock_max_supply'),
    mint: flag('t.lock_mint'),
    mint_supply: flag('t.lock_mint_supply'),
    max_mint: flag('t.lock_max_mint'),
    description: flag('t.lock_description'),
    sleep: flag('t.lock_sleep'),
    callback: flag('t.lock_callback')
  },
  callback: {
    block: bigOrNull('t.callback_block'),
    tick: ticker('t.callback_tick_id'),
    amount: amountOrNull('t.callback_amount')
  },
  lists: { allow_list: bigOrNull('t.allow_list'), block_list: bigOrNull('t.block_list') },
  market: { coin_price: textOrNull('t.coin_price'), coin_floor: textOrNull('t.coin_floor') }
};
const token: RecordMethod = {
  summary: 'A token: what it is, its supply, its locks, its mints',
  tag: 'State',
  takes: 'ticker',
  schema: Type.Object(Object.fromEntries(Object.entries(TOKEN).map(([group, columns]) => [group, rowSchema(columns)]))),
  read: async ({ query, question: { query: name = '' } }) => {
    const id = await findTicker(query, name);
    const groups: Record<string, unknown> = {};
    for (const [group, columns] of Object.entries(TOKEN)) {
      const [found] = id === null ? [] : await readRows(query, columns, 'tokens t WHERE t.tick_id = ? LIMIT 1', [id]);
      groups[group] = found ?? unknown('token', name);
    }
    return groups;
  }
};

/** The public key of an address, which a decoder knows from its first payment. */
async function readPubkey(databases: Databases, name: string): Promise<string | null> {
  const [found] = await databases.decoder((query) =>
    query<{ pubkey: string }>(
      'SELECT p.pubkey FROM pubkeys p JOIN index_addresses i ON i.id = p.address_id WHERE i.address = ?',
      [name]
    )
  );
  return found?.pubkey ?? null;
}

const pubkey: RecordMethod = {
  summary: 'The public key of an address, known from its first payment',
  tag: 'State',
  takes: 'address',
  asksDecoder: true,
  schema: Type.Object({ address: Type.String(), pubkey: Type.String() }),
  read: async ({ question: { query: name = '' }, databases }) => ({
    address: name,
    pubkey: (await readPubkey(databases, name)) ?? unknown('known public key of the address', name)
  })
};

const ADDRESS: Columns = {
  address: textOrNull('i.address'),
  block_index: integerOrNull('i.block_index', 'the first block that names it'),
  last_action_index: bigOrNull(
    '(SELECT MAX(m.action_index) FROM mappings_actions m WHERE m.type_id = 1 AND m.id = i.id)'
  )
};

const addressMethod: RecordMethod = {
  summary: 'What is known of an address',
  tag: 'State',
  takes: 'address',
  asksDecoder: true,
  schema: Type.Object({
    ...rowSchema(ADDRESS).properties,
    pubkey: Type.Union([Type.String(), Type.Null()])
  }),
  read: async ({ query, question: { query: name = '' }, databases }) => {
    const id = await findAddress(query, name);
    const [found] = await readRows(query, ADDRESS, 'index_addresses i WHERE i.id = ?', [id]);
    return { ...(found ?? unknown('address', name)), pubkey: await readPubkey(databases, name) };
  }
};

const FOUND = ['address', 'token', 'transaction', 'block', 'action'] as const;

const search: RecordMethod = {
  summary: 'What a text names: an address, tokens that begin so, a transaction, a block, an action',
  tag: 'State',
  takes: 'text',
  types: FOUND,
  schema: Type.Object({
    results: Type.Array(
      Type.Object({
        type: Type.Unsafe<string>({ type: 'string', enum: [...FOUND] }),
        value: Type.String({ description: 'what the method of that name takes' })
      })
    )
  }),
  read: async ({ query, question: { query: name = '', type } }) => {
    const finders: Readonly<Record<(typeof FOUND)[number], () => Promise<readonly string[]>>> = {
      address: async () => ((await findAddress(query, name)) === null ? [] : [name]),
      token: () => findTickers(query, name),
      transaction: () =>
        exists(query, 'transactions x JOIN index_transactions i ON i.id = x.tx_hash_id', 'i.hash', readHash(name)),
      block: () => existsNumber(query, 'blocks', 'block_index', name),
      action: () => existsNumber(query, 'actions', 'action_index', name)
    };
    const results: { type: string; value: string }[] = [];
    for (const each of FOUND.filter((found) => type === undefined || found === type))
      for (const value of await finders[each]()) results.push({ type: each, value });
    return { results };
  }
};

const MAX_TICKERS = 10;

async function findTickers(query: Query, name: string): Promise<string[]> {
  const prefix = name.replace(/[\\%_]/g, (sign) => `\\${sign}`);
  const found = await query<{ tick: string }>(
    `SELECT i.tick FROM index_tickers i JOIN tokens t ON t.tick_id = i.id
     WHERE LOWER(i.tick) LIKE LOWER(?) ORDER BY CHAR_LENGTH(i.tick), i.tick LIMIT ${MAX_TICKERS}`,
    [`${prefix}%`]
  );
  return found.map(({ tick }) => tick);
}

async function exists(query: Query, from: string, column: string, value: string | number | null): Promise<string[]> {
  const found = await query(`SELECT 1 FROM ${from} WHERE ${column} = ? LIMIT 1`, [value]);
  return found.length > 0 ? [String(value)] : [];
}

async function existsNumber(query: Query, table: string, column: string, name: string): Promise<string[]> {
  return /^\d{1,15}$/.test(name) ? await exists(query, table, column, Number(name)) : [];
}

/** The newest number of tables whose numbers are dealt without gaps. */
const TOTALS: Columns = {
  actions: big('(SELECT COALESCE(MAX(action_index), 0) FROM actions)'),
  transactions: big('(SELECT COALESCE(MAX(tx_index), 0) FROM transactions)'),
  addresses: big('(SELECT COALESCE(MAX(id), 0) FROM index_addresses)'),
  tickers: big('(SELECT COALESCE(MAX(id), 0) FROM index_tickers)')
};

const network: RecordMethod = {
  summary: 'The network: its newest block, how much there is, and when an action is final',
  tag: 'State',
  schema: Type.Object({
    coin: Type.String(),
    chain: Type.String(),
    network: Type.String(),
    tip: Type.Union([rowSchema(BLOCK_COLUMNS), Type.Null()]),
    totals: rowSchema(TOTALS),
    finality: Type.Object({
      confirmations: Type.Integer({ description: 'after which other chains rely on an action' }),
      undo_depth: Type.Integer({ description: 'blocks that a reorg can replace' })
    })
  }),
  read: async ({
    query,
    databases: {
      network: { code, chain, network: name, confirmations, undoDepth }
    }
  }) => {
    const [tip] = await readRows(query, BLOCK_COLUMNS, 'blocks b ORDER BY b.block_index DESC LIMIT 1', []);
    const [totals] = await readRows(query, TOTALS, 'DUAL', []);
    const finality = { confirmations, undo_depth: undoDepth };
    return { coin: code, chain, network: name, tip: tip ?? null, totals, finality };
  }
};

/** What has one answer and no list, by its method. */
export const RECORDS: Readonly<Record<string, RecordMethod>> = {
  network,
  block,
  action,
  transaction,
  token,
  pubkey,
  address: addressMethod,
  search
};
