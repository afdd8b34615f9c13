import { type Connection, rows } from '../../../db/connection.ts';

/** Row images that hold every integer column of a changed row. */
const IMAGES = new Set(['FULL', 'NOBLOB']);
const SETTINGS = {
  log_bin: 'log_bin',
  binlog_format: 'format',
  binlog_row_image: 'image',
  log_slave_updates: 'relays',
  gtid_slave_pos: 'replicated',
  lower_case_table_names: 'names',
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
  if (value('lower_case_table_names') === '2')
    return 'lower_case_table_names is 2: the log has names as each statement writes them';
  const isReplica = slavesRunning > 0 || value('gtid_slave_pos') !== '' || value('wsrep_on') === 'ON';
  if (isReplica && value('log_slave_updates') !== 'ON')
    return 'the server replicates another one and does not log those changes: start it with log_slave_updates';
  return null;
}

/** Reads the name of the connection's database as the log has it: a server that keeps names in lower case takes any other for it. */
export async function readLoggedName(connection: Connection): Promise<string> {
  const [found] = await rows<{ name: string }>(
    connection,
    'SELECT IF(@@lower_case_table_names = 0, DATABASE(), LOWER(DATABASE())) AS name'
  );
  return found!.name;
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
