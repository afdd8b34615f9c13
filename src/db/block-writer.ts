import { epochOf } from '../consensus/epoch-tree.ts';
import { PlatformError } from '../errors.ts';
import type { SnapshotBatch } from '../snapshot/snapshot-reader.ts';
import { type BlockHashes, sameBlock } from '../wire/database.ts';
import type { BlockMessage, WireRow, WireRows } from '../wire/messages.ts';
import { type BlockHead, readBlockHeads } from './block-hashes.ts';
import { strayScope } from './classify.ts';
import { type Connection, databaseError, rows } from './connection.ts';
import { deriveBalances, deriveTouched } from './derived-balances.ts';
import { canonicalRows, GroupTransaction, type Merge, type Span } from './group-transaction.ts';
import {
  type CanonicalRow,
  canonicalRow,
  findTable,
  keyText,
  type ReplicaSchema,
  type ReplicaTable,
  travels
} from './replica-schema.ts';
import { type ReplicaState, writeReplicaState } from './replica-state.ts';
import { SinceApplication } from './since-application.ts';
import { StatementBatch, type Statements, write } from './statement-batch.ts';
import { TouchedBalances } from './touched-balances.ts';
import { commitEpoch, type LoggedBlock, recordBlocks } from './transparency-log.ts';
import { pruneJournal, UndoJournal } from './undo-journal.ts';

/** What a replica's writer needs beside its connection. */
export interface WriterContext {
  readonly schema: ReplicaSchema;
  readonly maxRollbackDepth: number;
  readonly epochSize: number;
  /** Absent where nothing is to be compared before it is durable. */
  readonly examiner?: GroupExaminer;
}

/** The roots that a source names for the last block of a group; null where it has none. */
export interface ClaimedRoots {
  readonly balances_root: string | null;
  readonly block_merkle_root: string | null;
}

/** Looks at what a group did before it is durable. */
export interface GroupExaminer {
  /** @throws whatever the group is to be given up for */
  examine(
    connection: Statements,
    schema: ReplicaSchema,
    group: { readonly span: Span; readonly touched: TouchedBalances; readonly claimed: ClaimedRoots | null }
  ): Promise<void>;
  /** How the group that was examined ended; also called when it was not examined. */
  settle(committed: boolean): Promise<void>;
}

/** The blocks of a group as its source names them, and what the marker says when it is applied. */
export interface GroupTarget extends Span {
  readonly hashes: BlockHashes;
  readonly source: string;
  readonly complete: boolean;
  readonly phase: ReplicaState['phase'];
}

/** Heights of which hashes are read at once. */
const HEADS_PAGE = 1_000;
const DUPLICATE_KEY = 1062;
/** NULL where it may not be, out of range, cut, no such value of the type, without its parent, against a CHECK. */
const UNFIT = new Set([1048, 1264, 1265, 1292, 1364, 1366, 1406, 1452, 4025]);
/** Markers above whose height no row stands: the writer knows it of those that it left itself, not of one that was read. */
const BARE = new WeakSet<ReplicaState>();

/**
 * Applies the messages of one group in one transaction, with its undo images; `sync_state.height` is the last block then.
 *
 * @returns the marker as it stands then
 * @throws {PlatformError} REPLICA_MOVED, ROW_CONTRADICTION, SOURCE_INVALID, DATABASE_UNAVAILABLE; the connection is destroyed then
 */
export function applyBlocks(
  connection: Connection,
  context: WriterContext,
  before: ReplicaState,
  target: GroupTarget,
  messages: readonly BlockMessage[]
): Promise<ReplicaState> {
  const { balances_root = null, block_merkle_root = null } = messages.at(-1) ?? {};
  const claimed = { balances_root, block_merkle_root };
  return applyGroup(connection, context, before, { ...target, claimed }, async (group, batch) => {
    for (const message of messages) await replaceOlder(group, context.schema, message);
    for (const message of messages) {
      // What a truncated replica holds of credits and debits does not add up to a balance.
      const derives = !message.group && before.floor === null;
      await applyMessage(group, context.schema, message, derives);
      if (derives) await deriveBalances(batch, group, context.schema, message.data);
    }
    return messages.map((message) => ({ height: message.block_index, hashes: message as unknown as BlockHashes }));
  });
}

