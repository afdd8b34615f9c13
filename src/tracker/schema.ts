const OPTIONS = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin';

/**
 * Tables of a tracker.
 *
 * `script_hash` is the SHA-256 of a script. `outpoint` is 32 bytes of a transaction id in internal byte order and the
 * position in four bytes, little-endian. `maturity` is the number of blocks that a coin needs before it may be spent:
 * 100 or so for a reward, few for a coin out of an extension block, 0 for all others.
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
  /** Coins that blocks near the tip created, for a rollback. */
  made: `
    block_index INT UNSIGNED NOT NULL,
    outpoint BINARY(36) NOT NULL,
    script_hash BINARY(32) NOT NULL,
    value BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (block_index, outpoint)`,
  /** Coins that blocks near the tip spent, for a rollback. */
  spent: `
    block_index INT UNSIGNED NOT NULL,
    script_hash BINARY(32) NOT NULL,
    outpoint BINARY(36) NOT NULL,
    value BIGINT UNSIGNED NOT NULL,
    height INT UNSIGNED NOT NULL,
    maturity TINYINT UNSIGNED NOT NULL,
    PRIMARY KEY (block_index, outpoint)`,
  /** One row during a first sync: the last block to gather, and the number of loaded shards. */
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

/** Statements that create missing tables. */
export const SCHEMA: readonly string[] = Object.entries(TABLES).map(([name, columns]) => create(name, columns));

/**
 * Index that finds the coins of a script without reading the table. A first sync creates it last: sorting once is
 * faster than keeping it sorted.
 */
export const COINS_OF_SCRIPTS =
  'CREATE INDEX IF NOT EXISTS coins_script ON coins (script_hash, outpoint, value, height, maturity)';

/** Records that a first sync has gathered, by shard and group of blocks. @see coins/records.ts */
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
