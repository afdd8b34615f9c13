import type { TypedTable } from '../../../wire/data/schema.ts';
import type { TablePlan } from '../../tables/classify.ts';
import { planSignature } from '../../tables/source-layout.ts';
import { type Checksum, ChecksumMap, isSame, NO_ROWS, together, type Value } from './checksum-map.ts';
import { type Ranging, rangingOf } from './ranging.ts';
import { HIGHEST, LOWEST, mergeSpans, type Span, withoutSpans } from './spans.ts';
import type { TableTimes } from './table-facts.ts';

/** A table of at most this many rows is read whole with each group that may have changed it. */
export const SMALL_ROWS = 4_096;
/** Newest rows of a larger table that each group reads; a sweep reads the others between groups. */
export const WINDOW_ROWS = 512;
/** A table of at most this many rows is learned whole at the start; a larger one between groups. */
export const START_ROWS = 20_000;
/** Up to this many rows each value has its checksum. A changed table is read whole if no row of a new block explains the change. */
const FINE_ROWS = 200_000;
/** The same where each value names one row and rows have no block: some 26 MB. */
const SINGLE_ROWS = 2_000_000;
/** Values under one checksum where they are not known one by one. */
export const RANGE_WIDTH = 256;
/** Rows of a range that are sent once more so that its checksum is known again. */
const TORN_ROWS = 20_000;
/** Sums of one table in a resume point. */
const KEPT_SUMS = 32;

/** A resume point's facts about a table: sums over ranges of 2^shift values, as `rows:sum`. */
export interface KeptWatch {
  /** Lowest value that the sums cover; null: all. */
  readonly from: number | null;
  readonly lastId: number;
  readonly shift: number;
  /** By number of the range, `null` for NULL; null: nothing is known of the table. */
  readonly sums: Readonly<Record<string, string>> | null;
  readonly pending: readonly Span[];
}

/** The parts of a range that were sent, value by value, since all of it was required. */
interface TornRange {
  spans: readonly Span[];
  readonly sums: Map<number, Checksum>;
}

/** Returns whether the column that divides a table is what replicas know its rows by: by another key they find none. */
function namesRows({ column }: Ranging, { identity, surrogate }: TablePlan): boolean {
  return column === surrogate || (identity?.length === 1 && identity[0] === column);
}

/** Returns a text that changes when what a watch knows of a table no longer holds: its rows cannot be compared, or are divided otherwise. */
export function watchSignature(plan: TablePlan, tables: readonly TypedTable[]): string {
  const { column, isUnique, isNullable } = rangingOf(plan, tables);
  return JSON.stringify([planSignature(plan), column, isUnique, isNullable]);
}

/** Checksums of the last broadcast state of one table. Memory grows with the table's ranges, not with its rows. */
export class TableWatch {
  readonly signature: string;
  readonly ranging: Ranging;
  /** By value, from `from` on, and NULL. */
  readonly fine = new ChecksumMap();
  /** Ranges of 256 values below `from` that have rows. */
  readonly #coarse = new Map<number, Checksum>();
  /** Ranges whose checksums are unknown. */
  readonly #unknown = new Set<number>();
  /** The unknown ranges that were required whole, with the parts that were sent since. */
  readonly #torn = new Map<number, TornRange>();
  /** A multiple of 256, or LOWEST. */
  from: number;
  /** Ranges are known from this value on; a multiple of 256, or LOWEST. */
  rangesFrom: number;
  /** Rows have a block, of their own or of their parent's. */
  readonly isScoped: boolean;
  /** Rows have no block, and a key by which each is sent alone, and named when it is gone. */
  readonly isSingle: boolean;
  /** All values are known one by one, or will be once they were read. */
  isFine: boolean;
  /** Deleted rows of a derived table whose keys were sent and whose ids are still in this watch. */
  explained = 0;
  /** Values that the next group or amendment sends, changed or not. */
  pending: Span[] = [];
  /** Values whose rows count as broadcast, since the last group of the binary log, which may name them as changed. */
  learned: Span[] = [];
  /** All its rows were compared with the broadcast ones in the snapshot of the last block, or did not change since they were. */
  isLooked = true;
  /** Whether only a reorg makes a look necessary: a binary log names what that changed. */
  isTakenBack = false;
  /** Some of the pending values changed up to the last block: an amendment brings them. */
  isOwing = false;
  /** Highest AUTO_INCREMENT id seen. */
  lastId = 0;
  /** The table's times when it was last looked at; undefined: not known. */
  times: TableTimes | undefined;
  /** A later change shows other times. */
  isSettled = false;
  /** Highest timestamp seen, for a table whose changes leave one; null: not known. */
  stamp: number | null = null;
  #kept: { readonly of: readonly unknown[]; readonly facts: KeptWatch } | undefined;

