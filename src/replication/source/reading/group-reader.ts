import type { Connection, SqlRow, Statements } from '../../../db/connection.ts';
import { StatementBatch } from '../../../db/statement-batch.ts';
import { PlatformError } from '../../../errors.ts';
import type { BlockHashes, DbType } from '../../../wire/data/database.ts';
import type { Group, WireRows } from '../../../wire/data/messages.ts';
import { type BlockHead, readBlockHeads, readFirstHeight, visibleHeads } from '../../tables/block-hashes.ts';
import type { TablePlan } from '../../tables/classify.ts';
import type { SourceLayout } from '../../tables/source-layout.ts';
import type { BinlogChanges, BinlogRead } from '../binlog/changes.ts';
import { findChanges } from '../changes/change-finder.ts';
import type { Checksum, Value } from '../changes/checksum-map.ts';
import type { FoundChanges } from '../changes/found-changes.ts';
import { readOldestWriter, withOpenWriters } from '../changes/open-writers.ts';
import { findTables, type OwnRows, OwnValues, type ReadRow, readOwnRows, readRows } from '../changes/own-rows.ts';
import { BY_ID, type Ranging, rangingOf, toValue } from '../changes/ranging.ts';
import { isEnd, type Span } from '../changes/spans.ts';
import { isSettled, readTableFacts, type TableFacts } from '../changes/table-facts.ts';
import { TouchedKeys, touchRules } from '../changes/touch-rules.ts';
import type { GroupBlock } from './group-block.ts';
import { type JsonId, toId, toJsonId } from './lookup-id.ts';
import { LookupReader } from './lookup-reader.ts';
import { AGAIN_ROWS, type SourceMemory } from './memory.ts';
import { isDenied, type ServedTables } from './served-tables.ts';

/** Blocks that are read at once, and the rows that they should hold. */
const CHUNK_BLOCKS = 100;
const CHUNK_ROWS = 20_000;
/** New lookup rows that travel with one message; the last message of a group takes all that are left. */
const LOOKUP_ROWS = 20_000;
/** Ids of lookup rows that are read at once. */
const LOOKUP_IDS = 5_000;
/** Neighbours below a block that show which hashes this chain keeps. */
const NEIGHBOURS = 20;

/**
 * Reads all blocks above the last broadcast one, in one snapshot that stays open until the last is taken.
 *
 * Yields nothing when there is no new block, or when the last broadcast block is no longer there. Nothing is remembered:
 * the caller gives each block to `memory.accept` once it is broadcast. What can be asked together goes to MariaDB in one message.
 *
 * @param connection one that takes several statements in one message
 * @param binlog null: changes of older rows are looked for
 * @param served null: a table that is not visible counts as dropped
 * @param keepsOpen the snapshot of a group stays open, for the caller to end it
 * @throws {PlatformError} TABLE_HIDDEN
 */
export async function* readGroup(...asked: Parameters<typeof readVisible>): AsyncGenerator<GroupBlock> {
  try {
    yield* readVisible(...asked);
  } catch (caught) {
    const [, , , memory] = asked;
    if (isDenied(caught)) memory.layouts.forget();
    throw caught;
  }
}

async function* readVisible(
  connection: Connection,
  dbType: DbType,
  localTables: readonly string[],
  memory: SourceMemory,
  binlog: BinlogChanges | null = null,
  served: ServedTables | null = null,
  keepsOpen = false
): AsyncGenerator<GroupBlock> {
  const statements = new StatementBatch(connection);
  // Where a log names what changed, times are not asked.
  const oldestWriter = binlog?.report.used ? undefined : await readOldestWriter(connection);
  // Alone: nothing says that MariaDB moves a table's time of change before snapshots see the commit.
  await statements.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
  const facts = withOpenWriters(await readTableFacts(statements), oldestWriter);
  const layout = await memory.layouts.read(connection, dbType, localTables, facts);
  await served?.check(connection, layout);
  const { previous, heads } = await readNewHeads(connection, layout, memory);
  if (heads.length > 0) {
    memory.align(layout, facts);
    binlog?.align(layout);
    const logged = (await binlog?.readForGroup(statements, facts)) ?? null;
    yield* new GroupReader(statements, { layout, memory, facts, heads, previous, logged }).read();
  }
  if (heads.length === 0 || !keepsOpen) await connection.query('COMMIT');
}

