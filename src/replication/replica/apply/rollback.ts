import { type Connection, databaseError, quoteName, refusalOf, type Statements } from '../../../db/connection.ts';
import type { Kind } from '../../../db/sql-literal.ts';
import { StatementBatch, write } from '../../../db/statement-batch.ts';
import { PlatformError } from '../../../errors.ts';
import { pruneFrom } from '../../tables/transparency-log.ts';
import type { Span } from '../database/heights.ts';
import { heightsOf, runsOf } from '../database/heights.ts';
import { deleteReceived, insertEarlierRows, insertRows } from '../database/row-statements.ts';
import type { ReplicaSchema, ReplicaTable } from '../database/schema.ts';
import { matchedRows, phaseBack, type ReplicaState, writeReplicaState } from '../database/state.ts';
import { logAnew } from '../database/written-blocks.ts';
import type { WriterContext } from './block-writer.ts';
import { cutJournal, type JournalGroup, readGroupsAbove, readSteps, type UndoStep } from './undo-journal.ts';

/** The plan of a rollback to a height: the groups to undo, and where it ends; null when the journal does not reach. */
interface RollbackPlan {
  readonly groups: readonly JournalGroup[];
  readonly height: number;
}

/** Finds the end of the group below a fork. A group is undone whole, so that may be lower than `height`. */
export async function planRollback(connection: Connection, from: number, height: number): Promise<RollbackPlan | null> {
  const groups = await readGroupsAbove(connection, height);
  let at = from;
  for (const group of groups) {
    if (group.last !== at) return null;
    at = group.base.height;
  }
  return at <= height ? { groups, height: at } : null;
}

/**
 * Undoes groups in one transaction: the replica is as it was at the end of the last remaining group. It is not complete
 * until a since-snapshot of the new branch is applied: the journal lacks the rows that the source keeps across a reorg.
 *
 * @throws {PlatformError} REPLICA_MOVED, ROW_CONTRADICTION, DATABASE_UNAVAILABLE; the connection is destroyed then
 */
export async function rollBack(
  connection: Connection,
  { schema, epochSize }: Pick<WriterContext, 'schema' | 'epochSize'>,
  before: ReplicaState,
  plan: RollbackPlan
): Promise<void> {
  try {
    const batch = new StatementBatch(connection);
    await write(batch, 'BEGIN');
    const changed = new Set<number>();
    for (const group of plan.groups) {
      await deleteSpan(batch, schema, group);
      for await (const step of readSteps(batch, group)) {
        await undo(batch, schema, step);
        for (const height of step.table === 'blocks' ? heightsOf(step.columns, step.rows) : []) changed.add(height);
      }
    }
    await cutJournal(batch, plan.height);
    if (schema.heads?.dbType === 'indexer') {
      await pruneFrom(batch, plan.height + 1);
      const kept = [...changed].filter((height) => height <= plan.height).sort((a, b) => a - b);
      await logAnew(batch, schema.heads, runsOf(kept), plan.height, epochSize);
    }
    const base = plan.groups.at(-1)!.base;
    await moveBack(batch, before.height);
    const unverified = {
      verifiedHeight: null,
      verifiedAt: null,
      compared: null,
      amendments: null,
      settledHeight: null
    };
    await writeReplicaState(batch, { ...base, ...unverified, complete: false, phase: phaseBack(before) });
    await batch.query('COMMIT');
  } catch (caught) {
    connection.destroy();
    const words = refusalOf(caught);
    if (words !== null) {
      const reason = `the undo journal above block ${plan.height} contradicts the replica: ${words}`;
      throw new PlatformError('ROW_CONTRADICTION', { reason }, { cause: caught });
    }
    throw databaseError(caught, { rollback: plan.height });
  }
}

async function moveBack(connection: Statements, expected: number | null): Promise<void> {
  const [result] = await connection.query(
    'UPDATE sync_state SET complete = 0, phase = ? WHERE id = 1 AND height <=> ?',
    ['rollingBack', expected]
  );
  if (matchedRows(result) !== 1) {
    throw new PlatformError('REPLICA_MOVED', { reason: `the replica is no longer at block ${expected ?? 'none'}` });
  }
}

/** Deletes the rows of a span, children before parents: a child's block is that of its parent. */
export async function deleteSpan(connection: Statements, schema: ReplicaSchema, { first, last }: Span): Promise<void> {
  for (const { name, plan } of schema.tables.toReversed()) {
    if (!plan.scope) continue;
    const { column, parent } = plan.scope;
    const between = `block_index BETWEEN ${first} AND ${last}`;
    await write(
      connection,
      parent === null
        ? `DELETE FROM ${quoteName(name)} WHERE ${between}`
        : `DELETE t FROM ${quoteName(parent)} p STRAIGHT_JOIN ${quoteName(name)} t ON t.${quoteName(column)} = p.${quoteName(column)} WHERE p.${between}`
    );
  }
}

async function undo(connection: Statements, schema: ReplicaSchema, step: UndoStep): Promise<void> {
  const table = schema.byName.get(step.table);
  if (!table) return;
  const positions = step.columns.flatMap((name, at) => (table.codecs.some((codec) => codec.name === name) ? [at] : []));
  const then = asItWas(
    table,
    positions.map((at) => ({ name: step.columns[at]!, kind: step.kinds?.[at] }))
  );
  const list = step.rows.map((row) => positions.map((at) => row[at]!));
  if (step.kind === 'added') await deleteReceived(connection, then, list);
  else await (step.shape === table.shape ? insertRows : insertEarlierRows)(connection, then, list);
}

/**
 * Returns the table with only the columns that it had when the step was kept, and still has with the same kinds; a key
 * with other columns names no row.
 */
function asItWas(
  table: ReplicaTable,
  columns: readonly { readonly name: string; readonly kind: Kind | undefined }[]
): ReplicaTable {
  const position = new Map(columns.map(({ name }, index) => [name, index]));
  const move = (positions: readonly number[]) => positions.map((at) => position.get(table.codecs[at]!.name) ?? -1);
  const moveKey = (key: readonly number[] | null) => (key === null || move(key).includes(-1) ? null : move(key));
  const codecs = columns.map(({ name, kind }) => {
    const now = table.codecs.find((codec) => codec.name === name)!;
    return { ...now, kind: kind ?? now.kind };
  });
  const [surrogate = -1] = table.surrogate === null ? [] : move([table.surrogate]);
  return {
    ...table,
    codecs,
    all: codecs.map((_, index) => index),
    compared: move(table.compared).filter((at) => at >= 0),
    surrogate: surrogate < 0 ? null : surrogate,
    identity: moveKey(table.identity),
    rowKey: moveKey(table.rowKey)
  };
}
