import { type Connection, connect, databaseError, rows, statementTag } from '../../../src/db/connection.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';

/** MariaDB's code for a thread that ended before it was killed. */
const ER_NO_SUCH_THREAD = 1094;

/**
 * Ends the statements that a dead actor's thread left running: their connections are killed, so their transactions roll back.
 *
 * Each statement's tag is read again right before its kill; whatever else runs on the server is left alone.
 *
 * @param control any account that may see and kill them: the actor's own will do
 * @param generation the start of the actor that died
 * @returns how many were killed
 * @throws {PlatformError} DATABASE_REFUSED, DATABASE_UNAVAILABLE
 */
export async function reap(
  { host, port, user, pass, socketPath }: Omit<DatabaseCoordinates, 'name'>,
  databaseName: string,
  generation: number
): Promise<number> {
  // In no database: that of a replica may not be made yet.
  const server = { host, port, user, pass, ...(socketPath === undefined ? {} : { socketPath }) };
  const connection = await connect(server, { statementLimitS: 5 });
  try {
    const tag = `/* ${statementTag(databaseName, generation)} */`;
    const left = await rows<{ id: number }>(
      connection,
      'SELECT ID AS id FROM information_schema.PROCESSLIST WHERE BINARY LEFT(INFO, CHAR_LENGTH(?)) = ?',
      [tag, tag]
    );
    let killed = 0;
    for (const { id } of left) if (await kill(connection, id, tag)) killed += 1;
    return killed;
  } catch (caught) {
    throw databaseError(caught, { database: databaseName, generation });
  } finally {
    connection.destroy();
  }
}

async function kill(connection: Connection, id: number, tag: string): Promise<boolean> {
  const [now] = await rows<{ info: string | null }>(
    connection,
    'SELECT INFO AS info FROM information_schema.PROCESSLIST WHERE ID = ?',
    [id]
  );
  if (!now?.info?.startsWith(tag)) return false;
  try {
    await connection.query('KILL CONNECTION ?', [id]);
    return true;
  } catch (caught) {
    if ((caught as { errno?: number }).errno === ER_NO_SUCH_THREAD) return false;
    throw caught;
  }
}
