import type { OlderChanges, RecentBlock, ResumePoint } from '../../actors/protocol.ts';
import { type BlockHashes, type DbType, sameBlock, unknownHashes } from '../wire/database.ts';
import { type BlockHead, readBlockHeads } from './block-hashes.ts';
import type { GroupBlock } from './block-reader.ts';
import { DERIVED_WHOLE_ROWS, type Keys, readTableMemory, type TableMemory, unknownTable } from './change-finder.ts';
import type { TablePlan } from './classify.ts';
import type { Connection } from './connection.ts';
import { type LookupMemory, readLookupMemory } from './lookup-reader.ts';
import { listOlder, olderChanges } from './older-changes.ts';
import { EMPTY_FIGURE, figureCount, readFigures, readTableFigure } from './scope-sql.ts';
import {
  allScopes,
  changedScopes,
  forgetScopes,
  readLastId,
  readScopedMemory,
  type ScopedMemory,
  scopedDigest,
  unknownDigest,
  unknownScopes,
  WINDOW
} from './scoped-window.ts';
import { planSignature, type SourceLayout } from './source-layout.ts';
import type { Standing } from './standing.ts';

/** Lookup ids that are sent again after a reorg of blocks which were never broadcast from here. */
const UNKNOWN_IDS = 5_000;

/** What only the actor that told a group knows of it: to be said again when a reorg undoes the group. */
interface GroupRecord {
  readonly first: number;
  readonly last: number;
  /** Null: the table went whole. */
  readonly touched: ReadonlyMap<string, Keys | null>;
  readonly heldIds: ReadonlyMap<string, number>;
}

/** Everything that was broadcast of one database, as far as it is needed to find what changed since. */
export class SourceMemory {
  height: number;
  blockTime: number | null;
  hashes: BlockHashes;
  openGroup: number | null;
  reorgs: number;
  readonly lookups = new Map<string, LookupMemory>();
  readonly scoped = new Map<string, ScopedMemory>();
  readonly tables = new Map<string, TableMemory>();
  /** Keys that a reorg may have undone at the replicas, by table: their rows go with the next group. */
  readonly forced = new Map<string, Set<string>>();
  /** By lookup table, the highest id that the reader of a snapshot may hold since the last group. */
  readonly heldIds = new Map<string, number>();
  readonly #dbType: DbType;
  #recent: RecentBlock[];
  #groups: GroupRecord[] = [];
  #lookupsBefore: Record<string, number> = {};

  private constructor(
    dbType: DbType,
    start: Pick<ResumePoint, 'height' | 'blockTime' | 'hashes' | 'recent' | 'openGroup' | 'reorgs'>
  ) {
    this.#dbType = dbType;
    this.height = start.height;
    this.blockTime = start.blockTime;
    this.hashes = start.hashes;
    this.openGroup = start.openGroup;
    this.reorgs = start.reorgs ?? 0;
    this.#recent = [...start.recent];
  }

  /** Everything up to the tip counts as broadcast. Call it inside a snapshot. @param tip null: there is no block yet */
  static async atTip(connection: Connection, layout: SourceLayout, tip: BlockHead | null): Promise<SourceMemory> {
    const hashes = tip?.hashes ?? unknownHashes(layout.dbType);
    const height = tip?.height ?? -1;
    // A fork may lie below the tip: the blocks under it are known as well.
    const heads =
      tip && layout.heads ? await readBlockHeads(connection, layout.heads, height - WINDOW + 1, height) : [];
    const memory = new SourceMemory(layout.dbType, {
      height,
      blockTime: tip?.blockTime ?? null,
      hashes,
      recent: heads.map((head) => ({ height: head.height, hashes: head.hashes })),
      openGroup: null
    });
    for (const plan of layout.plans) {
      if (plan.class === 'lookup') memory.lookups.set(plan.name, await readLookupMemory(connection, plan));
      if (plan.class === 'scoped')
        memory.scoped.set(plan.name, await readScopedMemory(connection, layout, plan, height, null));
      if (plan.class === 'mutable' || plan.class === 'derived')
        memory.tables.set(plan.name, await readTableMemory(connection, layout, plan));
    }
    return memory;
  }

