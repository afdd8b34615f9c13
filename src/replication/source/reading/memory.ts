import { randomBytes, randomUUID } from 'node:crypto';
import type { Connection } from '../../../db/connection.ts';
import { type BlockHashes, type DbType, sameBlock, unknownHashes } from '../../../wire/data/database.ts';
import type { Learned, Life } from '../../../wire/data/messages.ts';
import type { MissedChanges } from '../../../wire/data/snapshot.ts';
import type { BlockHead } from '../../tables/block-hashes.ts';
import type { TablePlan } from '../../tables/classify.ts';
import type { SourceLayout } from '../../tables/source-layout.ts';
import type { TableFound } from '../changes/found-changes.ts';
import { toValue } from '../changes/ranging.ts';
import { HIGHEST, isEnd, LOWEST, mergeSpans, type Span, spansOf, withoutSpans } from '../changes/spans.ts';
import type { TableFacts } from '../changes/table-facts.ts';
import { RANGE_WIDTH, START_ROWS, TableWatch, watchSignature } from '../changes/table-watch.ts';
import { holdsRows, isWatched } from '../changes/watch-reader.ts';
import type { GroupBlock } from './group-block.ts';
import { LayoutCache } from './layout-cache.ts';
import { type JsonId, larger, toId, toJsonId } from './lookup-id.ts';
import { holdsLookups, type LookupMemory } from './lookup-reader.ts';
import { addFork, listOlder, missedSince } from './older-changes.ts';
import {
  type Fork,
  type KeptWatch,
  type OlderChanges,
  RECENT_BLOCKS,
  type RecentBlock,
  type ResumePoint,
  type ResumeStep,
  SUM_ALGORITHM
} from './resume-point.ts';
import { ResumeSteps } from './resume-steps.ts';
import type { SnapshotChecksums } from './snapshot-checksums.ts';

/** Starts that are remembered: a replica of an earlier one compares itself. */
const LIVES_MAX = 16;

/** Lookup ids that are sent again after a reorg of blocks which were never broadcast from here. */
const UNKNOWN_IDS = 5_000n;

/** Parts of amendments that are remembered to be sent once more, and the rows of them that one block brings. */
const AGAIN_MAX = 1_000;
export const AGAIN_ROWS = 20_000;

/** Returns ids as spans; all beyond the safe integers count as one. */
const idSpans = (ids: readonly bigint[]): Span[] => mergeSpans(ids.map((id) => [toValue(id), toValue(id)] as const));

/** Everything that was broadcast of one database, as far as it is needed to find what changed since. */
export class SourceMemory {
  height: number;
  blockTime: number | null;
  hashes: BlockHashes;
  openGroup: number | null;
  reorgs: number;
  /** A reorg came after the last group. */
  isTakenBack = false;
  readonly layouts = new LayoutCache();
  readonly lookups = new Map<string, LookupMemory>();
  /** By lookup table: UPDATE_TIME when it was last read, where a later change shows another one. */
  readonly lookupTimes = new Map<string, string>();
  /** UPDATE_TIME of `blocks` when it was read last; null: not known. */
  blocksTime: string | null = null;
  readonly watches = new Map<string, TableWatch>();
  /** By derived table: keys that a reorg may have undone at the replicas; the next group sends their rows. */
  readonly forced = new Map<string, Set<string>>();
  /** By lookup table, the highest id that the reader of a snapshot may hold since the last group. */
  readonly heldIds = new Map<string, bigint>();
  /** The last starts, this one last: who has a block of one of them knows whether this one continues it. */
  readonly lives: readonly Life[];
  /** Every subscriber takes amendments, as far as the last broadcast says. */
  isAmended = false;
  readonly #dbType: DbType;
  #recent: RecentBlock[];
  /** Reorgs that a reader of these blocks may not have noticed. */
  #forks: readonly Fork[];
  /** By height of a group's last block: the derived keys that it sent, and ids that snapshot readers held. */
  readonly #sent = new Map<
    number,
    { readonly keys: Map<string, ReadonlySet<string>>; readonly held: Map<string, bigint> }
  >();
  #lookupsBefore: Record<string, JsonId> = {};
  readonly #steps = new ResumeSteps();
  #learned: Learned | undefined;
  /** By table: values beyond the safe integers at which rows of the open group stand; others may stand there too. */
  readonly #shared = new Map<string, Span[]>();
  /** Parts that amendments brought, with their rows: the next blocks send them once more to subscribers without amendments. */
  #again: { readonly table: string; readonly spans: readonly Span[]; readonly rows: number }[] = [];

