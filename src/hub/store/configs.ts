import { type Connection, rows } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import type { ConfigEntry, ConfigTree } from './config-tree.ts';

/** Most entries of the configuration: it is kept in memory, and told to everybody who asks. */
const MOST_ENTRIES = 20_000;

/** Mark that every write of the configuration moves. */
export interface ConfigMark {
  /** Number of the last committed write. */
  readonly seq: number;
  /** Epoch seconds of the newest change, 0 when there is none. */
  readonly watermark: number;
}

/** Head of the configuration, for a reader of changes. */
interface ConfigHead extends ConfigMark {
  /** Entries of the whole configuration, by which a reader of changes notices that one was removed. */
  readonly entries: number;
}

/** Result of `getallconfigs`. */
export interface ConfigEnvelope extends ConfigHead {
  readonly configs: ConfigTree;
}

/** The whole configuration. */
export interface ConfigState {
  readonly head: ConfigHead;
  /** By coin, network, module and parameter; `changedAt` in epoch seconds. */
  readonly entries: readonly (ConfigEntry & { readonly changedAt: number })[];
}

/** One parameter's new value; null removes it. */
export type ConfigEdit = Omit<ConfigEntry, 'value'> & { readonly value: string | null };

/** Returns the present mark without reading the configuration. */
export async function selectConfigMark(connection: Connection): Promise<ConfigMark> {
  const [mark] = await rows(
    connection,
    `SELECT (SELECT COALESCE(UNIX_TIMESTAMP(MAX(updated_at)), 0) FROM configs) AS watermark,
            (SELECT value FROM consensus_state WHERE key_name = 'last_seq') AS seq`
  );
  return { seq: Number(mark?.['seq'] ?? 0), watermark: Number(mark?.['watermark'] ?? 0) };
}

/** Returns the number of entries of the configuration. */
export async function countConfigs(connection: Connection): Promise<number> {
  const [counted] = await rows<{ entries: number }>(connection, 'SELECT COUNT(*) AS entries FROM configs');
  return Number(counted?.entries ?? 0);
}

/** Reads the whole configuration. The caller's transaction makes head and entries one state. */
export async function selectConfigState(connection: Connection): Promise<ConfigState> {
  const mark = await selectConfigMark(connection);
  const found = await rows<ConfigEntry & { changedAt: number } & Record<string, unknown>>(
    connection,
    `SELECT coin, network, module, param_name AS param, param_value AS value, UNIX_TIMESTAMP(updated_at) AS changedAt
       FROM configs ORDER BY coin, network, module, param_name`
  );
  const entries = found.map((entry) => ({ ...entry, changedAt: Number(entry.changedAt) }));
  return { head: { ...mark, entries: entries.length }, entries };
}

/**
 * Writes values and removes parameters, within the caller's transaction. No change is stamped older than one before it (the
 * clock may step back): a reader that has seen a watermark never misses a change that was committed later.
 *
 * @param nowS  epoch seconds of the change; null: by the clock of the database
 * @throws {PlatformError} REQUEST_INVALID for a name that differs from another one in case only, and for too many entries
 */
export async function applyConfigEdits(
  connection: Connection,
  edits: readonly ConfigEdit[],
  nowS: number | null = null
): Promise<void> {
  const nameOf = ({ coin, network, module, param }: ConfigEdit) => [coin, network, module, param];
  const written = edits.filter(({ value }) => value !== null);
  const removed = edits.filter(({ value }) => value === null);
  const before = await selectModules(connection);
  if (removed.length > 0)
    await connection.query('DELETE FROM configs WHERE (coin, network, module, param_name) IN (?)', [
      removed.map(nameOf)
    ]);
  if (written.length === 0) return;
  const [now] = await rows(
    connection,
    'SELECT GREATEST(now, COALESCE(MAX(updated_at), now)) AS stamp FROM (SELECT COALESCE(FROM_UNIXTIME(?), NOW()) AS now) AS clock LEFT JOIN configs ON TRUE GROUP BY now',
    [nowS]
  );
  await connection.query(
    `INSERT INTO configs (coin, network, module, param_name, param_value, updated_at) VALUES ?
     ON DUPLICATE KEY UPDATE
       updated_at = IF(BINARY param_value <=> BINARY VALUES(param_value), updated_at, VALUES(updated_at)),
       param_value = VALUES(param_value)`,
    [written.map((edit) => [...nameOf(edit), edit.value, now?.['stamp']])]
  );
  checkSpelling(before, await selectModules(connection));
  if ((await countConfigs(connection)) <= MOST_ENTRIES) return;
  const reason = `the configuration has ${MOST_ENTRIES} entries at most: remove some with null`;
  throw new PlatformError('REQUEST_INVALID', { reason });
}

/** Reads every name: `BTC`, `BTC/mainnet`, `BTC/mainnet/btc-indexer`. */
async function selectModules(connection: Connection): Promise<ReadonlySet<string>> {
  const found = await rows<ConfigEntry & Record<string, unknown>>(
    connection,
    'SELECT DISTINCT coin, network, module FROM configs ORDER BY coin, network, module'
  );
  return new Set(
    found.flatMap(({ coin, network, module }) => [coin, `${coin}/${network}`, `${coin}/${network}/${module}`])
  );
}

/** Readers that look names up in any case would take one of two for the other. */
function checkSpelling(before: ReadonlySet<string>, after: ReadonlySet<string>): void {
  const known = new Map([...after].filter((name) => before.has(name)).map((name) => [name.toLowerCase(), name]));
  for (const name of after) {
    const other = known.get(name.toLowerCase()) ?? name;
    known.set(name.toLowerCase(), other);
    if (name === other || before.has(name)) continue;
    const reason = `${name} differs in case only from ${other}, which the configuration has: write that, or remove it with null`;
    throw new PlatformError('REQUEST_INVALID', { reason });
  }
}
