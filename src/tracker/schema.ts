const OPTIONS = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin';

/**
 * The tables of a tracker. A script is known by its SHA-256, a place by its outpoint: 32 bytes of the transaction's id, as it stands
 * within transactions, and the position in four bytes, lowest first. `maturity` is how many blocks nodes want on a coin before it is
 * spent: some for a reward, few for what comes out of an extension block, 0 for all others.
 */
const TABLES = {
  blocks: 'block_index INT UNSIGNED NOT NULL PRIMARY KEY, hash BINARY(32) NOT NULL',
  coins: `
    outpoint BINARY(36) NOT NULL PRIMARY KEY,
    script_hash BINARY(32) NOT NULL,
    value BIGINT UNSIGNED NOT NULL,
    height INT UNSIGNED NOT NULL,
    maturity TINYINT UNSIGNED NOT NULL`,
  scripts: `
    script_hash BINARY(32) NOT NULL PRIMARY KEY,
    first_height INT UNSIGNED NOT NULL,
    received DECIMAL(38, 0) NOT NULL`,
  /** What blocks near the tip made, for a rollback. */
  made: `
    block_index INT UNSIGNED NOT NULL,
    outpoint BINARY(36) NOT NULL,
    script_hash BINARY(32) NOT NULL,
    value BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (block_index, outpoint)`,
  /** What blocks near the tip spent, for a rollback. */
  spent: `
    block_index INT UNSIGNED NOT NULL,
    script_hash BINARY(32) NOT NULL,
    outpoint BINARY(36) NOT NULL,
    value BIGINT UNSIGNED NOT NULL,
    height INT UNSIGNED NOT NULL,
    maturity TINYINT UNSIGNED NOT NULL,
    PRIMARY KEY (block_index, outpoint)`,
  /** One row while a first sync goes on: the last block that it gathers, and how many shards are loaded. */
  first_sync: `
    id TINYINT UNSIGNED NOT NULL PRIMARY KEY,
    last_block INT UNSIGNED NOT NULL,
    shards SMALLINT UNSIGNED NOT NULL,
    loaded SMALLINT UNSIGNED NOT NULL`,
  events: `
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    time BIGINT UNSIGNED NOT NULL,
    code VARCHAR(32) NOT NULL,
    data MEDIUMTEXT NOT NULL,
    KEY events_code (code)`
} as const;

const create = (name: string, columns: string) => `CREATE TABLE IF NOT EXISTS ${name} (${columns}) ${OPTIONS}`;

/** Statements that make what is missing. */
export const SCHEMA: readonly string[] = Object.entries(TABLES).map(([name, columns]) => create(name, columns));

/** The coins of a script, without a look at the table. A first sync makes it last: sorting it once is quicker than keeping it sorted. */
export const COINS_OF_SCRIPTS =
  'CREATE INDEX IF NOT EXISTS coins_script ON coins (script_hash, outpoint, value, height, maturity)';

/** What a first sync has gathered: for each group of blocks its records, by shards. @see coins/records.ts */
export const SPOOL = create(
  'first_sync_spool',
  `shard SMALLINT UNSIGNED NOT NULL,
    block_index INT UNSIGNED NOT NULL,
    part SMALLINT UNSIGNED NOT NULL,
    made MEDIUMBLOB NOT NULL,
    spent MEDIUMBLOB NOT NULL,
    scripts MEDIUMBLOB NOT NULL,
    PRIMARY KEY (shard, block_index, part)`
);
