/** Id of the empty name in both lookup tables. */
export const EMPTY_ID = 1;

const OPTIONS = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin';

/** Columns and keys of the nine tables. @see the section "Decoder database" of the specification */
export const TABLES = {
  blocks: `
    block_index INT UNSIGNED NOT NULL PRIMARY KEY,
    block_time INT UNSIGNED NOT NULL,
    block_hash_id BIGINT UNSIGNED NOT NULL,
    previous_block_hash_id BIGINT UNSIGNED NOT NULL,
    KEY blocks_hash (block_hash_id)`,
  transactions: `
    tx_index BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    tx_hash_id BIGINT UNSIGNED NOT NULL,
    block_index INT UNSIGNED NOT NULL,
    source_id BIGINT UNSIGNED NOT NULL,
    destination_id BIGINT UNSIGNED NULL,
    amount BIGINT UNSIGNED NULL,
    fee BIGINT UNSIGNED NULL,
    data MEDIUMTEXT NOT NULL,
    raw_data MEDIUMBLOB NULL,
    UNIQUE KEY transactions_hash (tx_hash_id),
    KEY transactions_block (block_index),
    KEY transactions_source (source_id)`,
  transaction_outputs: `
    tx_index BIGINT UNSIGNED NOT NULL,
    vout INT UNSIGNED NOT NULL,
    destination_id BIGINT UNSIGNED NOT NULL,
    amount VARCHAR(250) NOT NULL,
    PRIMARY KEY (tx_index, vout),
    KEY transaction_outputs_destination (destination_id)`,
  dispensers: `
    tx_index BIGINT UNSIGNED NOT NULL,
    address_id BIGINT UNSIGNED NOT NULL,
    expiration BIGINT UNSIGNED NULL,
    oracle_address_id BIGINT UNSIGNED NULL,
    source_address_id BIGINT UNSIGNED NOT NULL,
    expired_block_index INT UNSIGNED NULL,
    PRIMARY KEY (tx_index, address_id),
    KEY dispensers_address (address_id)`,
  index_addresses: `
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    address VARCHAR(120) NOT NULL,
    UNIQUE KEY index_addresses_address (address)`,
  index_transactions: `
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    hash VARCHAR(250) NOT NULL,
    UNIQUE KEY index_transactions_hash (hash)`,
  pubkeys: `
    address_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
    pubkey VARCHAR(130) NOT NULL,
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    UNIQUE KEY pubkeys_id (id)`,
  events: `
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    time BIGINT UNSIGNED NOT NULL,
    code VARCHAR(32) NOT NULL,
    data MEDIUMTEXT NOT NULL,
    KEY events_code (code)`,
  mempool_transactions: `
    tx_hash VARCHAR(250) NOT NULL,
    source VARCHAR(120) NOT NULL,
    destination VARCHAR(120) NULL,
    amount VARCHAR(250) NULL,
    fee VARCHAR(250) NULL,
    data MEDIUMTEXT NOT NULL,
    raw_data MEDIUMBLOB NULL,
    UNIQUE KEY mempool_transactions_hash (tx_hash)`
} as const;

/** State before extensions of dispensers, as earlier releases kept it for rollbacks. */
export const EXTENSION_UNDO = `
    block_index INT UNSIGNED NOT NULL,
    tx_index BIGINT UNSIGNED NOT NULL,
    address_id BIGINT UNSIGNED NOT NULL,
    prior_expiration BIGINT UNSIGNED NULL,
    prior_expired_block_index INT UNSIGNED NULL,
    PRIMARY KEY (block_index, tx_index, address_id)`;

/**
 * By block, the highest ids of `index_addresses`, `index_transactions` and `pubkeys` before it. A rollback frees the
 * ids above for reuse.
 */
export const LOOKUP_UNDO = `
    block_index INT UNSIGNED NOT NULL PRIMARY KEY,
    address_id BIGINT UNSIGNED NOT NULL,
    hash_id BIGINT UNSIGNED NOT NULL,
    pubkey_id BIGINT UNSIGNED NOT NULL`;

/** Tables that decide which payments a dispenser may serve. A rollback deletes the rows of its block. */
export const WATCH_TABLES = {
  /** Least payments of dispensers. Dispensers of one transaction at one address share a row. */
  dispenser_watches: `
    tx_index BIGINT UNSIGNED NOT NULL,
    address_id BIGINT UNSIGNED NOT NULL,
    least BIGINT UNSIGNED NOT NULL,
    dispensers INT UNSIGNED NOT NULL,
    PRIMARY KEY (tx_index, address_id)`,
  /** Number of stored payments for a dispenser, by block. */
  dispenser_payments: `
    block_index INT UNSIGNED NOT NULL,
    tx_index BIGINT UNSIGNED NOT NULL,
    address_id BIGINT UNSIGNED NOT NULL,
    payments INT UNSIGNED NOT NULL,
    PRIMARY KEY (tx_index, address_id, block_index),
    KEY dispenser_payments_block (block_index)`,
  /** Expirations that an address requested by edits of its dispensers. */
  dispenser_extensions: `
    block_index INT UNSIGNED NOT NULL,
    address_id BIGINT UNSIGNED NOT NULL,
    expiration BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (block_index, address_id),
    KEY dispenser_extensions_expiration (expiration)`
} as const;

