import { PlatformError } from '../errors.ts';
import { type BlockHashes, blockText, sameBlock } from '../wire/database.ts';
import { type BlockMessage, previousHashes } from '../wire/messages.ts';
import { readBlockHeads } from './block-hashes.ts';
import { GroupIntake } from './block-message.ts';
import { CarriedIds } from './carried-ids.ts';
import { type Connection, databaseError, rows } from './connection.ts';
import { deriveBalances, deriveTouched } from './derived-balances.ts';
import { type GroupOptions, GroupTransaction, type Span } from './group-transaction.ts';
import { runsOf } from './heights.ts';
import type { ReplicaSchema } from './replica-schema.ts';
import { type ReplicaState, writeReplicaState } from './replica-state.ts';
import { SinceApplication, type SinceContent } from './since-application.ts';
import { StatementBatch, type Statements, write } from './statement-batch.ts';
import { TouchedBalances } from './touched-balances.ts';
import { pruneJournal, UndoJournal } from './undo-journal.ts';
import { checkBlocks, logAnew, type NamedBlock, type WrittenSpan } from './written-blocks.ts';

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

const DUPLICATE_KEY = 1062;
/** NULL where it may not be, out of range, cut, no such value of the type, without its parent, against a CHECK. */
const UNFIT = new Set([1048, 1264, 1265, 1292, 1364, 1366, 1406, 1452, 4025]);
/**
 * Markers of replicas without a row that came before its block, or before the row that says its block: the writer knows it of
 * those that it left itself, not of one that was read.
 */
const NO_EARLY_ROWS = new WeakSet<ReplicaState>();

/**
 * Applies the messages of one group in one transaction, with its undo images; `sync_state.height` is the last block then.
 *
 * @returns the marker as it stands then
 * @throws {PlatformError} REPLICA_MOVED, CHAIN_BROKEN, ROW_CONTRADICTION, SOURCE_INVALID, DATABASE_UNAVAILABLE; the connection is
 *   destroyed then
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
  const previous = { told: messages[0] ? previousHashes(messages[0]) : null, kept: before.hashes };
  return applyGroup(connection, context, before, { ...target, claimed, previous }, async (group, batch, ids) => {
    // What a truncated replica holds of credits and debits does not add up to a balance.
    const derives = !messages.at(-1)?.group && before.floor === null;
    const intake = new GroupIntake(group, context.schema, { span: target, ids, derives });
    for (const message of messages) await intake.add(message);
    if (!NO_EARLY_ROWS.has(before)) await group.clearWaiting();
    await group.take(intake.wants);
    for (const { data } of derives ? messages : []) await deriveBalances(batch, group, context.schema, data);
    return messages.map((message) => ({ height: message.block_index, hashes: message as unknown as BlockHashes }));
  });
}

/** Applies a since-snapshot as one group. @returns, @throws as `applyBlocks` */
export function applySince(
  connection: Connection,
  context: WriterContext,
  before: ReplicaState,
  target: GroupTarget,
  content: SinceContent
): Promise<ReplicaState> {
  const collisions = before.ids.source === target.source ? 'evict' : 'own';
  return applyGroup(connection, context, before, { ...target, collisions }, async (group, batch) => {
    const application = new SinceApplication(group, context.schema, target, content);
    await application.run();
    if (content.from < target.first) await checkBranch(batch, context.schema, before);
    if (content.derives) {
      for (const [table, touched] of application.touched()) await deriveTouched(batch, group, table, touched);
    }
    // A source that names no block by its headers says what it is by its rows alone.
    return blockText(target.hashes) === null ? [] : [{ height: target.last, hashes: target.hashes }];
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

async function applyGroup(
  connection: Connection,
  { schema, maxRollbackDepth, epochSize, examiner }: WriterContext,
  before: ReplicaState,
  target: GroupTarget & WrittenSpan & { readonly claimed?: ClaimedRoots } & Pick<GroupOptions, 'collisions'>,
  change: (group: GroupTransaction, connection: Statements, ids: CarriedIds) => Promise<readonly NamedBlock[]>
): Promise<ReplicaState> {
  const { first, last, source, phase, complete, claimed = null, collisions } = target;
  const touched = new TouchedBalances();
  try {
    const batch = new StatementBatch(connection);
    await write(batch, 'BEGIN');
    const journal = new UndoJournal(batch, first, last);
    await journal.open({ height: first - 1, blockTime: before.blockTime, hashes: before.hashes });
    const ids = new CarriedIds(before.ids.own);
    const options = { journal, ids, touched, ...(collisions && { collisions }) };
    const group = new GroupTransaction(batch, schema, target, options);
    const apply = async () => {
      if (!NO_EARLY_ROWS.has(before)) await group.clearSpan();
      return change(group, batch, ids);
    };
    const [, named] = await Promise.all([moveHeight(batch, before.height, last), apply()]);
    await journal.flush();
    const tip = await checkBlocks(batch, schema, target, named, epochSize);
    if (schema.heads?.dbType === 'indexer')
      await logAnew(batch, schema.heads, runsOf(group.changedBlocks), last, epochSize);
    await pruneJournal(batch, last - maxRollbackDepth);
    const { blockTime, hashes } = tip;
    const origin = ids.changed ? { ids: { ...before.ids, own: ids.changed } } : {};
    const marker = { blockTime, hashes, source, phase, complete, ...origin };
    await writeReplicaState(batch, marker);
    await examiner?.examine(batch, schema, { span: { first, last }, touched, claimed });
    await batch.query('COMMIT');
    await examiner?.settle(true);
    const after = { ...before, height: last, ...marker };
    if (!group.mayHoldEarly) NO_EARLY_ROWS.add(after);
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
async function moveHeight(connection: StatementBatch, expected: number | null, height: number): Promise<void> {
  const sql = 'UPDATE sync_state SET height = ? WHERE id = 1 AND height <=> ?';
  const [result] = await connection.along(sql, [height, expected]);
  if ((result as { affectedRows: number }).affectedRows === 1) return;
  const [row] = await rows(connection, 'SELECT height FROM sync_state WHERE id = 1');
  const reason = `the replica stands at block ${row?.['height'] ?? 'none'}, this writer left it at ${expected ?? 'none'}`;
  throw new PlatformError('REPLICA_MOVED', { reason });
}