/** Reads the heads above the last broadcast one, without a hole. @throws {PlatformError} DATABASE_UNUSABLE when a block is missing */
async function readNewHeads(
  connection: Connection,
  layout: SourceLayout,
  memory: SourceMemory
): Promise<{ previous: BlockHashes | null; heads: BlockHead[] }> {
  const nothing = { previous: null, heads: [] };
  if (!layout.heads) return nothing;
  const first = memory.height >= 0 ? memory.height + 1 : ((await readFirstHeight(connection)) ?? 0);
  const near = await readBlockHeads(connection, layout.heads, Math.max(0, first - NEIGHBOURS), Number.MAX_SAFE_INTEGER);
  const visible = visibleHeads(near);
  const tip = visible.at(-1)?.height ?? -1;
  if (tip <= memory.height) return nothing;
  const previous = near.find(({ height }) => height === first - 1)?.hashes ?? null;
  const known = memory.recent.at(-1);
  if (known?.height === first - 1 && memory.findFork(near, tip) !== null) return nothing;
  const heads = visible.filter(({ height }) => height >= first);
  const hole = heads.findIndex(({ height }, index) => height !== first + index);
  if (hole === 0) {
    throw new PlatformError('DATABASE_UNUSABLE', {
      reason: `block ${first} is missing, and the tip is ${tip}`
    });
  }
  return { previous, heads: hole < 0 ? heads : heads.slice(0, hole) };
}

/** A scoped table, and the column that divides its rows. */
interface Scoped {
  readonly plan: TablePlan;
  readonly ranging: Ranging;
}

/** Input from which a group is read. */
interface GroupInput {
  readonly layout: SourceLayout;
  readonly memory: SourceMemory;
  readonly facts: ReadonlyMap<string, TableFacts>;
  readonly heads: readonly BlockHead[];
  /** Hashes of the block before the first head. */
  readonly previous: BlockHashes | null;
  readonly logged: BinlogRead | null;
}

class GroupReader {
  readonly #statements: Statements;
  readonly #layout: SourceLayout;
  readonly #memory: SourceMemory;
  readonly #facts: ReadonlyMap<string, TableFacts>;
  readonly #heads: readonly BlockHead[];
  readonly #group: Group;
  readonly #parents: readonly Scoped[];
  readonly #others: readonly Scoped[];
  readonly #lookups: LookupReader;
  /** By lookup table: the highest id that was broadcast before the group. */
  readonly #lastIds: ReadonlyMap<string, bigint>;
  readonly #touched: TouchedKeys;
  readonly #logged: BinlogRead | null;
  readonly #own = new OwnValues();
  readonly #withRows = new Set<string>();
  /** By table: values of the group's own blocks whose rows were broadcast before. */
  readonly #stale = new Map<string, Span[]>();
  #previous: BlockHashes | null;
  /** New lookup rows that went with blocks of the group before. */
  #earlier: WireRows = {};

