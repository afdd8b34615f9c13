import { type Connection, databaseError, rows, type Statements } from '../../../db/connection.ts';
import { StatementBatch, write } from '../../../db/statement-batch.ts';
import { PlatformError } from '../../../errors.ts';
import { type BlockHashes, blockText, sameBlock } from '../../../wire/data/database.ts';
import { type AmendmentMessage, type BlockMessage, previousHashes } from '../../../wire/data/messages.ts';
import { type BlockHead, readBlockHeads } from '../../tables/block-hashes.ts';
import { CarriedIds } from '../database/carried-ids.ts';
import type { Span } from '../database/heights.ts';
import { runsOf } from '../database/heights.ts';
import type { ReplicaSchema } from '../database/schema.ts';
import { moveReplicaState, type ReplicaState, writeReplicaState } from '../database/state.ts';
import { checkBlocks, logAnew, type NamedBlock } from '../database/written-blocks.ts';
import { GroupIntake } from './block-message.ts';
import { deriveBalances, deriveTouched } from './derived-balances.ts';
import { type GroupOptions, GroupTransaction } from './group-transaction.ts';
import { SinceApplication, type SinceContent } from './since-application.ts';
import { TouchedBalances } from './touched-balances.ts';
import { type GroupBase, pruneJournal, readGroupAt, UndoJournal } from './undo-journal.ts';

/** The dependencies of a replica's writer besides its connection. */
export interface WriterContext {
  readonly schema: ReplicaSchema;
  readonly maxRollbackDepth: number;
  readonly epochSize: number;
  /** Absent where nothing is to be compared before it is durable. */
  readonly examiner?: GroupExaminer;
}

/** The roots that a source names for the last block of a group; null where it has none. */
export interface ClaimedRoots {
  /** Amendments may change the balances of that block: another root is no contradiction before it is settled. */
  readonly isSettling?: boolean;
  readonly balances_root: string | null;
  readonly block_merkle_root: string | null;
}

/** Checks a group's rows before it is durable. */
export interface GroupExaminer {
  /** @throws any error that must undo the group */
  examine(
    connection: Statements,
    schema: ReplicaSchema,
    group: { readonly span: Span; readonly touched: TouchedBalances; readonly claimed: ClaimedRoots | null }
  ): Promise<void>;
  /** Takes note whether the group was committed; called also for a group that was not examined. */
  settle(committed: boolean): Promise<void>;
}

/** The blocks of a group as its source names them, and the marker after it is applied. */
export interface GroupTarget extends Span {
  readonly hashes: BlockHashes;
  readonly source: string;
  /** The source's life; absent: not known. */
  readonly life?: string | null;
  readonly complete: boolean;
  readonly phase: ReplicaState['phase'];
  /** Amendments of its last block that are in it; null: not known. */
  readonly amendments?: number | null;
  /** Rows are missing that no message brings. */
  readonly misses?: boolean;
}

/** Groups that are too old to be undone are deleted once in this many blocks. */
const PRUNE_BLOCKS = 16;
const DUPLICATE_KEY = 1062;
/** NULL where it may not be, out of range, cut, no such value of the type, without its parent, against a CHECK. */
const UNFIT = new Set([1048, 1264, 1265, 1292, 1364, 1366, 1406, 1452, 4025]);
/**
 * Markers of replicas without rows that arrived before their block, or before the row that names their block. The writer knows this
 * only of markers that it wrote itself, not of one that it read.
 */
const NO_EARLY_ROWS = new WeakSet<ReplicaState>();

/** Live blocks that were read together. */
export interface LiveGroup {
  readonly target: GroupTarget;
  /** In order; at least one. */
  readonly messages: readonly BlockMessage[];
}

/** Up to this many waiting groups are applied together. */
export const MOST_GROUPS = 16;

