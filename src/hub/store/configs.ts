import { type Connection, rows } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import type { ConfigEntry, ConfigTree } from './config-tree.ts';

/** Most entries of the configuration, and bytes of its values: it is kept in memory, and told to everybody who asks. */
const MOST: ConfigSize = { entries: 100_000, bytes: 20 * 2 ** 20 };

interface ConfigSize {
  readonly entries: number;
  readonly bytes: number;
}

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

/** Facts that a write of the configuration is checked against. */
interface KnownConfigs {
  /** Every name as it is written: `BTC`, `BTC/mainnet`, `BTC/mainnet/btc-indexer`. */
  readonly names: Set<string>;
  /** One of the spellings of each name, by its lower case. */
  readonly spellings: Map<string, string>;
  /** Its size, or more: an entry that is written anew counts twice until all are counted again. */
  most: ConfigSize;
  /** Epoch seconds of the newest change, 0 when there is none. */
  newest: number;
}

/** Knowledge of writers that alone write to their database: what they read once stays true. */
const KEPT = new WeakMap<Connection, KnownConfigs>();

/** Forgets what is kept for a writer: its writes were undone. */
export function forgetConfigs(connection: Connection): void {
  KEPT.delete(connection);
}

/** Writes as `applyConfigEdits` does, as the only writer of its database. @param nowS  epoch seconds of the change */
export async function applyAlone(connection: Connection, edits: readonly ConfigEdit[], nowS: number): Promise<void> {
  const isRemoved = edits.some(({ value }) => value === null);
  const known = isRemoved ? undefined : KEPT.get(connection);
  KEPT.delete(connection);
  KEPT.set(connection, await apply(connection, edits, { nowS, known }));
}

/**
 * Writes values and removes parameters, within the caller's transaction. No change is stamped older than one before it (the
 * clock may step back): a reader that has seen a watermark never misses a change that was committed later.
 *
 * @throws {PlatformError} REQUEST_INVALID for a name that differs from another one in case only, and for too many entries
 */
export async function applyConfigEdits(connection: Connection, edits: readonly ConfigEdit[]): Promise<void> {
  await apply(connection, edits, { nowS: null });
}

/** @param nowS  epoch seconds of the change; null: by the clock of the database */
async function apply(
  connection: Connection,
  edits: readonly ConfigEdit[],
  { nowS, known: kept }: { readonly nowS: number | null; readonly known?: KnownConfigs | undefined }
): Promise<KnownConfigs> {
  const nameOf = ({ coin, network, module, param }: ConfigEdit) => [coin, network, module, param];
  const written = edits.filter(({ value }) => value !== null);
  const removed = edits.filter(({ value }) => value === null);
  if (removed.length > 0)
    await connection.query('DELETE FROM configs WHERE (coin, network, module, param_name) IN (?)', [
      removed.map(nameOf)
    ]);
  const known = kept ?? (await readKnown(connection));
  if (written.length === 0) return known;
  addNames(known, written);
  const stamp = Math.max(nowS ?? (await clockOf(connection)), known.newest);
  await connection.query(
    `INSERT INTO configs (coin, network, module, param_name, param_value, updated_at) VALUES ?
     ON DUPLICATE KEY UPDATE
       updated_at = IF(BINARY param_value <=> BINARY VALUES(param_value), updated_at, VALUES(updated_at)),
       param_value = VALUES(param_value)`,
    [written.map((edit) => [...nameOf(edit), edit.value, stampOf(stamp)])]
  );
  known.newest = stamp;
  known.most = sumOf(known.most, sizeOf(written));
  if (!fits(known.most)) known.most = await readSize(connection);
  if (fits(known.most)) return known;
  const reason = `the configuration has ${MOST.entries} entries and ${MOST.bytes} bytes of values at most: remove some with null`;
  throw new PlatformError('REQUEST_INVALID', { reason });
}

const fits = ({ entries, bytes }: ConfigSize) => entries <= MOST.entries && bytes <= MOST.bytes;

const sumOf = (a: ConfigSize, b: ConfigSize) => ({ entries: a.entries + b.entries, bytes: a.bytes + b.bytes });

const sizeOf = (written: readonly ConfigEdit[]) => ({
  entries: written.length,
  bytes: written.reduce((sum, { value }) => sum + Buffer.byteLength(value!), 0)
});

async function readSize(connection: Connection): Promise<ConfigSize> {
  const sizes = 'SELECT COUNT(*) AS entries, COALESCE(SUM(LENGTH(param_value)), 0) AS bytes FROM configs';
  const [size] = await rows(connection, sizes);
  return { entries: Number(size!['entries']), bytes: Number(size!['bytes']) };
}

async function readKnown(connection: Connection): Promise<KnownConfigs> {
  const found = await rows<ConfigEntry & Record<string, unknown>>(
    connection,
    'SELECT DISTINCT coin, network, module FROM configs'
  );
  const names = new Set(found.flatMap(namesOf));
  const spellings = new Map([...names].map((name) => [name.toLowerCase(), name]));
  const { watermark: newest } = await selectConfigMark(connection);
  return { names, spellings, most: await readSize(connection), newest };
}

const namesOf = ({ coin, network, module }: Pick<ConfigEntry, 'coin' | 'network' | 'module'>) => [
  coin,
  `${coin}/${network}`,
  `${coin}/${network}/${module}`
];

/** Readers that look names up in any case would take one of two for the other. @throws {PlatformError} REQUEST_INVALID */
function addNames({ names, spellings }: KnownConfigs, written: readonly ConfigEdit[]): void {
  for (const name of new Set(written.flatMap(namesOf))) {
    if (names.has(name)) continue;
    const other = spellings.get(name.toLowerCase());
    if (other !== undefined) {
      const reason = `${name} differs in case only from ${other}, which the configuration has: write that, or remove it with null`;
      throw new PlatformError('REQUEST_INVALID', { reason });
    }
    names.add(name);
    spellings.set(name.toLowerCase(), name);
  }
}

async function clockOf(connection: Connection): Promise<number> {
  const [clock] = await rows(connection, 'SELECT UNIX_TIMESTAMP() AS now');
  return Number(clock!['now']);
}

/** Returns epoch seconds as MariaDB reads them: connections have the time zone UTC. */
export function stampOf(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().slice(0, 19).replace('T', ' ');
}