  /** @see memory-start.ts, which fills it from a database */
  constructor(
    dbType: DbType,
    start: Pick<
      ResumePoint,
      'height' | 'blockTime' | 'hashes' | 'recent' | 'openGroup' | 'reorgs' | 'forks' | 'learned' | 'lives'
    >
  ) {
    this.#dbType = dbType;
    // A predecessor amended the last block: whether subscribers without amendments have that is not known.
    const { amended = 0, older } = start.recent.at(-1) ?? {};
    if (amended > 0)
      this.#again = Object.entries(older?.spans ?? {}).map(([table, spans]) => ({ table, spans, rows: 0 }));
    this.height = start.height;
    this.blockTime = start.blockTime;
    this.hashes = start.hashes;
    this.openGroup = start.openGroup;
    this.reorgs = start.reorgs ?? 0;
    this.#recent = [...start.recent];
    this.#forks = start.forks ?? [];
    this.#learned = start.learned;
    const life = { id: randomBytes(9).toString('base64url'), from: start.height };
    this.lives = [...(start.lives ?? []), life].slice(-LIVES_MAX);
  }

  /** State that counts as broadcast up to a height although nobody knows whether it was; undefined: none. */
  get learned(): Learned | undefined {
    return this.#learned;
  }

  /** Lets the present rows count as broadcast up to the last block, though it is not known whether they were. */
  learn(): void {
    // Who has none of its blocks takes a snapshot.
    if (this.height < 0) return;
    this.#learned = { height: this.height, id: randomUUID() };
  }

  /** Adds new tables, and forgets tables that are gone, or whose columns or class changed. */
  align(layout: SourceLayout, facts: ReadonlyMap<string, TableFacts>): void {
    const present = new Set(layout.plans.filter(isWatched).map(({ name }) => name));
    // Replicas put a table aside that is gone: what comes under its name is new to them.
    for (const tables of [this.watches, this.lookups, this.lookupTimes, this.forced, this.heldIds])
      for (const name of [...tables.keys()]) if (!present.has(name)) tables.delete(name);
    for (const plan of layout.plans.filter(isWatched)) {
      const known = this.watches.get(plan.name);
      if (known?.signature === watchSignature(plan, layout.tables)) continue;
      // The replicas alter their own rows; of a large table they compare what that left.
      const count = facts.get(plan.name)?.rows ?? 0;
      const isLarge = known !== undefined && count > START_ROWS;
      const watch = new TableWatch(
        plan,
        layout.tables,
        isLarge ? RANGE_WIDTH * Math.floor(HIGHEST / RANGE_WIDTH) : LOWEST,
        count
      );
      // What the server gave to the old rows, as by DEFAULT CURRENT_TIMESTAMP, nobody sent: they are looked at after the block.
      if (isLarge) watch.isLooked = false;
      else watch.requireAll();
      watch.lastId = known?.lastId ?? 0;
      this.watches.set(plan.name, watch);
      // The recorded parts are parts by another column.
      if (!known || known.ranging.column === watch.ranging.column) continue;
      this.#steps.noteOther();
      this.#recent = this.#recent.map(({ scoped, ...block }) => (block.older ? { ...block, older: null } : block));
    }
  }

  /** Everything that changed up to the last block was sent. */
  get isSettled(): boolean {
    return this.openGroup === null && this.unsettled.length === 0;
  }

  /** Tables of which not all rows that changed up to the last block were sent. */
  get unsettled(): readonly string[] {
    return [...this.watches].filter(([, { isLooked, isOwing }]) => !isLooked || isOwing).map(([name]) => name);
  }

