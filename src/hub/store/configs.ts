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
  /** Bytes of the value of each entry, by its whole name: `BTC/mainnet/btc-indexer/host`. */
  readonly lengths: Map<string, number>;
  /** Entries below each name as it is written: `BTC`, `BTC/mainnet`, `BTC/mainnet/btc-indexer`. */
  readonly names: Map<string, number>;
  /** Spellings of each of these, by its lower case. */
  readonly spellings: Map<string, readonly string[]>;
  /** Bytes of all values. */
  bytes: number;
  /** Epoch seconds of the newest change, 0 when there is none. */
  newest: number;
}

/** Outcome of a write that is not made yet. */
interface ConfigChange {
  /** Bytes of the new value of each entry that it writes, by its whole name; null for one that it removes. */
  readonly lengths: ReadonlyMap<string, number | null>;
  /** Entries by which each name has more, or fewer. */
  readonly names: ReadonlyMap<string, number>;
  /** Bytes by which all values are longer. */
  readonly bytes: number;
}

/** Knowledge of writers that alone write to their database: what they read once stays true. */
const KEPT = new WeakMap<Connection, KnownConfigs>();

/** Forgets what is kept for a writer: its writes were undone. */
export function forgetConfigs(connection: Connection): void {
  KEPT.delete(connection);
}

/**
 * Writes as `applyConfigEdits` does, as the only writer of its database. What is refused costs the database nothing: one that lies may ask
 * for that a thousand times in a batch.
 *
 * @param nowS  epoch seconds of the change
 * @param brought  part of a configuration that a hub had before its set: `first` is refused where the set has entries, `more` changes
 *   none of them
 */
export async function applyAlone(
  connection: Connection,
  edits: readonly ConfigEdit[],
  nowS: number,
  brought: 'first' | 'more' | null = null
): Promise<void> {
  const known = KEPT.get(connection) ?? (await readKnown(connection));
  KEPT.set(connection, known);
  if (brought === 'first' && known.lengths.size > 0)
    throw new PlatformError('REQUEST_INVALID', { reason: 'the set has a configuration' });
  const taken = brought === 'more' ? edits.filter((edit) => isFree(known, edit)) : edits;
  const change = judge(known, taken);
  KEPT.delete(connection);
  const newest = await write(connection, taken, { known, nowS });
  take(known, change);
  KEPT.set(connection, Object.assign(known, { newest }));
}

/** Returns whether the configuration has no such entry, and no name that differs from one of its names in case only. */
function isFree({ lengths, names, spellings }: KnownConfigs, edit: ConfigEdit): boolean {
  if (lengths.has(entryOf(edit))) return false;
  return namesOf(edit).every((name) => names.has(name) || !spellings.has(name.toLowerCase()));
}

/**
 * Writes values and removes parameters, within the caller's transaction. No change is stamped older than one before it (the
 * clock may step back): a reader that has seen a watermark never misses a change that was committed later.
 *
 * @throws {PlatformError} REQUEST_INVALID for a name that differs from another one in case only, and for too many entries
 */
export async function applyConfigEdits(connection: Connection, edits: readonly ConfigEdit[]): Promise<void> {
  const known = await readKnown(connection);
  judge(known, edits);
  await write(connection, edits, { known, nowS: await clockOf(connection) });
}

/**
 * Returns what a write changes: first it removes, then it writes.
 *
 * @throws {PlatformError} REQUEST_INVALID for a name that differs from another one in case only, and for too many entries
 */
function judge(known: KnownConfigs, edits: readonly ConfigEdit[]): ConfigChange {
  const lengths = new Map<string, number | null>();
  const names = new Map<string, number>();
  const spelled = new Map<string, string>();
  let bytes = 0;
  const lengthOf = (entry: string) => (lengths.has(entry) ? lengths.get(entry) : known.lengths.get(entry)) ?? null;
  const put = (edit: ConfigEdit, length: number | null) => {
    const entry = entryOf(edit);
    const before = lengthOf(entry);
    lengths.set(entry, length);
    bytes += (length ?? 0) - (before ?? 0);
    const more = Number(length !== null) - Number(before !== null);
    if (more !== 0) for (const name of namesOf(edit)) names.set(name, (names.get(name) ?? 0) + more);
  };
  const isThere = (name: string) => (known.names.get(name) ?? 0) + (names.get(name) ?? 0) > 0;
  for (const edit of edits) if (edit.value === null) put(edit, null);
  const written = edits.filter(({ value }) => value !== null);
  for (const edit of written) {
    for (const name of namesOf(edit)) {
      if (isThere(name)) continue;
      const small = name.toLowerCase();
      const other = spelled.get(small) ?? known.spellings.get(small)?.find(isThere);
      if (other !== undefined && other !== name) {
        const reason = `${name} differs in case only from ${other}, which the configuration has: write that, or remove it with null`;
        throw new PlatformError('REQUEST_INVALID', { reason });
      }
      spelled.set(small, name);
    }
    put(edit, Buffer.byteLength(edit.value!));
  }
  const added = [...lengths].reduce(
    (sum, [entry, length]) => sum + Number(length !== null) - Number(known.lengths.has(entry)),
    0
  );
  if (written.length > 0 && !fits({ entries: known.lengths.size + added, bytes: known.bytes + bytes })) {
    const reason = `the configuration has ${MOST.entries} entries and ${MOST.bytes} bytes of values at most: remove some with null`;
    throw new PlatformError('REQUEST_INVALID', { reason });
  }
  return { lengths, names, bytes };
}

