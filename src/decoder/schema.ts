/** Row of both lookup tables that stands for "none". */
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

/** What extensions of dispensers replaced, as long as a rollback may take them back. */
export const EXTENSION_UNDO = `
    block_index INT UNSIGNED NOT NULL,
    tx_index BIGINT UNSIGNED NOT NULL,
    address_id BIGINT UNSIGNED NOT NULL,
    prior_expiration BIGINT UNSIGNED NULL,
    prior_expired_block_index INT UNSIGNED NULL,
    PRIMARY KEY (block_index, tx_index, address_id)`;

/** By block, the highest ids of `index_addresses`, `index_transactions` and `pubkeys` before it: after a rollback, the ids above are used again. */
export const LOOKUP_UNDO = `
    block_index INT UNSIGNED NOT NULL PRIMARY KEY,
    address_id BIGINT UNSIGNED NOT NULL,
    hash_id BIGINT UNSIGNED NOT NULL,
    pubkey_id BIGINT UNSIGNED NOT NULL`;

/** What a decoder keeps to know which payments a dispenser may serve. Rows of a block go with it. */
export const WATCH_TABLES = {
  /** What a dispenser said that `dispensers` has no column for. Several of one transaction at one address are one. */
  dispenser_watches: `
    tx_index BIGINT UNSIGNED NOT NULL,
    address_id BIGINT UNSIGNED NOT NULL,
    least BIGINT UNSIGNED NOT NULL,
    dispensers INT UNSIGNED NOT NULL,
    PRIMARY KEY (tx_index, address_id)`,
  /** Payments that were stored for a dispenser, by block. */
  dispenser_payments: `
    block_index INT UNSIGNED NOT NULL,
    tx_index BIGINT UNSIGNED NOT NULL,
    address_id BIGINT UNSIGNED NOT NULL,
    payments INT UNSIGNED NOT NULL,
    PRIMARY KEY (tx_index, address_id, block_index),
    KEY dispenser_payments_block (block_index)`,
  /** Expirations that an address asked for by edits of its dispensers. */
  dispenser_extensions: `
    block_index INT UNSIGNED NOT NULL,
    address_id BIGINT UNSIGNED NOT NULL,
    expiration BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (block_index, address_id),
    KEY dispenser_extensions_expiration (expiration)`
} as const;

/** Dispensers of one transaction that ask different amounts have rows of their own, and so have the payments that count for them. */
export const WATCHED_PRICES = [
  'ALTER TABLE dispenser_watches DROP PRIMARY KEY, ADD PRIMARY KEY (tx_index, address_id, least)',
  `ALTER TABLE dispenser_payments ADD COLUMN IF NOT EXISTS least BIGINT UNSIGNED NOT NULL DEFAULT 0 AFTER address_id,
   DROP PRIMARY KEY, ADD PRIMARY KEY (tx_index, address_id, block_index, least)`
];

/** By what the database was made: the settings and rules that its rows follow from. */
export const DECODER_BASE = 'decoder_base';

/**
 * Statements that make columns and values as compatible decoders have them, of a database that earlier releases wrote. Each does
 * nothing where it has been done.
 */
export const COLUMNS_IN_USE = [
  'ALTER TABLE transactions MODIFY block_index BIGINT UNSIGNED NOT NULL',
  'ALTER TABLE transaction_outputs MODIFY vout BIGINT UNSIGNED NOT NULL',
  'ALTER TABLE dispensers MODIFY source_address_id BIGINT UNSIGNED NULL, MODIFY expired_block_index BIGINT UNSIGNED NULL',
  'ALTER TABLE mempool_transactions MODIFY amount BIGINT NULL, MODIFY fee BIGINT NULL',
  // Seconds since 1970 become digits of a date, which are then one.
  `UPDATE events SET time = DATE_FORMAT('1970-01-01' + INTERVAL time SECOND, '%Y%m%d%H%i%s') WHERE time < 10000000000`,
  'ALTER TABLE events MODIFY time DATETIME NOT NULL',
  `UPDATE transaction_outputs SET amount = CAST(CAST(amount AS DECIMAL(30, 0)) * 0.00000001 AS CHAR) WHERE amount NOT LIKE '%.%'`,
  `UPDATE transactions SET destination_id = COALESCE(destination_id, ${EMPTY_ID}), fee = COALESCE(fee, 0)
   WHERE destination_id IS NULL OR fee IS NULL`,
  'UPDATE dispensers SET source_address_id = NULL WHERE source_address_id IS NOT NULL'
];

/** Rows that both lookup tables begin with. */
export const FIRST_ROWS = [
  ['index_addresses', 'address'],
  ['index_transactions', 'hash']
].map(([table, column]) => `INSERT IGNORE INTO ${table} (id, ${column}) VALUES (${EMPTY_ID}, '')`);

/** Makes a table where it is missing. */
export function tableStatement(name: string, columns: string): string {
  return `CREATE TABLE IF NOT EXISTS ${name} (${columns}) ${OPTIONS}`;
}