  constructor(statements: Statements, { layout, memory, facts, heads, previous, logged }: GroupInput) {
    this.#statements = statements;
    this.#layout = layout;
    this.#memory = memory;
    this.#facts = facts;
    this.#heads = heads;
    this.#previous = previous;
    this.#group = { first: memory.openGroup ?? heads[0]!.height, last: heads.at(-1)!.height };
    const ofClass = (name: TablePlan['class']) => layout.plans.filter((plan) => plan.class === name);
    const scoped = ofClass('scoped').map((plan) => ({ plan, ranging: rangingOf(plan, layout.tables) }));
    const isParent = ({ plan }: Scoped) => scoped.some((other) => other.plan.scope?.parent === plan.name);
    this.#parents = scoped.filter(isParent);
    this.#others = scoped.filter((table) => !isParent(table));
    this.#lastIds = new Map([...memory.lookups].map(([name, { lastId }]) => [name, lastId]));
    this.#logged = logged;
    const lookups = ofClass('lookup');
    const settled = new Set(lookups.map(({ name }) => name).filter((name) => this.#isLogged(name)));
    const read = logged
      ? lookups.filter(({ name }) => !settled.has(name) || logged.touched.has(name))
      : this.#movedLookups(lookups);
    this.#lookups = new LookupReader(statements, read, memory.lookups, memory.heldIds, settled);
    this.#touched = new TouchedKeys(touchRules(layout.plans));
    for (const [table, keys] of memory.forced) for (const key of keys) this.#touched.add(table, key);
  }

  async *read(): AsyncGenerator<GroupBlock> {
    let size = this.#heads.length === 1 ? 1 : 10;
    for (let start = 0; start < this.#heads.length; ) {
      const heads = this.#heads.slice(start, start + size);
      const count = yield* this.#readChunk(heads);
      start += heads.length;
      if (count > CHUNK_ROWS) size = Math.max(1, Math.floor(size / 2));
      else if (count < CHUNK_ROWS / 2) size = Math.min(CHUNK_BLOCKS, size * 2);
    }
  }

  /** @returns how many rows of scoped tables it held */
  async *#readChunk(heads: readonly BlockHead[]): AsyncGenerator<GroupBlock, number> {
    const [from, to] = [heads[0]!.height, heads.at(-1)!.height];
    const rowsOf = new Map<string, OwnRows>();
    const values = new OwnValues();
    const parentsOf = new Map<number, Record<string, [number, number]>>();
    let count = 0;
    const add = (name: string, span: Span) => {
      values.add(name, span);
      this.#own.add(name, span);
    };
    add('block_index', [from, to]);
    for (const { plan, ranging } of this.#parents) {
      const found = await this.#readOwn(plan, ranging, from, to);
      rowsOf.set(plan.name, found);
      count += found.count;
      for (const column of this.#columnsOf(plan)) this.#noteParents(column, found, parentsOf, add);
    }
    const wanted = this.#others.map((table) => ({ ...table, spans: values.of(table.plan) }));
    const present = await findTables(this.#statements, wanted);
    const others = this.#others.filter(({ plan }) => present.has(plan.name));
    await Promise.all(
      others.map(async ({ plan, ranging }) => {
        const found = await this.#readOwn(plan, ranging, from, to);
        rowsOf.set(plan.name, found);
        count += found.count;
      })
    );
    this.#noteStale(values);
    for (const head of heads) {
      const isLast = head.height === this.#group.last;
      const lookups = await this.#lookups.take(isLast ? Number.MAX_SAFE_INTEGER : LOOKUP_ROWS);
      const rows: WireRows = this.#withEarlier(lookups.rows, isLast);
      const own = new Map<string, Map<Value, Checksum>>(lookups.sums);
      for (const [table, sums] of lookups.sums) {
        this.#own.addLookups(table, sums.keys());
        this.#withRows.add(table);
      }
      for (const [table, { byBlock, checksums }] of rowsOf) {
        const ofBlock = byBlock.get(head.height);
        if (ofBlock) rows[table] = ofBlock;
        const sums = checksums.get(head.height);
        if (sums) own.set(table, new Map(sums));
      }
      const changes = isLast ? await this.#readChanges(own) : null;
      const [layout, group, previous] = [this.#layout, this.#group, this.#previous];
      const parents = parentsOf.get(head.height) ?? {};
      const binlog = this.#logged?.at ?? null;
      const isFirst = head.height === this.#heads[0]!.height && this.#memory.openGroup === null;
      const amended = isFirst ? this.#memory.amendmentsOf(head.height - 1) : null;
      const before = amended === null ? {} : { amendedBefore: amended };
      const block = { head, previous, group, layout, rows, own, parents, changes, binlog, ...before };
      this.#previous = head.hashes;
      yield { ...block, lookups: lookups.memory };
    }
    return count;
  }

  /**
   * Adds new lookup rows to a group's first block, and again to its last: a client of another make may have a snapshot
   * of a block in between, and skip the messages up to there. Of a backlog with very many rows they come once.
   */
  #withEarlier(found: WireRows, isLast: boolean): WireRows {
    const all: WireRows = { ...this.#earlier };
    for (const [table, list] of Object.entries(found)) all[table] = [...(all[table] ?? []), ...list];
    if (isLast) return all;
    const count = Object.values(all).reduce((sum, { length }) => sum + length, 0);
    this.#earlier = count > LOOKUP_ROWS ? {} : all;
    return { ...found };
  }

  #noteStale(values: OwnValues): void {
    for (const { plan } of [...this.#parents, ...this.#others]) {
      const watch = this.#memory.watches.get(plan.name);
      if (!watch || watch.ranging.column === null) continue;
      for (const span of values.of(plan)) {
        const [first] = span ? watch.fine.entries(span[0], span[1]) : [];
        // Of values that stand for many, an amendment brings the rows.
        if (first && !isEnd(first[0])) this.#stale.set(plan.name, [...(this.#stale.get(plan.name) ?? []), span]);
      }
    }
  }

  async #readOwn(plan: TablePlan, ranging: Ranging, from: number, to: number): Promise<OwnRows> {
    const found = await readOwnRows(this.#statements, this.#layout, plan, ranging, from, to);
    for (const list of found.byBlock.values()) this.#touched.note(plan, list);
    if (found.count > 0) this.#withRows.add(plan.name);
    return found;
  }

  /** Returns the scope columns by which other tables hang on this one. */
  #columnsOf({ name }: TablePlan): ReadonlySet<string> {
    const hanging = [...this.#parents, ...this.#others].filter(({ plan }) => plan.scope?.parent === name);
    return new Set(hanging.map(({ plan }) => plan.scope!.column));
  }

  #noteParents(
    column: string,
    { byBlock }: OwnRows,
    parentsOf: Map<number, Record<string, [number, number]>>,
    add: (name: string, span: Span) => void
  ): void {
    for (const [height, list] of byBlock) {
      const numbers = list
        .map((row) => row[column])
        .filter((value) => value !== null)
        .map((value) => toValue(value)!);
      if (numbers.length === 0) continue;
      const bounds = numbers.reduce<[number, number]>(
        ([low, high], number) => [Math.min(low, number), Math.max(high, number)],
        [numbers[0]!, numbers[0]!]
      );
      parentsOf.set(height, { ...parentsOf.get(height), [column]: bounds });
      for (const number of numbers) add(column, [number, number]);
    }
  }

  /** @param own learns the checksums of lookup rows that were sent before and changed */
  async #readChanges(own: Map<string, Map<Value, Checksum>>): Promise<FoundChanges> {
    const stamped = await this.#readStamped(own);
    const { watches, blocksTime } = this.#memory;
    const { tables, gaps, unlooked } = await findChanges(this.#statements, this.#layout, {
      watches,
      facts: this.#facts,
      before: blocksTime,
      own: this.#own,
      stale: this.#stale,
      withRows: this.#withRows,
      touched: this.#touched,
      logged: this.#logged?.touched ?? null,
      again: this.#memory.again(AGAIN_ROWS),
      isAmended: this.#memory.isAmended
    });
    const { vanishedIds } = this.#lookups;
    const lookupTimes = new Map<string, string>();
    for (const { name, class: tableClass } of this.#layout.plans) {
      const known = this.#facts.get(name);
      if (tableClass === 'lookup' && known?.updateTime && isSettled(known, blocksTime))
        lookupTimes.set(name, known.updateTime);
    }
    const time = { lookupTimes, blocksTime: this.#facts.get('blocks')?.updateTime ?? null };
    const { lateIds } = this.#lookups;
    const lookupIds = new Map<string, readonly bigint[]>();
    for (const table of new Set([...lateIds.keys(), ...vanishedIds.keys(), ...stamped.keys()])) {
      const ofStamped = (stamped.get(table) ?? []).map((row) => toId(row['id'] as JsonId));
      const ids = [...(lateIds.get(table) ?? []), ...(vanishedIds.get(table) ?? []), ...ofStamped];
      lookupIds.set(table, [...new Set(ids)]);
    }
    return {
      tables,
      stamped,
      vanishedIds,
      lookupIds,
      gaps: [...this.#lookups.gaps, ...gaps],
      unlooked,
      ...time
    };
  }

  /** Returns whether the binary log names every change of a lookup table since it was sent. */
  #isLogged(table: string): boolean {
    const { lookups, heldIds } = this.#memory;
    const isKnown = lookups.get(table)?.recentIds != null && !heldIds.has(table);
    return isKnown && this.#namesRows(table);
  }

  /** Returns whether the binary log names the rows of a table that changed. */
  #namesRows(table: string): boolean {
    const touched = this.#logged?.touched;
    return touched !== undefined && !touched.isWhole(table) && !touched.isAltered(table);
  }

  /** Returns the lookup tables that may have changed since they were read last. */
  #movedLookups(plans: readonly TablePlan[]): TablePlan[] {
    return plans.filter(({ name }) => {
      const time = this.#memory.lookupTimes.get(name);
      const isKnown = this.#memory.lookups.get(name)?.recentIds && !this.#memory.heldIds.has(name);
      return !isKnown || time === undefined || time !== this.#facts.get(name)?.updateTime;
    });
  }

