import { PlatformError } from '../errors.ts';
import type { BlockHashes, DbType } from '../wire/database.ts';
import type { Group, WireRows } from '../wire/messages.ts';
import { type BlockHead, readBlockHeads, readFirstHeight, readTip, visibleHeads } from './block-hashes.ts';
import { findTableChange, type Keys, keyText, type TableChange } from './change-finder.ts';
import type { TablePlan } from './classify.ts';
import type { Connection, SqlRow } from './connection.ts';
import { runsOf } from './heights.ts';
import { type LookupMemory, LookupReader } from './lookup-reader.ts';
import { EMPTY_FIGURE, type Figure, figureCount, readFigures, readScopedRows } from './scope-sql.ts';
import { changedScopes, isUnknown, readLastId, readLateScopes } from './scoped-window.ts';
import { readLayout, type SourceLayout } from './source-layout.ts';
import type { SourceMemory } from './source-memory.ts';

/** Blocks whose figures are read at once. */
const FIGURE_BLOCKS = 1_000;
/** Bounds of what is held in memory of a group: blocks and rows. */
const CHUNK_BLOCKS = 100;
const CHUNK_ROWS = 20_000;
/** New lookup rows that travel with one message; the last message of a group takes all that are left. */
const LOOKUP_ROWS = 20_000;
/** Rows of older blocks that are sent again with one group. */
const RESCOPE_MAX_ROWS = 200_000;
/** Neighbours below a block that show which hashes this chain keeps. */
const NEIGHBOURS = 20;

/** What changed elsewhere, found when a group was read; it travels in the group's last message. */
export interface GroupChanges {
  readonly rescoped: Readonly<Record<string, readonly number[]>>;
  readonly tables: ReadonlyMap<string, TableChange>;
  /** By lookup table: ids that replicas may hold and the database does not have. */
  readonly vanishedIds: ReadonlyMap<string, readonly number[]>;
  /** Figures of older blocks that are not what they were. */
  readonly figures: ReadonlyMap<string, readonly (readonly [number, Figure])[]>;
  /** Highest AUTO_INCREMENT ids of scoped tables. */
  readonly lastIds: ReadonlyMap<string, number>;
  /** What could not be carried, in sentences. */
  readonly gaps: readonly string[];
}

/** One block of a group, as read. */
export interface GroupBlock {
  readonly head: BlockHead;
  readonly previous: BlockHashes | null;
  readonly group: Group;
  readonly layout: SourceLayout;
  /** The block's rows, new lookup rows, and in the last block the rows of rescoped older blocks. */
  readonly rows: WireRows;
  readonly lookups: ReadonlyMap<string, LookupMemory>;
  readonly figures: ReadonlyMap<string, Figure>;
  /** On the last block of the group only. */
  readonly changes: GroupChanges | null;
}

/**
 * Runs a read in one consistent snapshot.
 *
 * A connection on which it failed is in an unknown state: the caller destroys it.
 */
export async function inSnapshot<T>(connection: Connection, read: () => Promise<T>): Promise<T> {
  await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
  const result = await read();
  await connection.query('COMMIT');
  return result;
}

/**
 * Reads all blocks above the last broadcast one, in one snapshot that stays open until the last is taken.
 *
 * Yields nothing when there is no new block, or when the last broadcast block is no longer there. Nothing is remembered:
 * the caller gives each block to `memory.accept` once it is broadcast.
 */
export async function* readGroup(
  connection: Connection,
  dbType: DbType,
  localTables: readonly string[],
  memory: SourceMemory
): AsyncGenerator<GroupBlock> {
  await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
  const layout = await readLayout(connection, dbType, localTables);
  const { previous, heads } = await readNewHeads(connection, layout, memory);
  if (heads.length > 0) {
    memory.align(layout);
    yield* new GroupReader(connection, layout, memory, heads, previous).read();
  }
  await connection.query('COMMIT');
}

/** The heads above the last broadcast one, without a hole. @throws {PlatformError} DATABASE_UNUSABLE when a block is missing */
async function readNewHeads(
  connection: Connection,
  layout: SourceLayout,
  memory: SourceMemory
): Promise<{ previous: BlockHashes | null; heads: BlockHead[] }> {
  const nothing = { previous: null, heads: [] };
  const tip = layout.heads && (await readTip(connection, layout.heads));
  if (!layout.heads || !tip || tip.height <= memory.height) return nothing;
  const first = memory.height >= 0 ? memory.height + 1 : ((await readFirstHeight(connection)) ?? 0);
  const near = await readBlockHeads(connection, layout.heads, Math.max(0, first - NEIGHBOURS), tip.height);
  const previous = near.find(({ height }) => height === first - 1)?.hashes ?? null;
  const known = memory.recent.at(-1);
  if (known?.height === first - 1 && memory.findFork(near, tip.height) !== null) return nothing;
  const heads = visibleHeads(near).filter(({ height }) => height >= first);
  const hole = heads.findIndex(({ height }, index) => height !== first + index);
  if (hole === 0) {
    throw new PlatformError('DATABASE_UNUSABLE', {
      reason: `block ${first} is missing, and the tip is ${tip.height}`
    });
  }
  return { previous, heads: hole < 0 ? heads : heads.slice(0, hole) };
}

