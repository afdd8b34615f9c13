import { type Connection, rows } from '../../db/connection.ts';

/** Definitions of the control tables, for databases that lack them. */
const CONTROL_TABLES: Readonly<Record<string, string>> = {
  sync_meta: `CREATE TABLE IF NOT EXISTS sync_meta (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, block_index INT UNSIGNED NOT NULL, block_time INT UNSIGNED NULL,
    ledger_hash VARCHAR(250) NULL, actions_hash VARCHAR(250) NULL, contract_hash VARCHAR(250) NULL,
    logged_at DATETIME(6) NOT NULL, UNIQUE KEY block_index (block_index)
  ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci`,
  merkle_epochs: `CREATE TABLE IF NOT EXISTS merkle_epochs (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, epoch INT UNSIGNED NOT NULL, start_block INT UNSIGNED NOT NULL,
    end_block INT UNSIGNED NOT NULL, merkle_root CHAR(64) NOT NULL, leaf_count INT UNSIGNED NOT NULL,
    created_at DATETIME(6) NOT NULL, UNIQUE KEY epoch (epoch)
  ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci`,
  sync_halt: `CREATE TABLE IF NOT EXISTS sync_halt (
    id TINYINT UNSIGNED NOT NULL PRIMARY KEY, block_index BIGINT NULL, reason VARCHAR(255) NOT NULL, mismatches LONGTEXT NULL,
    sources LONGTEXT NULL, detected_at VARCHAR(32) NOT NULL
  ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`
};

/** Returns the control tables that are missing. */
export async function missingControlTables(connection: Connection): Promise<string[]> {
  const found = await rows<{ TABLE_NAME: string }>(
    connection,
    'SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN (?)',
    [Object.keys(CONTROL_TABLES)]
  );
  const there = new Set(found.map((row) => row.TABLE_NAME));
  return Object.keys(CONTROL_TABLES).filter((name) => !there.has(name));
}

/** Makes the control tables that are missing; where all are there, nothing is written. */
export async function createControlTables(connection: Connection): Promise<void> {
  for (const name of await missingControlTables(connection)) await connection.query(CONTROL_TABLES[name]!);
}