  /** As the predecessor left it; what changed since is unknown and goes with the next group. Call it inside a snapshot. */
  static async resume(connection: Connection, layout: SourceLayout, point: ResumePoint): Promise<SourceMemory> {
    const memory = new SourceMemory(layout.dbType, point);
    for (const plan of layout.plans) {
      const { name } = plan;
      if (plan.class === 'lookup') memory.lookups.set(name, { lastId: point.lookupIds[name] ?? 0, recentIds: null });
      if (plan.class === 'scoped') {
        const before = { digest: point.scopedDigests[name], lastId: point.scopedIds[name] };
        memory.scoped.set(name, await readScopedMemory(connection, layout, plan, point.height, before));
      }
      if (plan.class === 'mutable' || plan.class === 'derived') {
        const figure = await readTableFigure(connection, plan);
        const same = figure === point.mutableDigests[name];
        memory.tables.set(
          name,
          same
            ? await readTableMemory(connection, layout, plan, figure)
            : unknownTable(plan, point.mutableDigests[name] ?? null)
        );
      }
    }
    return memory;
  }

  /** Takes up new tables, and forgets what was known of tables whose columns or class changed. */
  align(layout: SourceLayout): void {
    for (const plan of layout.plans) {
      const signature = planSignature(plan);
      const scoped = this.scoped.get(plan.name);
      if (plan.class === 'scoped' && scoped?.signature !== signature) {
        const from = Math.max(0, this.height - WINDOW + 1);
        const known = scoped ?? { signature, from, figures: new Map(), lastId: 0 };
        this.scoped.set(plan.name, scoped ? unknownScopes(known, plan, this.height) : known);
      }
      const content = plan.class === 'mutable' || plan.class === 'derived';
      const table = this.tables.get(plan.name);
      if (content && table?.signature !== signature) {
        const created = { signature, figure: EMPTY_FIGURE, rows: new Map<string, number>(), lastId: 0 };
        this.tables.set(plan.name, table ? unknownTable(plan) : created);
      }
    }
  }