class GroupReader {
  readonly #connection: Connection;
  readonly #layout: SourceLayout;
  readonly #memory: SourceMemory;
  readonly #heads: readonly BlockHead[];
  readonly #group: Group;
  readonly #scoped: readonly TablePlan[];
  readonly #derived: readonly TablePlan[];
  readonly #lookups: LookupReader;
  /** By derived table: keys that the group's rows name. */
  readonly #touched = new Map<string, Set<string>>();
  readonly #changed = new Map<string, number[]>();
  readonly #olderFigures = new Map<string, (readonly [number, Figure])[]>();
  readonly #gaps: string[] = [];
  #previous: BlockHashes | null;

  constructor(
    connection: Connection,
    layout: SourceLayout,
    memory: SourceMemory,
    heads: readonly BlockHead[],
    previous: BlockHashes | null
  ) {
    this.#connection = connection;
    this.#layout = layout;
    this.#memory = memory;
    this.#heads = heads;
    this.#previous = previous;
    this.#group = { first: memory.openGroup ?? heads[0]!.height, last: heads.at(-1)!.height };
    const ofClass = (name: TablePlan['class']) => layout.plans.filter((plan) => plan.class === name);
    this.#scoped = ofClass('scoped');
    this.#derived = ofClass('derived');
    this.#lookups = new LookupReader(connection, ofClass('lookup'), memory.lookups, memory.heldIds);
  }

  async *read(): AsyncGenerator<GroupBlock> {
    for (let start = 0; start < this.#heads.length; start += FIGURE_BLOCKS) {
      const heads = this.#heads.slice(start, start + FIGURE_BLOCKS);
      const figures = await this.#readFigures(heads[0]!.height, heads.at(-1)!.height, start === 0);
      for (const chunk of chunksOf(heads, figures)) yield* this.#readChunk(chunk, figures);
    }
  }

  /** Figures of new blocks, by table; with the first ones, older blocks are compared with what was broadcast of them. */
  async #readFigures(from: number, to: number, isFirst: boolean): Promise<Map<string, Map<number, Figure>>> {
    const byTable = new Map<string, Map<number, Figure>>();
    for (const plan of this.#scoped) {
      const known = this.#memory.scoped.get(plan.name)!;
      const start = isFirst ? Math.min(from, known.from) : from;
      const figures = await readFigures(this.#connection, plan, this.#layout.tables, start, to);
      byTable.set(plan.name, figures);
      if (!isFirst) continue;
      const changed = changedScopes(known, figures, from - 1);
      const older = changed.map((at) => [at, figures.get(at) ?? EMPTY_FIGURE] as const);
      if (older.length > 0) this.#olderFigures.set(plan.name, older);
      const late = await readLateScopes(this.#connection, this.#layout, plan, known);
      const all = [...late, ...this.#affordable(plan, changed, figures)];
      if (all.length > 0) this.#changed.set(plan.name, all);
    }
    return byTable;
  }

  /** The newest of the changed blocks whose rows fit; the rest is named, never silently left out. */
  #affordable(plan: TablePlan, changed: readonly number[], figures: ReadonlyMap<number, Figure>): readonly number[] {
    let count = 0;
    const over = changed.findLastIndex((at) => {
      count += figureCount(figures.get(at) ?? EMPTY_FIGURE);
      return count > RESCOPE_MAX_ROWS;
    });
    if (over < 0) return changed;
    this.#gaps.push(
      `table ${plan.name}: ${over + 1} older blocks up to ${changed[over]} changed and are too large to be sent again: replicas find the difference by digest`
    );
    return changed.slice(over + 1);
  }

