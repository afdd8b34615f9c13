import { type Connection, connect, quoteName, rows, type Statements } from '../../db/connection.ts';
import { useDatabase } from '../../db/exclusive-database.ts';
import type { DatabaseCoordinates } from '../../wire/data/database.ts';
import {
  type ColumnDefinition,
  type KeyDefinition,
  TABLES_IN_USE,
  type TableDefinition
} from '../definitions/definition.ts';
import { createStatement, keyClause } from '../definitions/statement.ts';
import { DECIDING_ACTIONS, LIST_COUNTS, TRADE_RESTS } from './decisions.ts';
import { LEDGER_BASE } from './ledger-base.ts';
import { LOOKUP_TABLES } from './lookups.ts';
import { OFFER_EDITS } from './offer-edits.ts';
import { reconcileColumns } from './reconcile.ts';

/** Text columns that are compared byte for byte, so that two spellings are two texts. */
const EXACT_TEXTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  index_addresses: { address: 'varchar(120) ascii ascii_bin' },
  index_memos: { memo: 'varchar(250) utf8mb4 utf8mb4_nopad_bin' },
  index_mime_types: { type: 'varchar(255) utf8mb4 utf8mb4_nopad_bin' },
  index_statuses: { status: 'varchar(250) utf8mb4 utf8mb4_nopad_bin' },
  // Its key has 200 characters of a ticker: where spaces at their end did not count, a short ticker would be another's beginning.
  index_tickers: { tick: 'text utf8mb4 utf8mb4_nopad_bin' }
};

/**
 * Keys that tables in use lack.
 *
 * By them an indexer reads the newest SLEEP of a ticker, the matches of a market, and the valid rows of an action, or
 * about a token, a signing key or a round of prices, without the refused ones that anybody may add. An explorer reads
 * the newest rows of an address or a ticker without sorting all of them, and the actions of one kind of an address
 * without reading its other actions. Parts of an action are read as they were written: no key of theirs goes on after
 * `action_index`. Tables whose rows are stored by `action_index` need none: it is the end of each of their keys.
 */
const KEYS_OF_READERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  actions: [['source_id', 'action_id']],
  airdrops: [['status_id', 'action_index']],
  balances: [['tick_id', 'address_id']],
  blocks: [['block_time', 'block_index']],
  credits: [['address_id', 'action_index']],
  debits: [['address_id', 'action_index']],
  delegations: [['status_id', 'signing_pubkey_id']],
  escrows: [['address_id', 'action_index']],
  prices: [
    ['round_number', 'status_id'],
    ['version', 'status_id', 'round_number']
  ],
  stakes: [
    ['status_id', 'signing_pubkey_id'],
    ['status_id', 'source_id']
  ],
  unstakes: [['status_id', 'signing_pubkey_id']],
  sends: [
    ['status_id', 'action_index'],
    ['destination_id', 'action_index'],
    ['tick_id', 'action_index']
  ],
  destroys: [
    ['status_id', 'action_index'],
    ['tick_id', 'action_index']
  ],
  issues: [['tick_id', 'status_id']],
  list_items: [['action_index', 'item_id']],
  markets: [['last_updated']],
  order_matches: [['give_tick_id', 'get_tick_id', 'status_id']],
  sleeps: [['tick_id', 'status_id']],
  mappings_actions: [['type_id', 'id', 'action_index']],
  state_tree_roots: [['block_index']]
};

/** Columns that tables in use always fill and this indexer does not. */
const OPTIONAL: Readonly<Record<string, string>> = { state_tree_roots: 'stakes_root' };

/** Tables of a sync service, which makes them itself. */
const NOT_OURS: ReadonlySet<string> = new Set(['sync_meta', 'merkle_epochs']);

/** Table of the hash of the block at each height, by which a reorg is noticed. */
const CHAIN_BLOCKS = `CREATE TABLE IF NOT EXISTS chain_blocks (
  block_index BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  block_hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
) ENGINE=InnoDB`;