/** A since-snapshot, as its headers and its request describe it. */
export interface SinceContent {
  readonly batches: AsyncIterable<SnapshotBatch>;
  /** Tables of which it holds every row. */
  readonly whole: ReadonlySet<string>;
  /** It holds the rows of blocks from here on; those below the group replace what the replica has of these blocks. */
  readonly from: number;
  /** It has no derived rows, or not all: they are what credits and debits of the touched keys add up to. */
  readonly derives?: boolean;
}

/** Applies a since-snapshot as one group. @returns, @throws as `applyBlocks` */
export function applySince(
  connection: Connection,
  context: WriterContext,
  before: ReplicaState,
  target: GroupTarget,
  content: SinceContent
): Promise<ReplicaState> {
  return applyGroup(connection, context, before, target, async (group, batch) => {
    const application = new SinceApplication(group, context.schema, target, content);
    await application.run();
    if (content.from < target.first) await checkBranch(batch, context.schema, before);
    if (content.derives) {
      for (const [table, touched] of application.touched()) await deriveTouched(batch, group, table, touched);
    }
    return [{ height: target.last, hashes: target.hashes }];
  });
}

/** A since-snapshot repeats the replica's tip: with other hashes it is of another branch, and does not say what is to be undone. */
async function checkBranch(
  connection: Statements,
  { heads }: ReplicaSchema,
  { height, hashes }: ReplicaState
): Promise<void> {
  if (!heads || height === null || hashes === null) return;
  const [head] = await readBlockHeads(connection, heads, height, height);
  if (head && sameBlock(head.hashes, hashes)) return;
  const reason = `the source left the branch of block ${height} while it was read`;
  throw new PlatformError('ROW_CONTRADICTION', { reason, forked: true });
}

type Claim = { readonly height: number; readonly hashes: BlockHashes };

async function applyGroup(
  connection: Connection,
  { schema, maxRollbackDepth, epochSize, examiner }: WriterContext,
  before: ReplicaState,
  target: GroupTarget & { readonly claimed?: ClaimedRoots },
  change: (group: GroupTransaction, connection: Statements) => Promise<readonly Claim[]>
): Promise<ReplicaState> {
  const { first, last, source, phase, complete, claimed = null } = target;
  const touched = new TouchedBalances();
  try {
    const batch = new StatementBatch(connection);
    await write(batch, 'BEGIN');
    const journal = new UndoJournal(batch, first, last);
    await journal.open({ height: first - 1, blockTime: before.blockTime, hashes: before.hashes });
    const group = new GroupTransaction(batch, schema, journal, target, touched);
    const apply = async () => {
      if (!BARE.has(before)) await group.clearSpan();
      return change(group, batch);
    };
    const [, claims] = await Promise.all([moveHeight(batch, before.height, last), apply()]);
    await journal.flush();
    const tip = await checkHeads(batch, schema, target, claims, epochSize);
    await pruneJournal(batch, last - maxRollbackDepth);
    const { blockTime, hashes } = tip;
    await writeReplicaState(batch, { blockTime, hashes, source, phase, complete });
    await examiner?.examine(batch, schema, { span: { first, last }, touched, claimed });
    await batch.query('COMMIT');
    await examiner?.settle(true);
    const after = { ...before, height: last, blockTime, hashes, source, phase, complete };
    if (!group.isAhead) BARE.add(after);
    return after;
  } catch (caught) {
    connection.destroy();
    await examiner?.settle(false);
    const { errno = 0, message } = caught as Error & { errno?: number };
    if (errno === DUPLICATE_KEY) {
      const reason = `a row of blocks ${first} to ${last} contradicts the replica: ${message}`;
      throw new PlatformError('ROW_CONTRADICTION', { reason }, { cause: caught });
    }
    if (UNFIT.has(errno)) {
      const reason = `a row of blocks ${first} to ${last} does not fit its table: ${message}`;
      throw new PlatformError('SOURCE_INVALID', { reason, errno }, { cause: caught });
    }
    throw databaseError(caught, { blocks: `${first}-${last}` });
  }
}

/** Also what makes a second writer fail: exactly one row must be where we left it. */
async function moveHeight(connection: Statements, expected: number | null, height: number): Promise<void> {
  const [result] = await connection.query('UPDATE sync_state SET height = ? WHERE id = 1 AND height <=> ?', [
    height,
    expected
  ]);
  if ((result as { affectedRows: number }).affectedRows === 1) return;
  const [row] = await rows(connection, 'SELECT height FROM sync_state WHERE id = 1');
  const reason = `the replica stands at block ${row?.['height'] ?? 'none'}, this writer left it at ${expected ?? 'none'}`;
  throw new PlatformError('REPLICA_MOVED', { reason });
}