/** Makes a change to what is known. */
function take(known: KnownConfigs, { lengths, names, bytes }: ConfigChange): void {
  for (const [entry, length] of lengths)
    if (length === null) known.lengths.delete(entry);
    else known.lengths.set(entry, length);
  known.bytes += bytes;
  for (const [name, more] of names) count(known, name, more);
}

/** Counts entries of a name, and its spelling while it has some. */
function count({ names, spellings }: Pick<KnownConfigs, 'names' | 'spellings'>, name: string, more: number): void {
  const before = names.get(name) ?? 0;
  const small = name.toLowerCase();
  const others = () => (spellings.get(small) ?? []).filter((other) => other !== name);
  if (before + more > 0) {
    names.set(name, before + more);
    if (before === 0) spellings.set(small, [...others(), name]);
    return;
  }
  names.delete(name);
  const left = others();
  if (left.length === 0) spellings.delete(small);
  else spellings.set(small, left);
}

/** Writes to the database what was judged. @returns epoch seconds of the newest change */
async function write(
  connection: Connection,
  edits: readonly ConfigEdit[],
  { known, nowS }: { readonly known: KnownConfigs; readonly nowS: number }
): Promise<number> {
  const nameOf = ({ coin, network, module, param }: ConfigEdit) => [coin, network, module, param];
  const written = edits.filter(({ value }) => value !== null);
  const removed = edits.filter((edit) => edit.value === null && known.lengths.has(entryOf(edit)));
  if (removed.length > 0)
    await connection.query('DELETE FROM configs WHERE (coin, network, module, param_name) IN (?)', [
      removed.map(nameOf)
    ]);
  if (written.length === 0) return known.newest;
  const stamp = Math.max(nowS, known.newest);
  await connection.query(
    `INSERT INTO configs (coin, network, module, param_name, param_value, updated_at) VALUES ?
     ON DUPLICATE KEY UPDATE
       updated_at = IF(BINARY param_value <=> BINARY VALUES(param_value), updated_at, VALUES(updated_at)),
       param_value = VALUES(param_value)`,
    [written.map((edit) => [...nameOf(edit), edit.value, stampOf(stamp)])]
  );
  return stamp;
}

const fits = ({ entries, bytes }: ConfigSize) => entries <= MOST.entries && bytes <= MOST.bytes;

async function readKnown(connection: Connection): Promise<KnownConfigs> {
  const found = await rows<Omit<ConfigEntry, 'value'> & { readonly length: number } & Record<string, unknown>>(
    connection,
    'SELECT coin, network, module, param_name AS param, LENGTH(param_value) AS length FROM configs'
  );
  const { watermark: newest } = await selectConfigMark(connection);
  const known: KnownConfigs = { lengths: new Map(), names: new Map(), spellings: new Map(), bytes: 0, newest };
  for (const row of found) {
    known.lengths.set(entryOf(row), Number(row.length));
    known.bytes += Number(row.length);
    for (const name of namesOf(row)) count(known, name, 1);
  }
  return known;
}

const entryOf = ({ coin, network, module, param }: Omit<ConfigEntry, 'value'>) =>
  `${coin}/${network}/${module}/${param}`;

const namesOf = ({ coin, network, module }: Pick<ConfigEntry, 'coin' | 'network' | 'module'>) => [
  coin,
  `${coin}/${network}`,
  `${coin}/${network}/${module}`
];

async function clockOf(connection: Connection): Promise<number> {
  const [clock] = await rows(connection, 'SELECT UNIX_TIMESTAMP() AS now');
  return Number(clock!['now']);
}

/** Returns epoch seconds as MariaDB reads them: connections have the time zone UTC. */
export function stampOf(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().slice(0, 19).replace('T', ' ');
}