/** Table of the highest ids after each block: a rollback of blocks deletes the ids above. */
const LOOKUP_UNDO = `CREATE TABLE IF NOT EXISTS lookup_undo (
  block_index BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  ${[...LOOKUP_TABLES, 'balances'].map((table) => `${table} BIGINT UNSIGNED NOT NULL`).join(', ')}
) ENGINE=InnoDB`;

/** Table of the rows of `balances` that blocks deleted. */
const BALANCE_UNDO = `CREATE TABLE IF NOT EXISTS balance_undo (
  block_index BIGINT UNSIGNED NOT NULL,
  address_id BIGINT UNSIGNED NOT NULL,
  tick_id BIGINT UNSIGNED NOT NULL,
  id BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (address_id, tick_id, block_index),
  KEY (block_index)
) ENGINE=InnoDB`;

/** Table of the refreshes of `markets`, each with the time of the one before; NULL if the block made the row. */
const MARKET_UNDO = `CREATE TABLE IF NOT EXISTS market_undo (
  block_index BIGINT UNSIGNED NOT NULL,
  market_id BIGINT UNSIGNED NOT NULL,
  last_updated BIGINT UNSIGNED NULL,
  PRIMARY KEY (block_index, market_id)
) ENGINE=InnoDB`;

/**
 * Table of the open orders. Each has its price from both sides, as digits of a count of 10^-8 that sort as numbers do.
 */
const OPEN_ORDERS = `CREATE TABLE IF NOT EXISTS open_orders (
  order_action_index BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  market_id BIGINT UNSIGNED NOT NULL,
  price1 CHAR(80) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  price2 CHAR(80) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  KEY (market_id, price1),
  KEY (market_id, price2)
) ENGINE=InnoDB`;

/**
 * Table of the Bitcoin blocks whose prices are in use, each with the first block that used them. It is empty on
 * Bitcoin.
 */
const PRICE_BLOCKS = `CREATE TABLE IF NOT EXISTS price_blocks (
  price_block BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  price_hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  block_index BIGINT UNSIGNED NOT NULL,
  KEY (block_index)
) ENGINE=InnoDB`;

/** Column of `blocks` that sync services send, and replicas compare with the root over their own rows. */
const BLOCK_ROOT = 'block_merkle_root';
const BLOCK_ROOT_TYPE = 'char(64) ascii ascii_bin';

/**
 * Running sum of the mints of a source and a token, one row for each valid MINT. The newest row of both is the sum that
 * MINT_ADDRESS_MAX needs with every MINT. Other indexers do not have this table.
 */
const MINT_TOTALS: TableDefinition = {
  columns: [
    ...['action_index', 'address_id', 'tick_id'].map(idColumn),
    { name: 'total', type: 'varchar(250)', nullable: false, byDefault: null, extra: '' }
  ],
  keys: [
    { name: 'action_index', kind: 'unique', columns: ['action_index'] },
    { name: 'address_id_tick_id', kind: 'index', columns: ['address_id', 'tick_id'] }
  ],
  foreign: [],
  engine: 'InnoDB',
  charset: 'ascii',
  collate: 'ascii_bin'
};

/**
 * Preferences of an address, one row for each valid ADDRESS. The newest row of an address has all that count; those of
 * its other actions, of which there may be millions, need not be read. Other indexers do not have this table.
 */
const ADDRESS_PREFERENCES: TableDefinition = {
  ...MINT_TOTALS,
  columns: [
    ...['action_index', 'address_id'].map(idColumn),
    ...['fee_preference', 'require_memo', 'dispenser_preference'].map((name) => {
      const nullable = name === 'dispenser_preference';
      return { name, type: 'tinyint(3) unsigned', nullable, byDefault: null, extra: '' };
    })
  ],
  keys: [
    { name: 'action_index', kind: 'unique', columns: ['action_index'] },
    { name: 'address_id', kind: 'index', columns: ['address_id'] }
  ]
};

