import { type Connection, connect, databaseError, rows } from '../db/connection.ts';
import { writerLock } from '../db/writer-lock.ts';
import { PlatformError } from '../errors.ts';
import type { DatabaseCoordinates } from '../wire/data/database.ts';
import { migrate, readMigrations } from './migrations.ts';

/**
 * Runs `decoder --migrate`: applies pending migrations.
 *
 * @returns their names
 * @throws {PlatformError} MIGRATION_REFUSED at once, beside a running decoder or another migration; MIGRATION_CHANGED,
 *   DATABASE_REFUSED, DATABASE_UNAVAILABLE
 */
export async function runMigrations(database: DatabaseCoordinates): Promise<{ readonly text: string }> {
  return await withConnection(database, async (connection) => {
    await lock(connection, `decoder migrate ${database.name}`, 'another migration of this database is running');
    await lock(connection, writerLock('decoder', database), 'a decoder writes this database');
    const ran = await migrate(connection, ['auto', 'manual']);
    return { text: ran.length === 0 ? 'no migration is pending' : ran.map((name) => `applied ${name}`).join('\n') };
  });
}

/**
 * Runs `decoder --migrations`. @returns the state of each migration @throws {PlatformError} DATABASE_REFUSED,
 * DATABASE_UNAVAILABLE
 */
export async function listMigrations(database: DatabaseCoordinates): Promise<{ readonly text: string }> {
  return await withConnection(database, async (connection) => {
    const lines = (await readMigrations(connection)).map(({ name, mode, state, appliedAt }) =>
      [state.padEnd(7), mode.padEnd(6), name, appliedAt?.toISOString() ?? ''].join('  ').trimEnd()
    );
    return { text: lines.join('\n') };
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
