import { type Connection, connect, databaseError, rows, statementTag } from '../../../db/connection.ts';
import { useDatabase } from '../../../db/exclusive-database.ts';
import { replicaLock } from '../../../db/writer-lock.ts';
import { PlatformError } from '../../../errors.ts';
import type { DatabaseCoordinates } from '../../../wire/data/database.ts';

/** Seconds a writer's statement may run, but while it bootstraps. */
export const STATEMENT_LIMIT_S = 60;
/** The server ends the connection of a machine that died, and its lock with it, after this silence. */
const SILENCE_S = 600;
const PING_MS = 60_000;
/** Time for which a statement of a dead predecessor may keep the lock. */
const LOCK_PATIENCE_S = 10;

interface WriterOptions {
  readonly generation: number;
  readonly lockPatienceS?: number;
  /** Called with the reason of the wait while another client holds the lock, then with null. */
  readonly waiting?: (on: string | null) => void;
}

/**
 * Opens the one connection that may write a replica. It holds `platform:<database>` before anything is read, until it
 * ends. A missing database is created.
 *
 * After any error of a statement, call `destroy`: MariaDB then certainly rolls the failed transaction back.
 *
 * @throws {PlatformError} REPLICA_LOCKED, DATABASE_REFUSED, DATABASE_UNAVAILABLE
 */
export async function openWriter(to: DatabaseCoordinates, options: WriterOptions): Promise<Connection> {
  const { name, ...server } = to;
  const connection = await connect(server, {
    tag: statementTag(name, options.generation),
    statementLimitS: STATEMENT_LIMIT_S,
    several: true
  });
  try {
    await takeLock(connection, name, options);
    await useDatabase(connection, name, 'CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci');
    keepAlive(connection);
    // Rows arrive in the source's state, which is whole only at the end of a group.
    await connection.query(
      `SET SESSION foreign_key_checks = 0, lock_wait_timeout = ${STATEMENT_LIMIT_S}, wait_timeout = ${SILENCE_S}`
    );
    return connection;
  } catch (caught) {
    connection.destroy();
    throw databaseError(caught, { database: name });
  }
}

/** Keeps a writer's connection open, which may rest for hours between two blocks. */
function keepAlive(connection: Connection): void {
  const beat = setInterval(() => void connection.ping().catch(() => clearInterval(beat)), PING_MS);
  beat.unref();
  connection.on('error', () => clearInterval(beat));
}

/** Describes the holder of a lock, as far as this account may see it. */
async function describeHolder(connection: Connection, id: number | null | undefined): Promise<string> {
  if (id == null) return 'an unknown connection';
  const [found] = await rows<{ user: string; host: string; seconds: number }>(
    connection,
    'SELECT USER AS user, HOST AS host, TIME AS seconds FROM information_schema.PROCESSLIST WHERE ID = ?',
    [id]
  );
  if (!found) return `connection ${id} of its server`;
  return `connection ${id} of its server (${found.user} from ${found.host}, ${found.seconds} s in its present state)`;
}

async function takeLock(
  connection: Connection,
  database: string,
  { lockPatienceS = LOCK_PATIENCE_S, waiting }: WriterOptions
): Promise<void> {
  const lock = replicaLock(database);
  const take = async (patienceS: number): Promise<boolean> => {
    const [taken] = await rows<{ ok: number | null }>(connection, 'SELECT GET_LOCK(?, ?) AS ok', [lock, patienceS]);
    return Number(taken?.ok) === 1;
  };
  if (await take(0)) return;
  const [used] = await rows<{ holder: number | null }>(connection, 'SELECT IS_USED_LOCK(?) AS holder', [lock]);
  const holder = await describeHolder(connection, used?.holder);
  const reason = `another client writes to ${database}: ${holder} holds the lock`;
  const locked = new PlatformError('REPLICA_LOCKED', { reason, database, connection: used?.holder ?? undefined });
  waiting?.(`${reason}; ${locked.hint}`);
  if (!(await take(lockPatienceS))) throw locked;
  waiting?.(null);
}
