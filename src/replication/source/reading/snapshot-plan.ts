import { type Connection, quoteName, rows } from '../../../db/connection.ts';
import { selectList } from '../../../db/row-codec.ts';
import type { TableRead } from '../../../db/row-stream.ts';
import { PlatformError } from '../../../errors.ts';
import { INFRA_TABLES } from '../../../wire/data/messages.ts';
import type { MissedChanges, SnapshotOrder, SnapshotQuery } from '../../../wire/data/snapshot.ts';
import { type BlockHead, readBlockHeads, readTip } from '../../tables/block-hashes.ts';
import type { TablePlan } from '../../tables/classify.ts';
import { lookupDigest } from '../../tables/lookup-digest.ts';
import { rowOrder, scopeSql } from '../../tables/scope-sql.ts';
import { readLayout, type SourceLayout } from '../../tables/source-layout.ts';
import HINTS from '../../tables/topology-hints.json' with { type: 'json' };
import { touchRules } from '../changes/touch-rules.ts';
import { type OlderPart, planOlderParts, planOtherPart } from './older-parts.ts';

/** A derived table up to this size goes whole, and what changes later in others. */
const WHOLE_ROWS = 20_000;
/** Blocks back to which a source looks for changes. */
const CHANGED_BLOCKS = 1_000;

/** The content of one snapshot, decided inside its own read. */
export interface SnapshotPlan {
  /** The block that the snapshot is at. */
  readonly head: BlockHead;
  /** The lowest block with scoped rows in the snapshot. */
  readonly first: number;
  readonly layout: SourceLayout;
  /** Changes in older blocks; null: not included. */
  readonly older: readonly OlderPart[] | null;
  readonly tables: readonly TableRead[];
  /** Null in a full snapshot, where everything is in `tables`. */
  readonly updatedRows: readonly TableRead[] | null;
  /** Mutable and lookup tables that a since-snapshot holds whole, empty ones too. */
  readonly wholeTables: readonly string[];
  /** Full snapshots: the server's estimate of the rows; null otherwise. */
  readonly estimatedRows: number | null;
  /** For a since-snapshot whose reader's misses are known: whether the rest may come as amendments, and which are in it. */
  readonly missed?: Pick<MissedChanges, 'amendments' | 'isSettled'> | null;
}

/**
 * Decides the content of a snapshot. Call it first in the transaction that will read the rows.
 *
 * @param missedUpTo the older rows that a since-snapshot's reader has missed; null: not known
 * @throws {PlatformError} BLOCKS_EMPTY, REQUEST_INVALID (`until` names no block), DATABASE_UNUSABLE
 */
