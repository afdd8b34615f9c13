import { type Connection, connect, databaseError, rows } from '../db/core/connection.ts';
import { writerLock } from '../db/core/writer-lock.ts';
import { migrate, readMigrations } from '../decoder/migrations.ts';
import { PlatformError } from '../errors.ts';
import type { DatabaseCoordinates } from '../wire/data/database.ts';

/**
 * Runs `decoder --migrate`: applies pending migrations and prints their names.
 *
 * @throws {PlatformError} MIGRATION_REFUSED at once, beside a running decoder or another migration; MIGRATION_CHANGED,
 *   DATABASE_REFUSED, DATABASE_UNAVAILABLE
 */
export async function runMigrations(database: DatabaseCoordinates): Promise<number> {
  return await withConnection(database, async (connection) => {
    await lock(connection, `decoder migrate ${database.name}`, 'another migration of this database is running');
    await lock(connection, writerLock('decoder', database), 'a decoder writes this database');
    const ran = await migrate(connection, ['auto', 'manual']);
    console.log(ran.length === 0 ? 'no migration is pending' : ran.map((name) => `applied ${name}`).join('\n'));
    return 0;
  });
}

/**
 * Runs `decoder --migrations`: prints the state of each migration. @throws {PlatformError} DATABASE_REFUSED,
 * DATABASE_UNAVAILABLE
 */
export async function listMigrations(database: DatabaseCoordinates): Promise<number> {
  return await withConnection(database, async (connection) => {
    for (const { name, mode, state, appliedAt } of await readMigrations(connection)) {
      console.log([state.padEnd(7), mode.padEnd(6), name, appliedAt?.toISOString() ?? ''].join('  ').trimEnd());
    }
    return 0;
  });
}

async function lock(connection: Connection, name: string, reason: string): Promise<void> {
  const [row] = await rows(connection, 'SELECT GET_LOCK(?, 0) AS taken', [name]);
  if (row?.['taken'] !== 1) throw new PlatformError('MIGRATION_REFUSED', { reason });
}

async function withConnection<T>(
  database: DatabaseCoordinates,
  work: (connection: Connection) => Promise<T>
): Promise<T> {
  const connection = await connect(database);
  try {
    return await work(connection);
  } catch (caught) {
    throw databaseError(caught, { database: database.name });
  } finally {
    await connection.end();
  }
}
