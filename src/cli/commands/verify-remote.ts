import { setTimeout as sleep } from 'node:timers/promises';
import Type from 'typebox';
import { type Connection, connect, statementTag } from '../../db/connection.ts';
import { hasCode, PlatformError } from '../../errors.ts';
import { SourceClient } from '../../replication/client/source-client.ts';
import type { Comparison } from '../../replication/replica/compare/comparison.ts';
import { DigestComparison } from '../../replication/replica/compare/digest-compare.ts';
import { repair } from '../../replication/replica/compare/repair.ts';
import { readReplicaSchema } from '../../replication/replica/database/schema.ts';
import { isMarked, readReplicaState, writeReplicaState } from '../../replication/replica/database/state.ts';
import { openWriter } from '../../replication/replica/database/writer-connection.ts';
import { parseDatabaseUrl } from '../../verify/side.ts';
import { ByName } from '../../wire/by-name.ts';
import { type DatabaseCoordinates, type DatabaseId, DB_TYPES, NAME_PATTERN } from '../../wire/data/database.ts';
import { INFRA_TABLES } from '../../wire/data/messages.ts';
import { shapeOf } from '../../wire/data/shape.ts';

/** Most attempts to find a replica at its source's height: a replica that follows gets there between two blocks. */
const TRIES = 40;
const PAUSE_MS = 250;
const LOCK_PATIENCE_S = 1;
/** Most rounds of repair in one run. */
const MAX_ROUNDS = 100;

/** Epoch length under which a repair commits no epoch: only the client knows the replica's. */
const NO_EPOCHS = Number.MAX_SAFE_INTEGER;

/** Options of a comparison over the network. */
interface RemoteOptions {
  /** URL of a sync server, `http://host:3006`. */
  readonly source: string;
  /** mysql:// URL of the replica. */
  readonly replica: string;
  readonly key: string | undefined;
  /** Database at the source, as `indexer/bitcoin/mainnet`; undefined when the source serves only one. */
  readonly database: string | undefined;
  readonly table: string | undefined;
  readonly local: readonly string[];
  readonly repair: boolean;
  /** Whether AUTO_INCREMENT ids are compared in every table. */
  readonly ids: boolean;
}

/** The difference in one table: rows to delete, rows to add, and the bytes to fetch for them. */
interface RemoteDifference {
  readonly table: string;
  readonly ranges: number;
  readonly surplus: number;
  readonly missing: number;
  readonly bytes: number;
}

/** Result of a comparison over the network. */
interface RemoteVerdict {
  readonly equal: boolean;
  /** Null when replica and source were never found at the same block. */
  readonly height: number | null;
  readonly heights: { readonly source: number | null; readonly replica: number | null };
  /** Size of the compared tables at the source; null when nothing was compared. */
  readonly compared: { readonly tables: number; readonly rows: number } | null;
  readonly differences: readonly RemoteDifference[];
  /** Further tables that differ. Their rows are compared once the tables that they belong to are equal. */
  readonly waiting: readonly string[];
  readonly repaired: boolean;
}

type Different = Extract<Comparison, { kind: 'different' }>;

/**
 * Compares a replica with a sync server by digests, and repairs it when asked to.
 *
 * @throws {PlatformError} COMMAND_INVALID, REPLICA_LOCKED, DATABASE_UNUSABLE, and the errors of the source
 */
export async function verifyRemote(options: RemoteOptions): Promise<RemoteVerdict> {
  const to = parseDatabaseUrl(options.replica);
  const id = await findDatabase(options);
  await using open = new AsyncDisposableStack();
  const writer = options.repair ? open.adopt(await openForRepair(to), (each) => each.destroy()) : undefined;
  const reader = open.adopt(await connect(to, { tag: statementTag(to.name, 0) }), (each) => each.destroy());
  const source = open.adopt(new SourceClient(options.source, options.key, id), (each) => each.close());
  return await compareAndRepair(writer ?? reader, reader, source, options);
}

/** Opens the writer's connection. Its lock shows whether a client is running. */
async function openForRepair(to: DatabaseCoordinates): Promise<Connection> {
  try {
    return await openWriter(to, { generation: 0, lockPatienceS: LOCK_PATIENCE_S });
  } catch (caught) {
    if (!hasCode(caught, 'REPLICA_LOCKED')) throw caught;
    const reason = `${String(caught.detail['reason'])}; stop it first, or let it find and repair the difference by itself`;
    throw new PlatformError('REPLICA_LOCKED', { reason, database: to.name });
  }
}