function idColumn(name: string): ColumnDefinition {
  return { name, type: 'bigint(20) unsigned', nullable: false, byDefault: null, extra: '' };
}

/** Definitions of the tables that an indexer writes. */
export const TABLES: ReadonlyMap<string, TableDefinition> = new Map(
  [
    ...TABLES_IN_USE.indexer,
    ['mint_totals', MINT_TOTALS] as const,
    ['address_preferences', ADDRESS_PREFERENCES] as const
  ]
    .filter(([name]) => !NOT_OURS.has(name))
    .map(([name, table]) => [
      name,
      withKeysOfReaders(name, withOptional(name, withBlockRoot(name, withExactTexts(name, table))))
    ])
);

function withKeysOfReaders(name: string, table: TableDefinition): TableDefinition {
  return { ...table, keys: [...table.keys, ...keysOfReaders(name)] };
}

function keysOfReaders(table: string): KeyDefinition[] {
  return (KEYS_OF_READERS[table] ?? []).map((columns) => ({ name: columns.join('_'), kind: 'index', columns }));
}

function withBlockRoot(name: string, table: TableDefinition): TableDefinition {
  if (name !== 'blocks') return table;
  const root = { name: BLOCK_ROOT, type: BLOCK_ROOT_TYPE, nullable: true, byDefault: null, extra: '' };
  return { ...table, columns: [...table.columns, root] };
}

function withOptional(name: string, table: TableDefinition): TableDefinition {
  const optional = OPTIONAL[name];
  if (!optional) return table;
  return { ...table, columns: table.columns.map((own) => (own.name === optional ? { ...own, nullable: true } : own)) };
}

function withExactTexts(name: string, table: TableDefinition): TableDefinition {
  const exact = EXACT_TEXTS[name];
  if (!exact) return table;
  return { ...table, columns: table.columns.map((column) => ({ ...column, type: exact[column.name] ?? column.type })) };
}

/**
 * Makes the database and its tables where they are missing.
 *
 * @returns a connection to it
 * @throws {PlatformError} DATABASE_REFUSED, DATABASE_UNAVAILABLE
 */
export async function openIndexerDatabase({ name, ...server }: DatabaseCoordinates): Promise<Connection> {
  const connection = await connect(server, { several: true });
  try {
    await useDatabase(connection, name);
    return connection;
  } catch (caught) {
    connection.destroy();
    throw caught;
  }
}

/**
 * Makes missing tables, and adds what those of an earlier release or a compatible indexer lack. Safe to repeat.
 *
 * @throws {PlatformError} DATABASE_UNUSABLE for a table whose engine has no transactions
 */
export async function createIndexerTables(connection: Statements): Promise<void> {
  for (const [name, table] of TABLES) await connection.query(createStatement(name, table, { ifMissing: true }));
  await connection.query(CHAIN_BLOCKS);
  await connection.query(LOOKUP_UNDO);
  await connection.query(BALANCE_UNDO);
  await connection.query(MARKET_UNDO);
  await connection.query(OPEN_ORDERS);
  await connection.query(PRICE_BLOCKS);
  await connection.query(LEDGER_BASE);
  await connection.query(DECIDING_ACTIONS);
  await connection.query(TRADE_RESTS);
  await connection.query(OFFER_EDITS);
  await connection.query(LIST_COUNTS);
  await reconcileColumns(connection, TABLES);
  for (const table of Object.keys(KEYS_OF_READERS)) await addMissingKeys(connection, table);
}

async function addMissingKeys(connection: Statements, table: string): Promise<void> {
  const found = await rows<{ Key_name: string }>(connection, `SHOW INDEX FROM ${quoteName(table)}`);
  const names = new Set(found.map(({ Key_name }) => Key_name));
  const missing = keysOfReaders(table).filter(({ name }) => !names.has(name));
  if (missing.length === 0) return;
  const added = missing.map((key) => `ADD ${keyClause(key)}`).join(', ');
  await connection.query(`ALTER TABLE ${quoteName(table)} ${added}`);
}