  /** Amendments that were sent of a block; null: not known. */
  amendmentsOf(height: number): number | null {
    const block = this.#recent.findLast((each) => each.height === height);
    return block?.lookupsBefore === undefined ? null : (block.amended ?? 0);
  }

  /** Returns the parts to send once more with the next block, by table, with at most this many rows. */
  again(maxRows: number): ReadonlyMap<string, readonly Span[]> {
    const parts = new Map<string, Span[]>();
    let room = maxRows;
    for (const { table, spans, rows } of this.#again) {
      room -= rows;
      if (room < 0 && parts.size > 0) break;
      parts.set(table, [...(parts.get(table) ?? []), ...spans]);
    }
    return parts;
  }

  /** Remembers that an amendment of the last block was broadcast. @returns its number */
  amend(tables: ReadonlyMap<string, TableFound>): number {
    const last = this.#recent.at(-1)!;
    const spans: Record<string, readonly Span[]> = { ...last.older?.spans };
    const keys = this.#sent.get(last.height)?.keys ?? new Map<string, ReadonlySet<string>>();
    for (const [table, { sent, left, notes, keys: sentKeys }] of tables) {
      const watch = this.watches.get(table)!;
      watch.explained = notes.explained;
      watch.replace(sent.spans, sent.entries);
      // Readers of a snapshot may have added some meanwhile.
      watch.pending = withoutSpans(watch.pending, sent.spans);
      watch.isOwing &&= left.length > 0;
      watch.trim();
      if (sent.spans.length > 0) spans[table] = mergeSpans([...(spans[table] ?? []), ...sent.spans]);
      if (sentKeys && sentKeys.size > 0) keys.set(table, new Set([...(keys.get(table) ?? []), ...sentKeys]));
    }
    const older = last.older === null ? null : { spans, lastIdsBefore: last.older?.lastIdsBefore ?? {} };
    const amended = (last.amended ?? 0) + 1;
    this.#recent = [...this.#recent.slice(0, -1), { ...last, older, amended }];
    this.#steps.noteAmendment();
    return amended;
  }

  /** Remembers parts that only subscribers with amendments have. */
  repeat(tables: ReadonlyMap<string, TableFound>): void {
    for (const [table, { sent }] of tables) {
      const rows = [...sent.entries.values()].reduce((sum, checksum) => sum + checksum.rows, 0);
      if (sent.spans.length > 0) this.#again.push({ table, spans: sent.spans, rows });
    }
    this.#again = this.#again.slice(-AGAIN_MAX);
  }

  /** Forgets what was looked at since the last block's snapshot. @param which default: in any table */
  unlook(which: (watch: TableWatch) => boolean = () => true): void {
    for (const watch of this.watches.values()) if (which(watch)) watch.isLooked = false;
  }