  /**
   * Reads the known rows of lookup tables that changed: those that the binary log names, else those that name one of
   * these blocks, which they get later.
   */
  async #readStamped(own: Map<string, Map<Value, Checksum>>): Promise<Map<string, SqlRow[]>> {
    const { first, last } = this.#group;
    const found = new Map<string, SqlRow[]>();
    const keep = ({ name }: TablePlan, list: readonly ReadRow[]) => {
      if (list.length === 0) return;
      found.set(
        name,
        list.map(({ row }) => row)
      );
      const sums = own.get(name) ?? new Map<Value, Checksum>();
      own.set(name, sums);
      for (const { value, checksum } of list) sums.set(value, checksum);
      this.#own.addLookups(
        name,
        list.map(({ value }) => value)
      );
    };
    const readOf = async (plan: TablePlan) => {
      const lastId = this.#lastIds.get(plan.name);
      if (plan.class !== 'lookup' || lastId === undefined) return;
      // Also after a snapshot or a reorg, when it is not known which ids were sent.
      if (this.#namesRows(plan.name)) {
        keep(plan, await this.#readLogged(plan, lastId));
        return;
      }
      if (!plan.columns.some(({ name }) => name === 'block_index')) return;
      const where = 'r.block_index BETWEEN ? AND ? AND r.id <= ?';
      keep(plan, await readRows(this.#statements, plan, BY_ID, where, { values: [first, last, toJsonId(lastId)] }));
    };
    await Promise.all(this.#layout.plans.map(readOf));
    return found;
  }

  /** Reads the rows up to the watermark that the binary log names, as they are now, and notes those that are gone. */
  async #readLogged(plan: TablePlan, lastId: bigint): Promise<ReadRow[]> {
    const logged = this.#logged!.touched.values(plan.name);
    const named = [...logged].flatMap((id) => (id !== null && id <= lastId ? [BigInt(id)] : []));
    const list: ReadRow[] = [];
    for (let at = 0; at < named.length; at += LOOKUP_IDS) {
      const ids = named.slice(at, at + LOOKUP_IDS).map(toJsonId);
      for (const each of await readRows(this.#statements, plan, BY_ID, 'r.id IN (?)', { values: [ids] }))
        list.push(each);
    }
    const present = new Set(list.map(({ row }) => toId(row['id'] as JsonId)));
    const gone = named.filter((id) => !present.has(id));
    const { vanishedIds } = this.#lookups;
    if (gone.length > 0) vanishedIds.set(plan.name, [...new Set([...(vanishedIds.get(plan.name) ?? []), ...gone])]);
    return list;
  }
}