  /** Remembers that a block was broadcast. */
  accept(block: GroupBlock): void {
    const { head, group, lookups, figures, changes } = block;
    for (const [table, next] of lookups) {
      this.#lookupsBefore[table] ??= this.lookups.get(table)?.lastId ?? 0;
      this.lookups.set(table, next);
    }
    for (const [table, figure] of figures) this.scoped.get(table)?.figures.set(head.height, figure);
    this.height = head.height;
    this.blockTime = head.blockTime;
    this.hashes = head.hashes;
    const older = changes && olderChanges(changes, this.scoped);
    const lookupsBefore = { ...this.#lookupsBefore };
    this.#recent.push({ height: head.height, hashes: head.hashes, lookupsBefore, ...(older && { older }) });
    if (this.#recent.length > WINDOW) this.#recent.shift();
    this.openGroup = changes ? null : group.first;
    if (changes) this.#finish(changes, group);
  }

  #finish(changes: NonNullable<GroupBlock['changes']>, { first, last }: GroupBlock['group']): void {
    for (const [table, known] of this.scoped) {
      const from = Math.max(known.from, last - WINDOW + 1);
      const lastId = changes.lastIds.get(table) ?? known.lastId;
      const older = changes.figures.get(table) ?? [];
      // Where no rows are now, an absent figure must take the place of one that was unknown.
      const now = new Map([...known.figures, ...older]);
      const figures = new Map([...now].filter(([at, figure]) => at >= from && figure !== EMPTY_FIGURE));
      this.scoped.set(table, { ...known, from, lastId, figures });
    }
    for (const [table, { memory }] of changes.tables) this.tables.set(table, memory);
    const touched = new Map([...changes.tables].map(([table, change]) => [table, change.touched]));
    const heldIds = new Map(this.heldIds);
    this.#groups.push({ first, last, touched, heldIds });
    if (this.#groups[0] && this.#groups[0].last <= last - WINDOW) this.#groups.shift();
    this.#lookupsBefore = {};
    this.forced.clear();
    this.heldIds.clear();
  }

  /**
   * Falls back below a fork: what the orphaned groups carried will be said again.
   *
   * @param fork the first orphaned height
   * @param blockTime of the block below it
   */
  rollBack(fork: number, blockTime: number | null = null): void {
    const orphaned = this.#recent.filter(({ height }) => height >= fork);
    // Late rows that the orphaned groups brought are gone at the replicas, and vanished ones are back.
    for (const [table, { lastId }] of this.lookups) this.lookups.set(table, { lastId, recentIds: null });
    // Blocks that were there at the start: how many ids they dealt is not known, so more than enough are sent again.
    if (orphaned.some(({ lookupsBefore }) => lookupsBefore === undefined)) {
      for (const [table, { lastId }] of this.lookups) this.#lowerLookup(table, Math.max(0, lastId - UNKNOWN_IDS));
    }
    for (const { lookupsBefore, older } of orphaned.reverse()) {
      for (const [table, lastId] of Object.entries(lookupsBefore ?? {})) this.#lowerLookup(table, lastId);
      if (older !== undefined) this.#undoOlder(older, fork);
    }
    this.#recent = this.#recent.filter(({ height }) => height < fork);
    // Groups that a predecessor told: which rows they changed is not known, so small tables go whole.
    if (orphaned.some(({ height }) => height < (this.#groups[0]?.first ?? Number.POSITIVE_INFINITY))) {
      for (const [table, known] of this.tables)
        if (figureCount(known.figure ?? EMPTY_FIGURE) <= DERIVED_WHOLE_ROWS)
          this.tables.set(table, { ...known, figure: null, rows: null });
    }
    for (const group of this.#groups.filter(({ last }) => last >= fork).reverse()) this.#undo(group);
    this.#groups = this.#groups.filter(({ last }) => last < fork);
    for (const [table, known] of this.scoped) {
      const figures = new Map([...known.figures].filter(([at]) => at < fork));
      this.scoped.set(table, { ...known, from: Math.min(known.from, fork), figures });
    }
    const last = this.#recent.at(-1);
    this.reorgs++;
    this.height = fork - 1;
    this.blockTime = blockTime;
    this.hashes = last?.height === fork - 1 ? last.hashes : unknownHashes(this.#dbType);
    if (this.openGroup !== null && this.openGroup >= fork) this.openGroup = null;
    this.#lookupsBefore = {};
  }

  /**
   * A snapshot at a block that is broadcast has readers, and they go on with the next group: where their state is not what was
   * broadcast, that group says all of it again. The difference alone would pass over what changed back in between.
   */
  meet({ height, from, tables, scoped, lookups }: Standing): void {
    for (const [name, figure] of Object.entries(tables)) {
      const known = this.tables.get(name);
      if (known?.figure === figure) continue;
      this.tables.set(name, { signature: '', lastId: 0, ...known, figure: null, rows: null });
    }
    for (const [name, figures] of Object.entries(scoped)) {
      const known = this.scoped.get(name);
      const changed = known ? changedScopes(known, figures, Math.min(height, this.height), from) : [];
      if (known && changed.length > 0) this.scoped.set(name, forgetScopes(known, changed));
    }
    for (const [name, lastId] of Object.entries(lookups)) {
      // A source that undoes its blocks before the ids that they dealt shows ids which the next group may not have.
      this.#hold(name, lastId);
      this.#lowerLookup(name, lastId);
    }
  }

  /** Whether a table's content is what was broadcast of it. Call it inside a snapshot. */
  async holds(connection: Connection, layout: SourceLayout, plan: TablePlan): Promise<boolean> {
    const { name } = plan;
    switch (plan.class) {
      case 'mutable':
      case 'derived':
        return this.tables.get(name)?.figure === (await readTableFigure(connection, plan));
      case 'scoped': {
        const known = this.scoped.get(name);
        if (!known) return false;
        const now = await readFigures(connection, plan, layout.tables, known.from, this.height);
        return changedScopes(known, now, this.height).length === 0;
      }
      case 'lookup':
        return (this.lookups.get(name)?.lastId ?? 0) >= (await readLastId(connection, plan));
      default:
        return true;
    }
  }

  #hold(table: string, id: number): void {
    this.heldIds.set(table, Math.max(id, this.heldIds.get(table) ?? 0));
  }

  #lowerLookup(table: string, lastId: number): void {
    const known = this.lookups.get(table);
    if (known && lastId < known.lastId) this.lookups.set(table, { lastId, recentIds: null });
  }

  #undoOlder(older: OlderChanges | null, fork: number): void {
    for (const [table, known] of this.scoped) {
      const below = (older ? (older.rescoped[table] ?? []) : allScopes(known, fork - 1)).filter((at) => at < fork);
      const lastId = Math.min(known.lastId, older?.lastIdsBefore[table] ?? known.lastId);
      this.scoped.set(table, { ...forgetScopes(known, below), lastId });
    }
  }

  #undo(group: GroupRecord): void {
    for (const [table, id] of group.heldIds) this.#hold(table, id);
    for (const [table, keys] of group.touched) {
      const known = this.tables.get(table);
      if (!known) continue;
      if (keys === null) this.tables.set(table, { ...known, figure: null, rows: null });
      else this.forced.set(table, new Set([...(this.forced.get(table) ?? []), ...keys]));
    }
  }

  /**
   * The first orphaned height, when the database no longer has the blocks that were broadcast; else null.
   *
   * @param heads what the database has now of the recent heights
   */
  findFork(heads: readonly BlockHead[], tip: number): number | null {
    const now = new Map(heads.map((head) => [head.height, head.hashes]));
    const isKept = ({ height, hashes }: RecentBlock) => {
      const current = now.get(height);
      return current !== undefined && sameBlock(current, hashes);
    };
    const newest = this.#recent.at(-1);
    if (!newest) return this.height > tip ? tip + 1 : null;
    if (isKept(newest) && newest.height === this.height) return null;
    const kept = this.#recent.findLast(isKept);
    return kept ? kept.height + 1 : Math.min(this.#recent[0]!.height, tip + 1);
  }

  get recent(): readonly RecentBlock[] {
    return this.#recent;
  }

  /**
   * What a successor needs.
   *
   * @param isUncertain readers of a snapshot go on from a state that is not known yet: nothing counts as what was broadcast
   */
  point(isUncertain = false): ResumePoint {
    const entries = <T, V>(map: ReadonlyMap<string, T>, value: (item: T, name: string) => V) =>
      Object.fromEntries([...map].map(([name, item]) => [name, value(item, name)]));
    return {
      height: this.height,
      blockTime: this.blockTime,
      hashes: this.hashes,
      recent: listOlder(this.#recent),
      openGroup: this.openGroup,
      reorgs: this.reorgs,
      lookupIds: entries(this.lookups, ({ lastId }) => lastId),
      scopedIds: entries(this.scoped, ({ lastId }) => lastId),
      // A figure that is not known must equal nothing, also at the successor; so must that of a table of which a reorg undid rows.
      mutableDigests: entries(this.tables, ({ figure }, name) =>
        isUncertain || this.forced.has(name) ? '?' : (figure ?? '?')
      ),
      scopedDigests: entries(this.scoped, (known) =>
        isUncertain ? unknownDigest(known) : scopedDigest(known, this.height)
      )
    };
  }
}