/** Dispensers by what is asked of them. The other tables say all of it. @see refreshTills */
export const DISPENSER_TILLS = `
    tx_index BIGINT UNSIGNED NOT NULL,
    address_id BIGINT UNSIGNED NOT NULL,
    source_id BIGINT UNSIGNED NOT NULL,
    is_own BOOLEAN NOT NULL COMMENT 'whether its source takes the payments',
    least BIGINT UNSIGNED NOT NULL COMMENT 'it takes no payment below, in base units',
    due BIGINT UNSIGNED NULL COMMENT 'it does not end before, in Unix seconds; NULL once it has ended',
    ended INT UNSIGNED NULL COMMENT 'height before which it ended',
    PRIMARY KEY (tx_index, address_id),
    KEY dispenser_tills_takers (address_id, is_own, ended, tx_index, least),
    KEY dispenser_tills_source_ends (source_id, ended),
    KEY dispenser_tills_due (due),
    KEY dispenser_tills_ended (ended)`;

/** Sources and paid addresses of dispensers that are open beyond their own times, by their edits. */
export const DISPENSER_HOLDS = `
    source_id BIGINT UNSIGNED NOT NULL,
    address_id BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (source_id, address_id),
    KEY dispenser_holds_address (address_id, source_id)`;

/** Statement by which the dispensers of a source, and of a source and an address, are found. */
export const TILLS_BY_PAIR =
  'ALTER TABLE dispenser_tills ADD INDEX IF NOT EXISTS dispenser_tills_pairs (source_id, ended, due, address_id)';

/** Statement that drops what `dispenser_tills_pairs` finds as well. */
export const NO_TILLS_BY_SOURCE = 'ALTER TABLE dispenser_tills DROP INDEX IF EXISTS dispenser_tills_source_ends';

/** Statement by which the extensions of an address are found. */
export const EXTENSIONS_BY_ADDRESS =
  'ALTER TABLE dispenser_extensions ADD INDEX IF NOT EXISTS dispenser_extensions_address (address_id, expiration)';

/** Extensions of addresses whose dispensers are forgotten. A rollback of the block in which they were dropped restores them. */
export const DROPPED_EXTENSIONS = `
    dropped INT UNSIGNED NOT NULL COMMENT 'height before which it was dropped',
    block_index INT UNSIGNED NOT NULL,
    address_id BIGINT UNSIGNED NOT NULL,
    expiration BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (dropped, block_index, address_id)`;

/**
 * Statements that key watches and payments by price, so that dispensers of one transaction with different prices have
 * rows of their own.
 */
export const WATCHED_PRICES = [
  'ALTER TABLE dispenser_watches DROP PRIMARY KEY, ADD PRIMARY KEY (tx_index, address_id, least)',
  `ALTER TABLE dispenser_payments ADD COLUMN IF NOT EXISTS least BIGINT UNSIGNED NOT NULL DEFAULT 0 AFTER address_id,
   DROP PRIMARY KEY, ADD PRIMARY KEY (tx_index, address_id, block_index, least)`
];

/** Table of the settings and rules that the database was made with. */
export const DECODER_BASE = 'decoder_base';

/**
 * Statements that change a database of an earlier release to the columns and values of compatible decoders. Each has no
 * effect when it was already done.
 */
export const COLUMNS_IN_USE = [
  'ALTER TABLE transactions MODIFY block_index BIGINT UNSIGNED NOT NULL',
  'ALTER TABLE transaction_outputs MODIFY vout BIGINT UNSIGNED NOT NULL',
  'ALTER TABLE dispensers MODIFY source_address_id BIGINT UNSIGNED NULL, MODIFY expired_block_index BIGINT UNSIGNED NULL',
  'ALTER TABLE mempool_transactions MODIFY amount BIGINT NULL, MODIFY fee BIGINT NULL',
  // Unix seconds become the digits of a date, which MODIFY below converts to DATETIME.
  `UPDATE events SET time = DATE_FORMAT('1970-01-01' + INTERVAL time SECOND, '%Y%m%d%H%i%s') WHERE time < 10000000000`,
  'ALTER TABLE events MODIFY time DATETIME NOT NULL',
  `UPDATE transaction_outputs SET amount = CAST(CAST(amount AS DECIMAL(30, 0)) * 0.00000001 AS CHAR) WHERE amount NOT LIKE '%.%'`,
  `UPDATE transactions SET destination_id = COALESCE(destination_id, ${EMPTY_ID}), fee = COALESCE(fee, 0)
   WHERE destination_id IS NULL OR fee IS NULL`,
  'UPDATE dispensers SET source_address_id = NULL WHERE source_address_id IS NOT NULL'
];

/** Statements that insert the first row of both lookup tables. */
export const FIRST_ROWS = [
  ['index_addresses', 'address'],
  ['index_transactions', 'hash']
].map(([table, column]) => `INSERT IGNORE INTO ${table} (id, ${column}) VALUES (${EMPTY_ID}, '')`);

/** Returns the statement that creates a table unless it exists. */
export function tableStatement(name: string, columns: string): string {
  return `CREATE TABLE IF NOT EXISTS ${name} (${columns}) ${OPTIONS}`;
}