export async function planSnapshot(
  connection: Connection,
  { id, query, localTables }: Pick<SnapshotOrder, 'id' | 'query' | 'localTables'>,
  missedUpTo: (head: BlockHead) => Promise<MissedChanges | null> = async () => null
): Promise<SnapshotPlan> {
  const layout = await readLayout(connection, id.dbType, localTables);
  const tip = layout.heads && (await readTip(connection, layout.heads));
  if (!tip) throw new PlatformError('BLOCKS_EMPTY', { reason: 'No blocks in database' });
  const plans = layout.plans.filter((plan) => travels(plan, layout, query));
  if (query.since === null) {
    const bound = (await hasBlocksAbove(connection, tip.height)) ? tip.height : null;
    const tables = plans.map((plan) => readWhole(plan, layout, bound));
    const estimatedRows = await estimateRows(connection, tables);
    return { head: tip, first: 0, layout, older: null, tables, updatedRows: null, wholeTables: [], estimatedRows };
  }
  const head =
    query.until === null || query.until >= tip.height ? tip : await readHead(connection, layout, query.until);
  const missed = query.older === null ? null : await missedUpTo(head);
  // A reader that cannot take that many blocks again gets only the blocks it asked for.
  const known = missed && missed.from >= query.older! ? missed : null;
  const first = query.inclusive ? query.since : (known?.from ?? query.older ?? query.since + 1);
  const parts = known && (await planOlderParts(connection, { ...layout, plans }, known, head.height));
  // A client that asks for blocks >= N does not request older ones again, whose rows may have changed.
  const older = Math.max(0, first - CHANGED_BLOCKS);
  const common = {
    head,
    first: query.inclusive ? older : first,
    layout,
    older: parts,
    estimatedRows: null,
    missed: known
  };
  if (first > head.height) return { ...common, tables: [], updatedRows: [], wholeTables: [] };

  const others = query.parts ? (known?.others ?? null) : null;
  // Rows that other tables' rows name are sent without being listed.
  const named = new Set(touchRules(plans).map(({ plan }) => plan));
  const tables: TableRead[] = [];
  const updatedRows: TableRead[] = [];
  const wholeTables: string[] = [];
  // A decoder's clients know no `updated_rows`: rows without a block are sent with the blocks' rows.
  const changed = id.dbType === 'decoder' ? tables : updatedRows;
  for (const plan of plans) {
    if (plan.class === 'scoped') {
      tables.push(readScope(plan, layout, first, head.height));
      if (query.inclusive && changesLater(plan))
        updatedRows.push(readScope(plan, layout, (await isSmall(connection, plan)) ? 0 : older, first - 1));
    } else if (plan.name === 'sync_meta') tables.push(readBlocks(plan, layout, first, head.height));
    else if (plan.class === 'lookup') {
      const delta = await readDelta(connection, plan, query.lookups);
      tables.push(delta ?? readWhole(plan, layout, null));
      if (!delta) wholeTables.push(plan.name);
    } else if (query.until !== null) continue;
    else if (plan.class === 'derived' && (query.inclusive || !(await isSmall(connection, plan))))
      changed.push(readTouched(plan, layout, query.inclusive ? older : first, parts ?? []));
    else if (plan.class === 'mutable' || plan.class === 'derived') {
      const isListed = others && !named.has(plan) && !(await isSmall(connection, plan));
      const part = isListed ? planOtherPart(plan, layout, others[plan.name] ?? []) : null;
      if (part) {
        if (part.spans.spans.length > 0) parts!.push(part);
        continue;
      }
      changed.push(readWhole(plan, layout, null));
      wholeTables.push(plan.name);
    }
  }
  return { ...common, tables, updatedRows, wholeTables };
}

/** Returns whether rows of older blocks change or arrive: a client that knows no ranges gets them again. */
function changesLater({ name }: TablePlan): boolean {
  return HINTS.some(({ table, late }) => table === name && late === true);
}

function travels(plan: TablePlan, { dbType }: SourceLayout, query: SnapshotQuery): boolean {
  if (plan.class === 'local' || (plan.class === 'control' && dbType !== 'indexer')) return false;
  if (plan.class === 'lookup' && query.skipLookups) return false;
  return !query.infraOnly || INFRA_TABLES.has(plan.name);
}

/** Returns whether the source is writing a block: its rows are no part of the tip's state. */
async function hasBlocksAbove(connection: Connection, height: number): Promise<boolean> {
  return (await rows(connection, 'SELECT 1 FROM blocks WHERE block_index > ? LIMIT 1', [height])).length > 0;
}

async function readHead(connection: Connection, { heads }: SourceLayout, height: number): Promise<BlockHead> {
  const [head] = heads ? await readBlockHeads(connection, heads, height, height) : [];
  if (!head) throw new PlatformError('REQUEST_INVALID', { reason: `until=${height} is not a block of this database` });
  return head;
}

/** @param bound blocks above it are left out of tables that know their block, rows without a block stay; null where there are none above */
function readWhole(plan: TablePlan, layout: SourceLayout, bound: number | null): TableRead {
  if (bound !== null && plan.class === 'scoped') {
    const { from, block } = scopeSql(plan, layout.tables, true);
    return select(plan, from, `${block} <= ?`, rowOrder(plan, layout.tables), [bound]);
  }
  if (bound !== null && plan.name === 'sync_meta') return readBlocks(plan, layout, 0, bound);
  return select(plan, `${quoteName(plan.name)} r`, 'TRUE', primaryOrder(plan, layout), []);
}