  async *#readChunk(
    heads: readonly BlockHead[],
    figures: ReadonlyMap<string, ReadonlyMap<number, Figure>>
  ): AsyncGenerator<GroupBlock> {
    const [from, to] = [heads[0]!.height, heads.at(-1)!.height];
    const rowsOf = new Map<string, Map<number, SqlRow[]>>();
    for (const plan of this.#scoped) {
      const ofTable = figures.get(plan.name);
      if (!heads.some(({ height }) => ofTable?.has(height))) continue;
      const found = await readScopedRows(this.#connection, plan, this.#layout.tables, from, to);
      this.#touch(plan, [...found.values()].flat());
      rowsOf.set(plan.name, found);
    }
    for (const head of heads) {
      const isLast = head.height === this.#group.last;
      const lookups = await this.#lookups.take(isLast ? Number.MAX_SAFE_INTEGER : LOOKUP_ROWS);
      const rows: WireRows = { ...lookups.rows };
      const own = new Map<string, Figure>();
      for (const [table, byBlock] of rowsOf) {
        const ofBlock = byBlock.get(head.height);
        if (ofBlock) rows[table] = ofBlock;
        byBlock.delete(head.height);
      }
      for (const [table, ofTable] of figures) {
        const figure = ofTable.get(head.height);
        if (figure !== undefined) own.set(table, figure);
      }
      const changes = isLast ? await this.#readChanges(rows) : null;
      const [layout, group, previous] = [this.#layout, this.#group, this.#previous];
      const block = { head, previous, group, layout, rows, figures: own, changes };
      this.#previous = head.hashes;
      yield { ...block, lookups: lookups.memory };
    }
  }

  /** Notes which keys of derived tables some rows name. */
  #touch(plan: TablePlan, found: readonly SqlRow[]): void {
    for (const { name, identity } of this.#derived) {
      if (!identity?.every((column) => plan.columns.some((own) => own.name === column))) continue;
      const keys = this.#touched.get(name) ?? new Set<string>();
      this.#touched.set(name, keys);
      for (const row of found) if (identity.every((column) => row[column] !== null)) keys.add(keyText(row, identity));
    }
  }

  async #readChanges(rows: WireRows): Promise<GroupChanges> {
    const rescoped: Record<string, readonly number[]> = {};
    for (const plan of this.#scoped) {
      const heights = this.#changed.get(plan.name);
      if (!heights) continue;
      rescoped[plan.name] = heights;
      await this.#addScopes(plan, heights, rows);
    }
    const tables = new Map<string, TableChange>();
    for (const plan of this.#layout.plans) {
      if (plan.class !== 'mutable' && plan.class !== 'derived') continue;
      const known = this.#memory.tables.get(plan.name)!;
      const forced = this.#memory.forced.get(plan.name) ?? new Set<string>();
      const touched = this.#touchedOf(plan);
      const change = await findTableChange(this.#connection, this.#layout, plan, known, forced, touched);
      if (!change) continue;
      tables.set(plan.name, change);
      if (change.gap !== null) this.#gaps.push(change.gap);
    }
    const lastIds = new Map<string, number>();
    for (const plan of this.#scoped) lastIds.set(plan.name, await readLastId(this.#connection, plan));
    const { vanishedIds } = this.#lookups;
    const gaps = [...this.#gaps, ...this.#lookups.gaps];
    return { rescoped, tables, vanishedIds, figures: this.#olderFigures, lastIds, gaps };
  }

  /** Adds every row of some older blocks, in as few reads as the heights allow. */
  async #addScopes(plan: TablePlan, heights: readonly number[], rows: WireRows): Promise<void> {
    const sent = rows[plan.name] ?? [];
    for (const { from, to } of runsOf(heights)) {
      const found = await readScopedRows(this.#connection, plan, this.#layout.tables, from, to);
      for (const ofBlock of found.values()) {
        this.#touch(plan, ofBlock);
        for (const row of ofBlock) sent.push(row);
      }
    }
    if (sent.length > 0) rows[plan.name] = sent;
  }

  /** Null when the keys of vanished rows are not known: then only the whole table says what changed. */
  #touchedOf(plan: TablePlan): Keys | null {
    if (plan.class !== 'derived') return null;
    const incomplete = this.#scoped.some(({ name, columns }) => {
      const known = this.#memory.scoped.get(name)!;
      return (
        plan.identity?.every((key) => columns.some((column) => column.name === key)) &&
        this.#changed
          .get(name)
          ?.some((at) => isUnknown(known, at) || (known.figures.get(at) ?? EMPTY_FIGURE) !== EMPTY_FIGURE)
      );
    });
    return incomplete ? null : (this.#touched.get(plan.name) ?? new Set());
  }
}

/** Splits blocks so that the rows of each part fit in memory; a block is never split. */
function* chunksOf(
  heads: readonly BlockHead[],
  figures: ReadonlyMap<string, ReadonlyMap<number, Figure>>
): Generator<BlockHead[]> {
  let chunk: BlockHead[] = [];
  let rows = 0;
  for (const head of heads) {
    let own = 0;
    for (const byBlock of figures.values()) own += figureCount(byBlock.get(head.height) ?? EMPTY_FIGURE);
    if (chunk.length > 0 && (chunk.length >= CHUNK_BLOCKS || rows + own > CHUNK_ROWS)) {
      yield chunk;
      chunk = [];
      rows = 0;
    }
    chunk.push(head);
    rows += own;
  }
  if (chunk.length > 0) yield chunk;
}