  /** Remembers that a block was broadcast. */
  accept(block: GroupBlock): void {
    const { head, group, lookups, own, parents, changes } = block;
    for (const [table, next] of lookups) {
      this.#lookupsBefore[table] ??= toJsonId(this.lookups.get(table)?.lastId ?? 0n);
      this.lookups.set(table, next);
    }
    for (const [table, sums] of own) {
      const watch = this.watches.get(table);
      for (const [value, checksum] of sums) {
        const span: Span = value === null ? null : [value, value];
        if (isEnd(value)) this.#shared.set(table, [...(this.#shared.get(table) ?? []), span]);
        else watch?.replace([span], new Map([[value, checksum]]));
      }
    }
    this.height = head.height;
    this.blockTime = head.blockTime;
    this.hashes = head.hashes;
    const lookupsBefore = { ...this.#lookupsBefore };
    const older = changes && this.#olderOf(block);
    const again = changes ? this.again(AGAIN_ROWS) : null;
    if (again) this.#again = this.#again.filter(({ table, spans }) => !again.get(table)?.includes(spans[0]!));
    const place = changes ? { ...(older && { older }) } : { within: group.first };
    this.#recent.push({ height: head.height, hashes: head.hashes, lookupsBefore, parents, ...place });
    if (this.#recent.length > RECENT_BLOCKS) this.#recent.shift();
    this.#steps.noteBlock();
    this.#forks = this.#forks.filter((fork) => fork.height >= this.#recent[0]!.height - 1);
    this.openGroup = changes ? null : group.first;
    if (!changes) return;
    this.#finish(changes, group.last);
    if (block.binlog) for (const watch of this.watches.values()) watch.learned = [];
  }

  #olderOf({ changes }: GroupBlock): OlderChanges | null {
    const spans: Record<string, readonly Span[]> = {};
    const lastIdsBefore: Record<string, number> = {};
    for (const [
      table,
      {
        sent,
        notes: { lastId }
      }
    ] of changes!.tables) {
      if (sent.spans.length > 0) spans[table] = sent.spans;
      const before = this.watches.get(table)?.lastId ?? lastId;
      if (before < lastId && !this.lookups.has(table)) lastIdsBefore[table] = before;
    }
    for (const [table, ids] of changes!.lookupIds)
      spans[table] = mergeSpans([...(spans[table] ?? []), ...idSpans(ids)]);
    return Object.keys(spans).length + Object.keys(lastIdsBefore).length === 0 ? null : { spans, lastIdsBefore };
  }

  #finish(
    { tables, vanishedIds, lookupTimes, blocksTime, unlooked }: NonNullable<GroupBlock['changes']>,
    last: number
  ): void {
    this.blocksTime = blocksTime;
    for (const [table, ids] of vanishedIds) this.watches.get(table)?.replace(idSpans(ids), new Map());
    this.isTakenBack = false;
    const keys = new Map<string, ReadonlySet<string>>();
    for (const [table, { sent, left, notes, keys: sentKeys }] of tables) {
      const watch = this.watches.get(table)!;
      watch.explained = notes.explained;
      watch.replace(sent.spans, sent.entries);
      watch.pending = [...left];
      watch.lastId = notes.lastId;
      if (notes.isLooked) {
        watch.times = notes.times;
        watch.isSettled = notes.isSettled;
        watch.stamp = notes.stamp;
      }
      if (sentKeys && sentKeys.size > 0) keys.set(table, sentKeys);
    }
    for (const [table, watch] of this.watches) {
      watch.trim();
      watch.isLooked = !unlooked.has(table);
      watch.isTakenBack = false;
      watch.require(this.#shared.get(table) ?? []);
      watch.isOwing = (tables.get(table)?.left.length ?? 0) > 0 || this.#shared.has(table);
    }
    this.#shared.clear();
    this.lookupTimes.clear();
    for (const [table, time] of lookupTimes) this.lookupTimes.set(table, time);
    this.#sent.set(last, { keys, held: new Map(this.heldIds) });
    for (const height of this.#sent.keys()) if (height <= last - RECENT_BLOCKS) this.#sent.delete(height);
    this.#lookupsBefore = {};
    this.forced.clear();
    this.heldIds.clear();
  }

  /**
   * Goes back below a fork: the next groups send again what the orphaned groups carried.
   *
   * @param fork the first orphaned height
   * @param blockTime of the block below it
   */
  rollBack(fork: number, layout: SourceLayout | null, blockTime: number | null = null): void {
    const orphaned = this.#recent.filter(({ height }) => height >= fork);
    const isUnlisted = orphaned.some(({ lookupsBefore, older }) => lookupsBefore === undefined || older === null);
    this.#forks = addFork(this.#forks, { fork, height: this.height, ...(isUnlisted && { isUnlisted }) });
    // Late rows that the orphaned groups brought are gone at the replicas, and vanished ones are back.
    for (const [table, { lastId, toldId = lastId }] of this.lookups)
      this.lookups.set(table, { lastId, toldId, recentIds: null });
    this.lookupTimes.clear();
    // Blocks that were there at the start: how many ids they dealt is not known, so more than enough are sent again.
    if (orphaned.some(({ lookupsBefore }) => lookupsBefore === undefined)) {
      for (const [table, { lastId }] of this.lookups) this.#lowerLookup(table, larger(0n, lastId - UNKNOWN_IDS));
    }
    for (const plan of layout?.plans ?? []) this.#cut(plan, fork, orphaned);
    for (const block of orphaned.toReversed()) {
      for (const [table, lastId] of Object.entries(block.lookupsBefore ?? {})) this.#lowerLookup(table, toId(lastId));
      const sentBefore = this.#sent.get(block.height);
      // The rows of derived tables go by their keys, as far as those are known.
      if (block.older !== undefined) this.#undoOlder(block.older, sentBefore?.keys);
      for (const [table, id] of sentBefore?.held ?? []) this.#hold(table, id);
      for (const [table, keys] of sentBefore?.keys ?? [])
        this.forced.set(table, new Set([...(this.forced.get(table) ?? []), ...keys]));
      this.#sent.delete(block.height);
    }
    // For groups of a predecessor and open groups, the changed rows without a block are unknown.
    if (orphaned.some(({ lookupsBefore }) => lookupsBefore === undefined)) this.#undoOlder(null);
    this.#recent = this.#recent.filter(({ height }) => height < fork);
    this.#steps.noteOther();
    const last = this.#recent.at(-1);
    this.reorgs++;
    this.height = fork - 1;
    this.blockTime = blockTime;
    this.hashes = last?.height === fork - 1 ? last.hashes : unknownHashes(this.#dbType);
    if (this.openGroup !== null && this.openGroup >= fork) this.openGroup = null;
    this.#lookupsBefore = {};
    this.isTakenBack = true;
    // The source's own rollback is not the inverse of its blocks: what it left of other rows is not known.
    for (const watch of this.watches.values()) {
      watch.isTakenBack ||= watch.isLooked;
      watch.isLooked = false;
    }
    // Nor is what the orphaned groups sent.
    const isUnknown = ({ lookupsBefore, older }: RecentBlock) => lookupsBefore === undefined || older === null;
    if (last === undefined || orphaned.some(isUnknown)) this.learn();
  }

  /** Removes the rows of the orphaned blocks, which are gone at the replicas. */
  #cut({ name, scope }: TablePlan, fork: number, orphaned: readonly RecentBlock[]): void {
    const watch = this.watches.get(name);
    if (!watch || !scope || watch.ranging.column === null) return;
    if (scope.parent === null) {
      watch.cut(fork, this.height);
      return;
    }
    const bounds = orphaned.map(({ parents }) => parents?.[scope.column]);
    // Where a predecessor did not say which values its blocks had, the newest rows count as unknown.
    if (orphaned.some(({ parents }) => parents === undefined)) {
      watch.require([[watch.from, HIGHEST]]);
      watch.fine.delete(watch.from, HIGHEST);
    } else {
      const known = bounds.filter((each) => each !== undefined);
      if (known.length > 0)
        watch.cut(
          known.reduce((least, [low]) => Math.min(least, low), HIGHEST),
          known.reduce((most, [, high]) => Math.max(most, high), LOWEST)
        );
    }
  }

  /** Readers of a snapshot continue with the next group: if their state differs from the broadcast one, that group sends it again. */
  reconcileReaders({ tables, lookups }: SnapshotChecksums): void {
    for (const [name, { from, to, entries }] of Object.entries(tables)) {
      const watch = this.watches.get(name);
      if (!watch) continue;
      const start = Math.max(from ?? LOWEST, watch.from);
      const within = new Map(
        entries.filter(([value]) => value === null || (value >= start && value <= (to ?? HIGHEST)))
      );
      const spans: Span[] = [[start, to ?? HIGHEST], ...(from === null ? [null] : [])];
      watch.require(spansOf(watch.changed(spans, within)));
    }
    for (const [name, id] of Object.entries(lookups)) {
      const lastId = toId(id);
      // A source that undoes its blocks before the ids that they dealt shows ids which the next group may not have.
      this.#hold(name, lastId);
      this.#lowerLookup(name, lastId);
    }
  }

  /** Returns whether a table equals its broadcast state, as far as that is known. Call it inside a snapshot. */
  async holds(connection: Connection, plan: TablePlan): Promise<boolean> {
    if (plan.class === 'lookup' && !(await holdsLookups(connection, plan, this.lookups.get(plan.name)))) return false;
    const watch = this.watches.get(plan.name);
    if (!watch) return !isWatched(plan);
    return await holdsRows(connection, plan, watch);
  }

  #hold(table: string, id: bigint): void {
    this.heldIds.set(table, larger(id, this.heldIds.get(table) ?? id));
  }

  #lowerLookup(table: string, lastId: bigint): void {
    const known = this.lookups.get(table);
    if (!known || lastId >= known.lastId) return;
    const announced = known.toldId === undefined ? {} : { toldId: known.toldId };
    this.lookups.set(table, { lastId, ...announced, recentIds: null });
    this.watches.get(table)?.cut(toValue(String(lastId + 1n)));
  }