/** One group on its way into the database. */
interface GroupWork {
  readonly target: GroupTarget & { readonly blockTime?: number | null } & Pick<GroupOptions, 'collisions'>;
  /** For live blocks: the block before them, as their source names it. */
  readonly namedBefore?: BlockHashes | null;
  /** @returns the blocks that are named */
  change(
    group: GroupTransaction,
    connection: Statements,
    options: { readonly ids: CarriedIds; readonly mayHoldEarly: boolean }
  ): Promise<readonly NamedBlock[]>;
}

/**
 * Applies consecutive groups in one transaction, each with its undo images; `sync_state.height` is then the
 * last block. The roots of the last group are compared, if its source names any.
 *
 * @returns the marker as it stands then
 * @throws {PlatformError} REPLICA_MOVED, CHAIN_BROKEN, ROW_CONTRADICTION, SOURCE_INVALID, DATABASE_UNAVAILABLE; the connection is
 *   destroyed then
 */
export function applyBlocks(
  connection: Connection,
  context: WriterContext,
  before: ReplicaState,
  groups: readonly LiveGroup[]
): Promise<ReplicaState> {
  const { balances_root = null, block_merkle_root = null, settling } = groups.at(-1)!.messages.at(-1)!;
  const works = groups.map((group) => liveWork(context, before, group));
  return applyGroups(connection, context, before, works, {
    balances_root,
    block_merkle_root,
    isSettling: settling === true
  });
}

function liveWork({ schema }: WriterContext, before: ReplicaState, { target, messages }: LiveGroup): GroupWork {
  const last = messages.at(-1)!;
  return {
    target: { ...target, blockTime: last.block_time },
    namedBefore: previousHashes(messages[0]!),
    async change(group, connection, { ids, mayHoldEarly }) {
      // The credits and debits of a truncated replica do not add up to balances.
      const derives = !last.group && before.floor === null;
      const intake = new GroupIntake(group, schema, { span: target, ids, derives });
      for (const message of messages) await intake.add(message);
      if (mayHoldEarly) await group.clearWaiting();
      await group.take(intake.wants);
      for (const { data } of derives ? messages : []) await deriveBalances(connection, group, schema, data);
      return messages.map((message) => ({ height: message.block_index, hashes: message as unknown as BlockHashes }));
    }
  };
}

/**
 * Applies amendments of the last block, in order, in one transaction. They become a part of its group: a rollback undoes them with it.
 *
 * @param after the marker's fields that they change
 * @returns, @throws as `applyBlocks`
 */
export async function applyAmendments(
  connection: Connection,
  context: WriterContext,
  before: ReplicaState,
  messages: readonly AmendmentMessage[],
  after: Pick<ReplicaState, 'amendments' | 'misses'> & Partial<Pick<ReplicaState, 'complete'>>
): Promise<ReplicaState> {
  const { schema, epochSize, examiner } = context;
  const height = before.height!;
  try {
    const batch = new StatementBatch(connection);
    await write(batch, 'BEGIN');
    await moveMarker(batch, height, { height, ...after });
    const span = (await readGroupAt(batch, height)) ?? { first: height, last: height };
    const [ids, touched] = [new CarriedIds(before.ids.own), new TouchedBalances()];
    const journal = new UndoJournal(batch, span.first, span.last);
    const group = new GroupTransaction(batch, schema, span, { journal, ids, touched, isAmendment: true });
    for (const part of readTogether(schema, messages)) {
      const intake = new GroupIntake(group, schema, { span, ids, derives: false });
      for (const message of part) await intake.add({ ...message, data: {} });
      await group.take(intake.wants);
    }
    await journal.flush();
    const changed = runsOf(group.changedBlocks);
    if (schema.heads?.dbType === 'indexer' && changed.length > 0)
      await logAnew(batch, schema.heads, changed, height, epochSize);
    const found = ids.changed ? { ids: { ...before.ids, own: ids.changed } } : {};
    if (ids.changed) await writeReplicaState(batch, found);
    await examiner?.examine(batch, schema, { span: { first: height + 1, last: height }, touched, claimed: null });
    await batch.query('COMMIT');
    await examiner?.settle(true);
    const amended = { ...before, ...after, ...found };
    if (NO_EARLY_ROWS.has(before) && !group.mayHoldEarly) NO_EARLY_ROWS.add(amended);
    return amended;
  } catch (caught) {
    throw await failedAt(caught, connection, examiner, `an amendment of block ${height}`);
  }
}

