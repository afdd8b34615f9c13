import { type Connection, rows } from '../../../db/connection.ts';
import { PlatformError } from '../../../errors.ts';
import { createJournalTables } from './tables.ts';

/** Time for the connection of an earlier process to end. */
const LOCK_WAIT_S = 10;

/**
 * Makes the tables of a hub's log, and takes the database for this process alone until the connection ends.
 *
 * @param set  id of the set, 64 hex digits
 * @throws {PlatformError} LOG_OUT_OF_ORDER when another process has it, its log is of another set, or the configuration was written otherwise
 */
export async function openLog(connection: Connection, set: string): Promise<void> {
  const refuse = (reason: string) => {
    throw new PlatformError('LOG_OUT_OF_ORDER', { reason });
  };
  const [lock] = await rows(connection, "SELECT GET_LOCK(CONCAT('hub log ', DATABASE()), ?) AS taken", [LOCK_WAIT_S]);
  if (Number(lock?.['taken']) !== 1) refuse('another process has the log of this database');
  await createJournalTables(connection);
  await connection.query("INSERT IGNORE INTO consensus_state (key_name, value) VALUES ('set', ?)", [set]);
  const found = await rows(
    connection,
    "SELECT key_name, value FROM consensus_state WHERE key_name IN ('set', 'last_seq')"
  );
  const state = new Map(found.map((row) => [row['key_name'], String(row['value'])]));
  if (state.get('set') !== set) refuse(`the log of this database is of the set ${state.get('set')}, not of ${set}`);
  const [log] = await rows(connection, 'SELECT COALESCE(MAX(seq), 0) AS seq FROM consensus_log');
  const seq = Number(log?.['seq']);
  const [configs] = await rows(connection, 'SELECT COUNT(*) AS entries FROM configs');
  if (seq === 0 && Number(configs?.['entries']) > 0)
    refuse(
      'its configuration was written before it was of a set: start with an empty database, and write it by updateconfig'
    );
  if (seq > 0 && Number(state.get('last_seq') ?? 0) !== seq)
    refuse(
      `its last write is ${state.get('last_seq')}, the last batch of its log ${seq}: it was written to in standalone mode`
    );
}