function readScope(plan: TablePlan, layout: SourceLayout, first: number, last: number): TableRead {
  const { from, block } = scopeSql(plan, layout.tables);
  return select(plan, from, `${block} BETWEEN ? AND ?`, rowOrder(plan, layout.tables), [first, last]);
}

function readBlocks(plan: TablePlan, layout: SourceLayout, first: number, last: number): TableRead {
  const order = rowOrder(plan, layout.tables);
  return select(plan, `${quoteName(plan.name)} r`, 'r.block_index BETWEEN ? AND ?', order, [first, last]);
}

/** Reads the rows above the id that the client states, if it holds the same rows up to it. */
async function readDelta(
  connection: Connection,
  plan: TablePlan,
  stated: SnapshotQuery['lookups']
): Promise<TableRead | null> {
  const known = stated[plan.name];
  if (!known || (await lookupDigest(connection, plan, known.id)) !== known.digest) return null;
  return select(plan, `${quoteName(plan.name)} r`, 'r.id > ?', 'r.id', [known.id]);
}

/**
 * Returns whether a table is small enough to be sent whole. Only that removes rows that nothing names any more, because their block
 * was taken back before it was whole.
 */
async function isSmall(connection: Connection, { name }: TablePlan): Promise<boolean> {
  const limit = WHOLE_ROWS + 1;
  const found = await rows(connection, `SELECT COUNT(*) AS n FROM (SELECT 1 FROM ${quoteName(name)} LIMIT ${limit}) r`);
  return Number(found[0]?.['n']) < limit;
}

/** Reads the current rows of a derived table under the keys that scoped rows of these blocks name; all of them where none can. */
function readTouched(plan: TablePlan, layout: SourceLayout, first: number, parts: readonly OlderPart[]): TableRead {
  const key = plan.identity ?? [];
  const feeders = layout.plans.filter(
    (feeder) => feeder.class === 'scoped' && key.every((column) => feeder.columns.some(({ name }) => name === column))
  );
  if (key.length === 0 || feeders.length === 0) return readWhole(plan, layout, null);
  const columns = (alias: string) => key.map((column) => `${alias}.${quoteName(column)}`).join(', ');
  const touched = feeders.map((feeder) => {
    const { from, block } = scopeSql(feeder, layout.tables);
    return `SELECT ${columns('r')} FROM ${from} WHERE ${block} >= ?`;
  });
  const named = new Set(feeders.map(({ name }) => name));
  for (const { table, where } of parts) {
    if (named.has(table)) touched.push(`SELECT ${columns('r')} FROM ${quoteName(table)} r WHERE ${where}`);
  }
  const match = key.map((column) => `r.${quoteName(column)} = t.${quoteName(column)}`).join(' AND ');
  const from = `(${touched.join(' UNION ')}) t JOIN ${quoteName(plan.name)} r ON ${match}`;
  return select(
    plan,
    from,
    'TRUE',
    rowOrder(plan, layout.tables),
    feeders.map(() => first)
  );
}

function select(plan: TablePlan, from: string, where: string, order: string, values: readonly unknown[]): TableRead {
  const list = selectList(plan.columns, 'r');
  const sql = `SELECT ${list} FROM ${from} WHERE ${where}${order === '' ? '' : ` ORDER BY ${order}`}`;
  return { table: plan.name, columns: plan.columns, sql, values };
}

/** Returns the order in which InnoDB keeps the rows, so that a whole table is read without sorting. */
function primaryOrder(plan: TablePlan, { tables }: SourceLayout): string {
  const primary = tables.find(({ name }) => name === plan.name)?.keys.find(({ name }) => name === 'PRIMARY');
  return (primary?.columns ?? [])
    .map(({ name, descending }) => `r.${quoteName(name)}${descending ? ' DESC' : ''}`)
    .join(', ');
}

async function estimateRows(connection: Connection, tables: readonly TableRead[]): Promise<number> {
  const found = await rows<{ name: string; estimate: number | null }>(
    connection,
    'SELECT TABLE_NAME AS name, TABLE_ROWS AS estimate FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()'
  );
  const wanted = new Set(tables.map(({ table }) => table));
  return found.filter(({ name }) => wanted.has(name)).reduce((sum, { estimate }) => sum + Number(estimate ?? 0), 0);
}