/** Joins consecutive amendments that only bring named rows: their order only says which of two rows of one name is the later. */
function readTogether(schema: ReplicaSchema, messages: readonly AmendmentMessage[]): readonly AmendmentMessage[][] {
  const isNaming = (name: string) => {
    const { identity, plan } = schema.byName.get(name) ?? {};
    return identity?.every((at) => !plan!.storedColumns[at]!.nullable) ?? false;
  };
  const isPlain = ({ ranges, deleted_rows, updated_rows }: AmendmentMessage) =>
    [ranges, deleted_rows].every((part) => Object.keys(part ?? {}).length === 0) &&
    Object.keys(updated_rows ?? {}).every(isNaming);
  const parts: AmendmentMessage[][] = [];
  let wasPlain = false;
  for (const message of messages) {
    const isAlone = !isPlain(message);
    if (wasPlain && !isAlone) parts.at(-1)!.push(message);
    else parts.push([message]);
    wasPlain = !isAlone;
  }
  return parts;
}

/** Applies a since-snapshot as one group. @returns, @throws as `applyBlocks` */
export function applySince(
  connection: Connection,
  context: WriterContext,
  before: ReplicaState,
  target: GroupTarget,
  content: SinceContent
): Promise<ReplicaState> {
  const { schema } = context;
  const collisions = before.ids.source === target.source ? 'evict' : 'own';
  const work: GroupWork = {
    target: { ...target, collisions },
    async change(group, batch) {
      const application = new SinceApplication(group, schema, target, content);
      await application.run();
      if (content.from < target.first) await checkBranch(batch, schema, before);
      if (content.derives) {
        for (const [table, touched] of application.touched()) await deriveTouched(batch, group, table, touched);
      }
      // A source without header hashes identifies the block by its rows alone.
      return blockText(target.hashes) === null ? [] : [{ height: target.last, hashes: target.hashes }];
    }
  };
  return applyGroups(connection, context, before, [work], null);
}

/**
 * Checks the branch of a since-snapshot, which repeats the replica's tip: other hashes there mean another branch, and
 * the snapshot does not say what to undo.
 */
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

async function applyGroups(
  connection: Connection,
  context: WriterContext,
  before: ReplicaState,
  works: readonly GroupWork[],
  claimed: ClaimedRoots | null
): Promise<ReplicaState> {
  const { schema, epochSize, examiner } = context;
  const {
    phase,
    complete,
    source,
    life = null,
    hashes,
    blockTime = null,
    last,
    amendments = null,
    misses = false
  } = works.at(-1)!.target;
  const nextState = {
    height: last,
    phase,
    complete,
    source,
    life,
    hashes,
    blockTime,
    amendments,
    misses,
    ...(complete && { settledHeight: last })
  };
  const { first } = works[0]!.target;
  try {
    const batch = new StatementBatch(connection);
    await write(batch, 'BEGIN');
    const [, written] = await Promise.all([
      moveMarker(batch, before.height, nextState),
      writeGroups(batch, context, before, works)
    ]);
    const { tip, ids, changedBlocks, touched } = written;
    if (schema.heads?.dbType === 'indexer') await logAnew(batch, schema.heads, runsOf(changedBlocks), last, epochSize);
    if (last % PRUNE_BLOCKS < last - first + 1) await pruneJournal(batch, last - context.maxRollbackDepth);
    const differs = tip.blockTime !== blockTime || blockText(tip.hashes) !== blockText(hashes);
    const found = {
      ...(differs && { blockTime: tip.blockTime, hashes: tip.hashes }),
      ...(ids.changed && { ids: { ...before.ids, own: ids.changed } })
    };
    if (Object.keys(found).length > 0) await writeReplicaState(batch, found);
    await examiner?.examine(batch, schema, { span: { first, last }, touched, claimed });
    await batch.query('COMMIT');
    await examiner?.settle(true);
    const after = { ...before, ...nextState, ...found };
    if (!written.mayHoldEarly) NO_EARLY_ROWS.add(after);
    return after;
  } catch (caught) {
    throw await failedAt(caught, connection, examiner, `blocks ${first} to ${last}`);
  }
}