/** The blocks that are there now must be without a gap and the ones that the source named. They become the transparency log. */
async function checkHeads(
  connection: Statements,
  schema: ReplicaSchema,
  { first, last, hashes }: GroupTarget,
  claims: readonly Claim[],
  epochSize: number
): Promise<BlockHead> {
  if (schema.only) return { height: last, blockTime: null, hashes, commitments: null };
  if (!schema.heads) throw new PlatformError('DATABASE_UNUSABLE', { reason: 'the replica has no table blocks' });
  const claimed = new Map(claims.map(({ height, hashes }) => [height, hashes]));
  let tip: BlockHead | undefined;
  for (let from = first; from <= last; from += HEADS_PAGE) {
    const to = Math.min(last, from + HEADS_PAGE - 1);
    const heads = await readBlockHeads(connection, schema.heads, from, to);
    for (const [index, head] of heads.entries()) {
      if (head.height !== from + index) throw badBlock(from + index, 'is missing');
      const claim = claimed.get(head.height);
      if (claim && !sameBlock(pickHashes(claim, head.hashes), head.hashes))
        throw badBlock(head.height, 'has other hashes than its rows');
    }
    if (heads.length !== to - from + 1) throw badBlock(from + heads.length, 'is missing');
    if (schema.heads.dbType === 'indexer') await logBlocks(connection, heads as readonly LoggedBlock[], epochSize);
    tip = heads.at(-1);
  }
  return tip!;
}

function pickHashes(from: BlockHashes, like: BlockHashes): BlockHashes {
  const source = from as Record<string, string | null | undefined>;
  return Object.fromEntries(Object.keys(like).map((name) => [name, source[name] ?? null])) as unknown as BlockHashes;
}

function badBlock(height: number, what: string): PlatformError {
  return new PlatformError('SOURCE_INVALID', { reason: `block ${height} of the source ${what}`, block: height });
}

/** Records blocks in the replica's transparency log, and commits the epochs that end in them. */
export async function logBlocks(
  connection: Statements,
  heads: readonly LoggedBlock[],
  epochSize: number
): Promise<void> {
  await recordBlocks(connection, heads);
  for (const { height } of heads) {
    if (height > 0 && height % epochSize === 0) await commitEpoch(connection, epochOf(height, epochSize), epochSize);
  }
}

/** The tables of some rows, parents first. */
function* ordered(schema: ReplicaSchema, given: WireRows | undefined): Generator<[ReplicaTable, WireRow[]]> {
  if (!given) return;
  for (const name of Object.keys(given)) if (!CONTROL.has(name)) findTable(schema, name);
  for (const table of schema.tables) {
    const list = Object.hasOwn(given, table.name) ? given[table.name] : undefined;
    if (list && travels(table) && table.plan.class !== 'snapshotOnly') yield [table, list];
  }
}

const CONTROL = new Set(['sync_meta', 'merkle_epochs']);

/**
 * Makes the rows of older blocks what a message says they are, before new ones come: those may take the key of one that goes.
 */
async function replaceOlder(group: GroupTransaction, schema: ReplicaSchema, message: BlockMessage): Promise<void> {
  const { data, rescoped = {} } = message;
  if (Object.keys(rescoped).length === 0) return;
  const parts: { table: ReplicaTable; existing: CanonicalRow[]; list: CanonicalRow[] }[] = [];
  const unsent = Object.keys(rescoped).filter((name) => !Object.hasOwn(data, name));
  for (const [table, list] of ordered(schema, { ...data, ...Object.fromEntries(unsent.map((name) => [name, []])) })) {
    const all = canonicalRows(table, list);
    const stray = strayScope(table.plan);
    if (stray && Object.hasOwn(rescoped, table.name)) {
      // Which rows are those blocks' is not known here; those that share a transaction or an action are of one block.
      parts.push({ table, existing: await group.readAlike(table, stray, all), list: all });
    }
    if (!table.plan.scope) continue;
    group.learnParents(table, all);
    const older = olderBlocks(message, table);
    if (older.size === 0) continue;
    const blocks = await group.blocksOf(table, all);
    const existing = await group.readBlocks(
      table,
      [...older].map((height) => ({ first: height, last: height }))
    );
    parts.push({ table, existing, list: all.filter((_, index) => older.has(blocks[index] ?? -1)) });
  }
  for (const { table, existing, list } of parts) await group.replaceRows(table, existing, list);
}