  /** @param rows how many the table has, about */
  constructor(plan: TablePlan, tables: readonly TypedTable[], from: number, rows: number) {
    this.signature = watchSignature(plan, tables);
    this.ranging = rangingOf(plan, tables);
    this.from = from;
    this.rangesFrom = from;
    this.isScoped = plan.class === 'scoped';
    this.isSingle = plan.scope === null && this.ranging.isUnique && namesRows(this.ranging, plan);
    this.isFine = rows <= this.#fineRows;
  }

  /** Returns the checksums of the 256 values of a range below `from`; undefined: none. */
  rangeOf(range: number): Checksum | undefined {
    if (range * RANGE_WIDTH < this.rangesFrom || this.#unknown.has(range)) return undefined;
    return this.#coarse.get(range) ?? NO_ROWS;
  }

  /** Returns the ranges below `from` that have rows or are not known any more, among some values. */
  rangesWithin(from: number, to: number): number[] {
    const within = (range: number) => (range + 1) * RANGE_WIDTH > from && range * RANGE_WIDTH <= to;
    return [...new Set([...this.#coarse.keys(), ...this.#unknown])].filter(within);
  }

  /** The values whose rows as they were broadcast are not known. */
  get unknownSpans(): Span[] {
    const ranges = [...this.#unknown].map((range): Span => [range * RANGE_WIDTH, (range + 1) * RANGE_WIDTH - 1]);
    return mergeSpans(this.rangesFrom === LOWEST ? ranges : [...ranges, [LOWEST, this.rangesFrom - 1]]);
  }

  /**
   * Requires a range of which parts were sent, and the rest is not known any more: all of it goes once more.
   *
   * @param checksum of its present rows
   * @returns false where that is of no use: nothing was known there, it has too many rows, or was required before
   */
  requireTorn(range: number, checksum: Checksum): boolean {
    if (!this.#unknown.has(range) || this.#torn.has(range) || checksum.rows > TORN_ROWS) return false;
    this.#torn.set(range, { spans: [], sums: new Map() });
    this.require([[range * RANGE_WIDTH, (range + 1) * RANGE_WIDTH - 1]]);
    return true;
  }

  /** Sets the checksum of a range below `from`, as it was read. */
  setRange(range: number, checksum: Checksum): void {
    this.#unknown.delete(range);
    this.#torn.delete(range);
    if (checksum.rows === 0) this.#coarse.delete(range);
    else this.#coarse.set(range, checksum);
  }

  /** Every look covers the whole table. */
  get isWhole(): boolean {
    return this.from === LOWEST && (this.fine.rows <= SMALL_ROWS || !this.ranging.isIndexed);
  }

  /** A look may cover the whole table, where there is a reason to. */
  get isKnownWhole(): boolean {
    return this.from === LOWEST && this.fine.rows <= FINE_ROWS;
  }

  get #fineRows(): number {
    return this.isSingle ? SINGLE_ROWS : FINE_ROWS;
  }

  /** First value that each group looks at. */
  get lookFrom(): number {
    return this.isWhole ? LOWEST : Math.max(this.from, this.fine.newest(WINDOW_ROWS));
  }

  /** Takes note of new rows. */
  add(value: Value, checksum: Checksum): void {
    if (value === null || value >= this.from) this.fine.set(value, together(this.fine.get(value), checksum));
    else {
      const range = Math.floor(value / RANGE_WIDTH);
      const known = this.rangeOf(range);
      if (known) this.setRange(range, together(known, checksum));
    }
  }

  /** Replaces the rows of the spans by these, and no others. */
  replace(spans: readonly Span[], entries: ReadonlyMap<Value, Checksum>): void {
    for (const span of mergeSpans(spans)) {
      if (span === null) {
        this.fine.set(null, NO_ROWS);
        continue;
      }
      const [from, to] = span;
      this.fine.delete(Math.max(from, this.from), to);
      if (from >= this.from) continue;
      // Of a range that is covered in part the rest is not known any more.
      const first = Math.ceil(from / RANGE_WIDTH);
      const last = Math.floor((to + 1) / RANGE_WIDTH) - 1;
      if (Math.floor(from / RANGE_WIDTH) < first) this.#unknown.add(first - 1);
      if (Math.floor(to / RANGE_WIDTH) > last && to < this.from) this.#unknown.add(last + 1);
      for (const range of new Set([first - 1, last + 1])) this.#notePart(range, span, entries);
      for (const range of [...this.#coarse.keys(), ...this.#unknown]) {
        if (range >= first && range <= last) this.setRange(range, NO_ROWS);
      }
    }
    for (const [value, checksum] of entries) this.add(value, checksum);
  }

  /** Notes a part that was sent of a range that was required whole. Once all of it was sent, its checksum is known. */
  #notePart(range: number, span: readonly [number, number], entries: ReadonlyMap<Value, Checksum>): void {
    const torn = this.#torn.get(range);
    if (!torn) return;
    const whole: Span = [range * RANGE_WIDTH, (range + 1) * RANGE_WIDTH - 1];
    for (let value = Math.max(span[0], whole[0]); value <= Math.min(span[1], whole[1]); value++)
      torn.sums.set(value, entries.get(value) ?? NO_ROWS);
    torn.spans = mergeSpans([...torn.spans, span]);
    if (withoutSpans([whole], torn.spans).length > 0) return;
    const before = [...torn.sums].filter(([value]) => !entries.has(value));
    // What comes now is added to it.
    this.setRange(
      range,
      before.reduce((sum, [, checksum]) => together(sum, checksum), NO_ROWS)
    );
  }

  /** Returns the checksum of the broadcast rows of these spans together. */
  total(spans: readonly Span[]): Checksum {
    let sum = spans.includes(null) ? this.fine.get(null) : NO_ROWS;
    for (const span of spans) {
      if (span !== null) for (const [, checksum] of this.fine.entries(...span)) sum = together(sum, checksum);
    }
    return sum;
  }

  /** Returns the values in these spans whose rows differ from the broadcast ones. */
  changed(spans: readonly Span[], now: ReadonlyMap<Value, Checksum>): Set<Value> {
    const changed = new Set<Value>();
    for (const [value, checksum] of now) if (!isSame(this.fine.get(value), checksum)) changed.add(value);
    for (const span of spans) {
      if (span === null) {
        if (this.fine.get(null).rows > 0 && !now.has(null)) changed.add(null);
      } else for (const [value] of this.fine.entries(span[0], span[1])) if (!now.has(value)) changed.add(value);
    }
    return changed;
  }

  /** Makes the next group send these values, whatever rows they have. */
  require(spans: readonly Span[]): void {
    if (spans.length > 0) this.pending = mergeSpans([...this.pending, ...spans]);
  }

  /** Makes the next groups send every row; the present rows count as unknown. */
  requireAll(): void {
    this.fine.delete(this.from, HIGHEST);
    this.fine.set(null, NO_ROWS);
    this.#coarse.clear();
    this.#unknown.clear();
    this.#torn.clear();
    this.rangesFrom = this.from;
    this.require([[LOWEST, HIGHEST], ...(this.ranging.isNullable ? [null] : [])]);
  }

  /**
   * Removes the rows of these values, which are gone here and at the replicas: their blocks were orphaned. Rows above
   * them belong to no block, and stand as they were broadcast.
   */
  cut(from: number, to = HIGHEST): void {
    // Rows of blocks that stay may stand beyond the safe integers, too.
    if (from === HIGHEST) this.require([[HIGHEST, HIGHEST]]);
    if (from >= this.from) {
      this.fine.delete(from, to);
      return;
    }
    if (to < this.from - 1) this.require([[to + 1, this.from - 1]]);
    this.fine.delete(LOWEST, to);
    const start = Math.floor(from / RANGE_WIDTH);
    for (const range of [...this.#coarse.keys()]) if (range >= start) this.#coarse.delete(range);
    for (const range of [...this.#unknown]) if (range >= start) this.#unknown.delete(range);
    for (const range of [...this.#torn.keys()]) if (range >= start) this.#torn.delete(range);
    this.from = start * RANGE_WIDTH;
    this.rangesFrom = Math.min(this.rangesFrom, this.from);
    if (from > this.from) this.require([[this.from, from - 1]]);
  }

  /** Keeps the older values of a table that has grown by ranges only. */
  trim(): void {
    if (this.fine.rows > this.#fineRows) this.isFine = false;
    const limit = this.isFine ? this.#fineRows : 2 * WINDOW_ROWS;
    if (!this.ranging.isIndexed || this.fine.rows <= limit) return;
    let left = this.fine.rows - WINDOW_ROWS;
    let range = Number.NEGATIVE_INFINITY;
    let sum = NO_ROWS;
    const moved: [number, Checksum][] = [];
    for (const [value, checksum] of this.fine.entries()) {
      const next = Math.floor(value / RANGE_WIDTH);
      if (next !== range) {
        if (range !== Number.NEGATIVE_INFINITY) moved.push([range, sum]);
        if (left <= 0) break;
        [range, sum] = [next, NO_ROWS];
      }
      sum = together(sum, checksum);
      left -= checksum.rows;
    }
    const last = moved.at(-1);
    if (!last) return;
    const from = (last[0] + 1) * RANGE_WIDTH;
    this.fine.delete(LOWEST, from - 1);
    for (const [at, checksum] of moved) this.setRange(at, checksum);
    this.from = from;
  }

  /** Returns the facts for a successor; the same object while they are the same. @param isKnown false: nothing counts as broadcast */
  keep(isKnown: boolean): KeptWatch {
    const pending = this.pending.length === 0 ? null : this.pending;
    const of = [isKnown, this.fine.revision, this.from, this.lastId, pending];
    if (!this.#kept?.of.every((each, index) => each === of[index])) this.#kept = { of, facts: this.#facts(isKnown) };
    return this.#kept.facts;
  }

  /** Returns the facts to keep: for large tables those of the newest rows only. */
  #facts(isKnown: boolean): KeptWatch {
    const isAll = this.from === LOWEST && this.fine.rows <= START_ROWS;
    const from = isAll ? LOWEST : Math.floor(this.lookFrom / RANGE_WIDTH) * RANGE_WIDTH;
    const highest = this.fine.highest ?? 0;
    const lowest = isAll ? (this.fine.lowest ?? 0) : from;
    let shift = 6;
    while (Math.floor(highest / 2 ** shift) - Math.floor(lowest / 2 ** shift) >= KEPT_SUMS) shift += 1;
    const kept = { from: from === LOWEST ? null : from, lastId: this.lastId, shift, pending: this.pending };
    return { ...kept, sums: isKnown ? sumsOf(this.fine, from, shift) : null };
  }
}

/** Returns sums over ranges of 2^shift values. */
export function sumsOf(fine: ChecksumMap, from: number, shift: number): Record<string, string> {
  const sums = new Map<string, Checksum>();
  const add = (key: string, checksum: Checksum) => sums.set(key, together(sums.get(key) ?? NO_ROWS, checksum));
  for (const [value, checksum] of fine.entries(from)) add(String(Math.floor(value / 2 ** shift)), checksum);
  if (fine.get(null).rows > 0) add('null', fine.get(null));
  return Object.fromEntries([...sums].map(([key, { rows, sum }]) => [key, `${rows}:${sum}`]));
}

/** Returns the spans in which the kept and the present checksums differ. */
export function differingSpans({ sums, shift }: KeptWatch, now: Readonly<Record<string, string>>): Span[] {
  const keys = new Set([...Object.keys(sums ?? {}), ...Object.keys(now)]);
  return [...keys]
    .filter((key) => sums?.[key] !== now[key])
    .map((key): Span => (key === 'null' ? null : [Number(key) * 2 ** shift, (Number(key) + 1) * 2 ** shift - 1]));
}
