const OPTIONS = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin';

/**
 * The tables of a tracker. A script is known by its SHA-256, a place by its outpoint: 32 bytes of the transaction's id, as it stands
 * within transactions, and the position in four bytes, lowest first.
 */
const TABLES = {
  blocks: 'block_index INT UNSIGNED NOT NULL PRIMARY KEY, hash BINARY(32) NOT NULL',
  coins: `
    script_hash BINARY(32) NOT NULL,
    outpoint BINARY(36) NOT NULL,
    value BIGINT UNSIGNED NOT NULL,
    height INT UNSIGNED NOT NULL,
    is_coinbase TINYINT UNSIGNED NOT NULL,
    PRIMARY KEY (script_hash, outpoint),
    UNIQUE KEY coins_outpoint (outpoint)`,
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
    is_coinbase TINYINT UNSIGNED NOT NULL,
    PRIMARY KEY (block_index, outpoint)`,
  events: `
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    time BIGINT UNSIGNED NOT NULL,
    code VARCHAR(32) NOT NULL,
    data MEDIUMTEXT NOT NULL,
    KEY events_code (code)`
} as const;

/** Statements that make what is missing. */
export const SCHEMA: readonly string[] = Object.entries(TABLES).map(
  ([name, columns]) => `CREATE TABLE IF NOT EXISTS ${name} (${columns}) ${OPTIONS}`
);
