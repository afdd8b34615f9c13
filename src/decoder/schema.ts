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

/** Rows that both lookup tables begin with. */
export const FIRST_ROWS = [
  ['index_addresses', 'address'],
  ['index_transactions', 'hash']
].map(([table, column]) => `INSERT IGNORE INTO ${table} (id, ${column}) VALUES (${EMPTY_ID}, '')`);

/** Makes a table where it is missing. */
export function tableStatement(name: string, columns: string): string {
  return `CREATE TABLE IF NOT EXISTS ${name} (${columns}) ${OPTIONS}`;
}
