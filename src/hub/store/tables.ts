import { connect, databaseError, quoteName, rows } from '../../db/core/connection.ts';
import type { DatabaseCoordinates } from '../../wire/database.ts';

/** The columns and keys of every table, by its name. */
const TABLES: Readonly<Record<string, string>> = {
  configs: `
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    coin VARCHAR(16) NOT NULL,
    network VARCHAR(16) NOT NULL,
    module VARCHAR(64) NOT NULL,
    param_name VARCHAR(32) NOT NULL,
    param_value TEXT NOT NULL,
    updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    UNIQUE KEY configs_name (coin, network, module, param_name),
    KEY configs_updated_at (updated_at)`,
  consensus_state: `
    key_name VARCHAR(64) NOT NULL PRIMARY KEY,
    value VARCHAR(255) NOT NULL`
};

/**
 * Makes the database and its tables where they are missing. It looks before it creates: an account that may only use what
 * is there needs no CREATE.
 *
 * @throws {PlatformError} DATABASE_REFUSED, DATABASE_UNAVAILABLE
 */
export async function createMissing(database: DatabaseCoordinates): Promise<void> {
  const { name, ...server } = database;
  const connection = await connect(server);
  try {
    const schemas = 'SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?';
    if ((await rows(connection, schemas, [name])).length === 0) {
      await connection.query(`CREATE DATABASE IF NOT EXISTS ${quoteName(name)}`);
    }
    await connection.query(`USE ${quoteName(name)}`);
    const found = await rows<{ name: string }>(
      connection,
      'SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?',
      [name]
    );
    const present = new Set(found.map((table) => table.name));
    for (const [table, columns] of Object.entries(TABLES).filter(([table]) => !present.has(table))) {
      await connection.query(
        `CREATE TABLE IF NOT EXISTS ${table} (${columns}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`
      );
    }
  } catch (caught) {
    throw databaseError(caught, { database: name });
  } finally {
    connection.destroy();
  }
}