/** Ends the connection after a fault. @param what was written @returns the fault as it is reported */
async function failedAt(
  caught: unknown,
  connection: Connection,
  examiner: GroupExaminer | undefined,
  what: string
): Promise<Error> {
  connection.destroy();
  await examiner?.settle(false);
  const { errno = 0, message } = caught as Error & { errno?: number };
  if (errno === DUPLICATE_KEY) {
    const reason = `a row of ${what} contradicts the replica: ${message}`;
    return new PlatformError('ROW_CONTRADICTION', { reason }, { cause: caught });
  }
  if (UNFIT.has(errno)) {
    const reason = `a row of ${what} does not fit its table: ${message}`;
    return new PlatformError('SOURCE_INVALID', { reason, errno }, { cause: caught });
  }
  return databaseError(caught, { blocks: what });
}

/** Writes groups one after another. The statements that check one are sent with those of the next. */
async function writeGroups(
  batch: StatementBatch,
  { schema, epochSize }: WriterContext,
  before: ReplicaState,
  works: readonly GroupWork[]
) {
  const [ids, touched] = [new CarriedIds(before.ids.own), new TouchedBalances()];
  const changed = new Set<number>();
  const checks: Promise<BlockHead>[] = [];
  let base: GroupBase = { height: works[0]!.target.first - 1, blockTime: before.blockTime, hashes: before.hashes };
  let mayHoldEarly = !NO_EARLY_ROWS.has(before);
  for (const { target, namedBefore, change } of works) {
    const { first, last, hashes, blockTime = null, collisions } = target;
    const journal = new UndoJournal(batch, first, last);
    await journal.open(base);
    const group = new GroupTransaction(batch, schema, target, {
      journal,
      ids,
      touched,
      ...(collisions && { collisions })
    });
    if (mayHoldEarly) await group.clearSpan();
    const named = await change(group, batch, { ids, mayHoldEarly });
    await journal.flush();
    const previous = namedBefore === undefined ? {} : { previous: { namedBefore, kept: base.hashes } };
    const check = checkBlocks(batch, schema, { first, last, hashes, ...previous }, named, epochSize);
    // The caller gets its failure, unless a later group's error ended the transaction first.
    check.catch(() => undefined);
    checks.push(check);
    for (const height of group.changedBlocks) changed.add(height);
    base = { height: last, blockTime, hashes };
    mayHoldEarly = group.mayHoldEarly;
  }
  const tip = (await Promise.all(checks)).at(-1)!;
  return { tip, ids, touched, mayHoldEarly, changedBlocks: [...changed].sort((a, b) => a - b) };
}

/** Stores the end of the group as its source names it. A second writer fails here: exactly one row must be at our height. */
async function moveMarker(
  batch: StatementBatch,
  expected: number | null,
  nextState: Partial<ReplicaState> & { readonly height: number }
): Promise<void> {
  if ((await moveReplicaState(batch, expected, nextState)) === 1) return;
  const [row] = await rows(batch, 'SELECT height FROM sync_state WHERE id = 1');
  const reason = `the replica stands at block ${row?.['height'] ?? 'none'}, this writer left it at ${expected ?? 'none'}`;
  throw new PlatformError('REPLICA_MOVED', { reason });
}