/** Blocks below the group of which a message holds all rows of a table. */
function olderBlocks({ rescoped, group, block_index }: BlockMessage, { name }: ReplicaTable): ReadonlySet<number> {
  const first = group?.first ?? block_index;
  const heights = rescoped && Object.hasOwn(rescoped, name) ? rescoped[name]! : [];
  return new Set(heights.filter((height) => height < first));
}

/** @param derives balances are not the message's to say */
async function applyMessage(
  group: GroupTransaction,
  schema: ReplicaSchema,
  message: BlockMessage,
  derives: boolean
): Promise<void> {
  const { block_index: height, whole = [] } = message;
  for (const [table, list] of ordered(schema, message.deleted_rows)) {
    await group.removeByIdentity(table, identitiesOf(table, list));
  }
  const wholeTables = new Set(whole);
  const own = [...ordered(schema, message.data)];
  const changed = [...ordered(schema, message.updated_rows)].filter(
    ([{ name, plan }]) => !wholeTables.has(name) && !(derives && plan.class === 'derived')
  );
  const merges = own.flatMap(([table, list]): Merge[] => {
    const { class: tableClass } = table.plan;
    const isState = tableClass === 'mutable' || (tableClass === 'derived' && !message.group && !derives);
    if (tableClass !== 'lookup' && !isState) return [];
    return [{ table, list: canonicalRows(table, list), known: isState ? 'replace' : 'refuse' }];
  });
  const comesAlone = ({ name, plan }: ReplicaTable) => plan.class !== 'scoped' && !Object.hasOwn(message.data, name);
  for (const [table, list] of changed) {
    if (comesAlone(table)) merges.push({ table, list: canonicalRows(table, list), known: 'replace' });
  }
  await group.mergeAll(merges);
  for (const [table, list] of own) {
    if (table.plan.class === 'scoped') await applyScoped(group, table, list, height, olderBlocks(message, table));
  }
  for (const [table, list] of changed) {
    if (!comesAlone(table)) await group.merge(table, canonicalRows(table, list), 'replace');
  }
  for (const name of wholeTables) {
    const table = findTable(schema, name);
    if (!table || table.plan.class === 'scoped') continue;
    const list = canonicalRows(table, message.updated_rows?.[name] ?? []);
    const received = new Set(table.identity ? list.map((row) => keyText(row, table.identity!)) : []);
    await group.replaceWhole(table, received, [await group.comparePage(table, list)]);
  }
}

/**
 * Rows of a scoped table: new rows of the message's own block, and what came beside them, which is merged.
 *
 * @param replaced older blocks, whose rows stand already
 */
async function applyScoped(
  group: GroupTransaction,
  table: ReplicaTable,
  list: readonly WireRow[],
  own: number,
  replaced: ReadonlySet<number>
): Promise<void> {
  const all = canonicalRows(table, list);
  group.learnParents(table, all);
  const blocks = await group.blocksOf(table, all);
  const fresh = all.filter((_, index) => blocks[index] === own);
  await group.insertScoped(table, fresh);
  for (const [height, rest] of Map.groupBy(all.keys(), (index) => blocks[index] ?? null)) {
    if (height === own || (height !== null && replaced.has(height))) continue;
    await group.merge(
      table,
      rest.map((index) => all[index]!),
      'replace',
      height
    );
  }
}

/** Rows of which only the identity columns are given. */
function identitiesOf(table: ReplicaTable, list: readonly WireRow[]): (readonly (string | null)[])[] {
  const { identity } = table;
  if (identity === null) {
    throw new PlatformError('SOURCE_INVALID', {
      reason: `deleted rows of ${table.name}, which has no key`,
      table: table.name
    });
  }
  const columns = table.plan.columns.filter(({ name }) =>
    identity.some((position) => table.codecs[position]!.name === name)
  );
  const codecs = identity.map((position) => table.codecs[position]!);
  const narrow = { ...table, codecs, plan: { ...table.plan, columns } };
  return list.map((row) => {
    const values = canonicalRow(narrow, row);
    const full: (string | null)[] = table.codecs.map(() => null);
    for (const [index, position] of identity.entries()) full[position] = values[index]!;
    return full;
  });
}