async function compareAndRepair(
  writer: Connection,
  reader: Connection,
  source: SourceClient,
  { local, table, repair: wanted, ids: allIds }: RemoteOptions
): Promise<RemoteVerdict> {
  if (!(await isMarked(reader)))
    throw new PlatformError('DATABASE_UNUSABLE', { reason: 'the database is not a replica that this client made' });
  const { infraOnly } = await readReplicaState(reader);
  const schema = await readReplicaSchema(reader, source.id.dbType, local, infraOnly ? INFRA_TABLES : null);
  const comparison = new DigestComparison(reader, schema, source, { only: table, allIds });
  const differences = new Map<string, RemoteDifference>();
  let found = await compareAtOneHeight(comparison);
  for (let round = 0; found.kind === 'different'; round++) {
    for (const each of found.tables) note(differences, each);
    if (!wanted || round === MAX_ROUNDS) break;
    await repair(writer, { schema, epochSize: NO_EPOCHS }, found.height, found.tables);
    found = await comparison.recheck(found);
  }
  if (found.kind === 'equal' && wanted && table === undefined) {
    const { ids } = await readReplicaState(writer);
    const verified = { verifiedHeight: found.height, verifiedAt: new Date().toISOString() };
    await writeReplicaState(writer, { ...verified, ids: { ...ids, own: found.ownIds } });
  }
  const sourceTables =
    found.kind === 'elsewhere' ? null : found.sourceDigest.tables.filter((each) => comparison.covers(each));
  return {
    equal: found.kind === 'equal',
    compared: sourceTables && {
      tables: sourceTables.length,
      rows: sourceTables.reduce((sum, { rows }) => sum + rows, 0)
    },
    height: found.kind === 'elsewhere' ? null : found.height,
    heights: { source: found.kind === 'elsewhere' ? found.sourceHeight : found.height, replica: found.height },
    differences: [...differences.values()],
    waiting: found.kind === 'different' ? found.more : [],
    repaired: wanted && found.kind === 'equal' && differences.size > 0
  };
}

async function compareAtOneHeight(comparison: DigestComparison): Promise<Comparison> {
  for (let left = TRIES; ; left--) {
    const found = await comparison.compare();
    if (found.kind !== 'elsewhere' || left === 0) return found;
    await sleep(PAUSE_MS);
  }
}

function note(
  into: Map<string, RemoteDifference>,
  { table, spans, surplus, missing, bytes }: Different['tables'][number]
): void {
  const before = into.get(table);
  into.set(table, {
    table,
    ranges: (before?.ranges ?? 0) + spans.length,
    surplus: (before?.surplus ?? 0) + surplus.length,
    missing: (before?.missing ?? 0) + missing.length,
    bytes: (before?.bytes ?? 0) + bytes
  });
}

const isTree = shapeOf(ByName(ByName(ByName(Type.Unknown()))));
const MAX_NAMED = 20;

/** Returns the named database, or the only one that the source serves. */
async function findDatabase({ source, key, database }: RemoteOptions): Promise<DatabaseId> {
  if (database !== undefined) return parseDatabaseId(database);
  const client = new SourceClient(source, key, { dbType: 'indexer', chain: '', network: '' });
  const { last_updated: _, ...tree } = await client.statusTree().finally(() => client.close());
  if (!isTree.Check(tree))
    throw new PlatformError('SOURCE_INVALID', { reason: `${source} does not list its databases` });
  const names = Object.entries(tree).flatMap(([chain, networks]) =>
    Object.entries(networks).flatMap(([network, types]) =>
      Object.keys(types).map((type) => `${type}/${chain}/${network}`)
    )
  );
  if (names.length === 1) return parseDatabaseId(names[0]!);
  const list = names.slice(0, MAX_NAMED).join(', ');
  throw new PlatformError('COMMAND_INVALID', {
    reason: `--database must name one of ${list || 'none: the server has no database'}`
  });
}

function parseDatabaseId(text: string): DatabaseId {
  const [dbType = '', chain = '', network = '', ...rest] = text.split('/');
  const name = new RegExp(NAME_PATTERN);
  const type = DB_TYPES.find((known) => known === dbType);
  if (!type || !name.test(chain) || !name.test(network) || rest.length > 0)
    throw new PlatformError('COMMAND_INVALID', { reason: '--database must have the form indexer/bitcoin/mainnet' });
  return { dbType: type, chain, network };
}

/** Returns a verdict as text. */
export function renderRemoteVerdict(verdict: RemoteVerdict): string {
  const { equal, height, heights, compared, differences, waiting, repaired } = verdict;
  if (height === null) {
    return `NOT COMPARED: the source is at block ${heights.source}, the replica at block ${heights.replica}`;
  }
  const word = equal ? (repaired ? 'REPAIRED, now EQUAL' : 'EQUAL') : 'DIFFERENT';
  const lines = [
    `${word} at block ${height}: ${counted(compared!.tables, 'table')}, ${counted(compared!.rows, 'row')}`
  ];
  for (const each of differences) lines.push(`  ${each.table}: ${effect(each, repaired)}`);
  for (const table of waiting)
    lines.push(`  ${table}: differs; compared once the tables that its rows belong to are equal`);
  const sum = (of: 'surplus' | 'missing' | 'bytes' | 'ranges') => differences.reduce((all, each) => all + each[of], 0);
  const all = {
    table: '',
    ranges: sum('ranges'),
    surplus: sum('surplus'),
    missing: sum('missing'),
    bytes: sum('bytes')
  };
  if (differences.length > 1) lines.push(`  together: ${effect(all, repaired)}`);
  return lines.join('\n');
}

function effect({ table, ranges, surplus, missing, bytes }: RemoteDifference, done: boolean): string {
  // The log is rewritten from the replica's own blocks, without a download.
  if (table === 'sync_meta') return `${done ? '' : 'to be '}rewritten from the blocks, in ${counted(ranges, 'range')}`;
  const to = done ? ['removed', 'added', 'moved'] : ['to remove', 'to add', 'to move'];
  return `${counted(surplus, 'row')} ${to[0]}, ${missing} ${to[1]}, ${counted(bytes, 'byte')} ${to[2]}, in ${counted(ranges, 'range')}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
