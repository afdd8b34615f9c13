import { type Connection, rows } from '../../../db/connection.ts';

/** Row images that hold every integer column of a changed row. */
const IMAGES = new Set(['FULL', 'NOBLOB']);
const SETTINGS = {
  log_bin: 'log_bin',
  binlog_format: 'format',
  binlog_row_image: 'image',
  log_slave_updates: 'relays',
  gtid_slave_pos: 'replicated',
  wsrep_on: 'cluster'
} as const;

/** Global variables that say whether the log names every row. */
export const LOG_SETTINGS: readonly string[] = Object.keys(SETTINGS);

/**
 * Returns why a server's log does not name every row that changes, with the remedy; null when its settings let it.
 *
 * @param values  of LOG_SETTINGS  @param slavesRunning  connections to other servers whose changes are carried out now
 */
export function obstacleOf(values: ReadonlyMap<string, string>, slavesRunning: number): string | null {
  const value = (name: keyof typeof SETTINGS) => values.get(name) ?? '';
  if (value('log_bin') !== 'ON') return 'the server writes no binary log: start it with log_bin';
  if (value('binlog_format') !== 'ROW') return `binlog_format is ${value('binlog_format')}: set binlog_format = ROW`;
  if (!IMAGES.has(value('binlog_row_image')))
    return `binlog_row_image is ${value('binlog_row_image')}: set binlog_row_image = FULL or NOBLOB`;
  const isReplica = slavesRunning > 0 || value('gtid_slave_pos') !== '' || value('wsrep_on') === 'ON';
  if (isReplica && value('log_slave_updates') !== 'ON')
    return 'the server replicates another one and does not log those changes: start it with log_slave_updates';
  return null;
}

/**
 * Finds out what only the account's rights and the server's start decide: whether the log can be read, and leaves no database out.
 *
 * @returns the reason why not, with its remedy; null when it can be used
 */
export async function findBinlogObstacle(connection: Connection, database: string): Promise<string | null> {
  try {
    const [filter] = await rows(connection, 'SHOW MASTER STATUS');
    return filteredOut(filter, database);
  } catch (caught) {
    const { sqlMessage } = caught as { sqlMessage?: string };
    if (sqlMessage === undefined) throw caught;
    return `${sqlMessage}: GRANT BINLOG MONITOR, REPLICATION SLAVE ON *.* to this account`;
  }
}

function filteredOut(status: Record<string, unknown> | undefined, database: string): string | null {
  const list = (name: string) =>
    String(status?.[name] ?? '')
      .split(',')
      .map((entry) => entry.trim())
      .filter(Boolean);
  const only = list('Binlog_Do_DB');
  const isLeftOut = list('Binlog_Ignore_DB').length > 0 || (only.length > 0 && !only.includes(database));
  return isLeftOut ? 'binlog_do_db or binlog_ignore_db may leave changes out of the binary log: remove them' : null;
}