  /** @param older null: not known, so all that is known row by row goes again, of large tables the newest rows */
  #undoOlder(older: OlderChanges | null, keys?: ReadonlyMap<string, unknown>): void {
    for (const [table, watch] of this.watches) {
      if (older) {
        if (!keys?.has(table)) watch.require(older.spans[table] ?? []);
        watch.lastId = Math.min(watch.lastId, older.lastIdsBefore[table] ?? watch.lastId);
        watch.stamp = null;
      } else watch.require([[watch.lookFrom, HIGHEST], ...(watch.ranging.isNullable ? [null] : [])]);
    }
  }

  /**
   * Returns the first orphaned height, when the database no longer has the blocks that were broadcast; else null.
   *
   * @param heads the database's present blocks at the recent heights
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

  /** Returns the older rows that a reader at one block has missed up to another block; null: not known. */
  missedSince(since: number, head: Pick<BlockHead, 'height' | 'hashes'>): MissedChanges | null {
    // A group's last block carries the changes that the group made elsewhere.
    if (this.openGroup !== null && this.openGroup <= head.height) return null;
    const missed = missedSince(since, head, { recent: this.#recent, forks: this.#forks, isScoped: this.#isScoped });
    return missed && { ...missed, amendments: this.amendmentsOf(head.height), isSettled: this.isSettled };
  }

  readonly #isScoped = (table: string): boolean => this.watches.get(table)?.isScoped === true;

  get recent(): readonly RecentBlock[] {
    return this.#recent;
  }

  /** Returns the facts for a successor, as a step from the last ones where a step can carry them. @param isUncertain see `point` */
  tell(isUncertain: boolean): ResumePoint | ResumeStep {
    return this.#steps.tell(this.#facts(isUncertain), isUncertain, this.#isScoped);
  }

  /**
   * Returns the facts for a successor.
   *
   * @param isUncertain readers of a snapshot continue from an unknown state: nothing counts as broadcast
   */
  point(isUncertain = false): ResumePoint {
    return { ...this.#facts(isUncertain), recent: listOlder(this.#recent, this.#isScoped) };
  }

  /** Returns the facts with all older rows of its blocks. */
  #facts(isUncertain: boolean): ResumePoint {
    const watches = [...this.watches].map(([name, watch]): [string, KeptWatch] => [
      name,
      // Keys that a reorg undid at the replicas must stay unequal to every row at the successor too.
      watch.keep(!isUncertain && !this.forced.has(name))
    ]);
    return {
      algorithm: SUM_ALGORITHM,
      height: this.height,
      blockTime: this.blockTime,
      hashes: this.hashes,
      recent: this.#recent,
      openGroup: this.openGroup,
      reorgs: this.reorgs,
      forks: this.#forks,
      unsettled: this.unsettled,
      lives: this.lives,
      ...(this.#learned && { learned: this.#learned }),
      lookupIds: Object.fromEntries([...this.lookups].map(([name, { lastId }]) => [name, toJsonId(lastId)])),
      watches: Object.fromEntries(watches)
    };
  }
}
