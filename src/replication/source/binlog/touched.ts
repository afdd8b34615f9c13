import type { Span } from '../changes/spans.ts';
import { type BinlogPosition, isAtLeast } from './position.ts';
import { type LoggedValue, ValueSet } from './value-set.ts';

export type { LoggedValue } from './value-set.ts';

/** Values kept of one table, runs of neighbours, and parts that they lie in; a table with more counts as changed in any part. */
const MAX_VALUES = 1_000_000;
const MAX_RUNS = 100_000;
const MAX_PARTS = 100_000;
const NONE = new ValueSet();
/** Transactions kept apart from each other; older ones are joined. */
const MAX_ENTRIES = 4_096;

/** Rows that transactions changed, by the value that divides their table. */
export class TouchedTables {
  readonly #values = new Map<string, ValueSet>();
  readonly #whole = new Set<string>();
  readonly #altered = new Set<string>();
  readonly #replaced = new Set<string>();
  /** By table, the column that its values are of. */
  readonly #columns = new Map<string, string>();
  /** Every table may have changed in any part. */
  isAll = false;

  /** Adds one value of a table. */
  add(table: string, value: LoggedValue): void {
    if (this.isWhole(table)) return;
    const values = this.#values.get(table) ?? new ValueSet();
    this.#values.set(table, values);
    values.add(value);
    if (values.size > MAX_VALUES || values.runs > MAX_RUNS || values.chunks > MAX_PARTS) this.addWhole(table);
  }

  /** Adds a table that may have changed in any part. */
  addWhole(table: string): void {
    this.#whole.add(table);
    this.#values.delete(table);
  }

  /** Notes the column that a table's next values are of. Values of two columns cannot be told apart: then the table counts as a whole. */
  noteColumn(table: string, column: string): void {
    if ((this.#columns.get(table) ?? column) !== column) this.addWhole(table);
    this.#columns.set(table, column);
  }

  /** Adds the tables whose values are not of the column that divides them now. @param columns by table */
  addDividedOtherwise(columns: ReadonlyMap<string, string | null>): void {
    for (const [table, column] of this.#columns) if (columns.get(table) !== column) this.addWhole(table);
  }

  /** Adds a table whose definition was changed: its rows are the same, and their values may be others. */
  addAltered(table: string): void {
    this.#altered.add(table);
  }

  /** Notes that rows of a table were changed or deleted, not only added. */
  noteReplaced(table: string): void {
    this.#replaced.add(table);
  }

  /**
   * Adds the tables whose rows a foreign key changed or deleted: the log does not name them.
   *
   * @param children by parent
   * @param unlogged tables that may change at any time without a word in the log
   */
  addCascades(children: ReadonlyMap<string, readonly string[]>, unlogged: ReadonlySet<string>): void {
    const altered = new Set(unlogged);
    for (const table of altered) {
      this.addAltered(table);
      for (const child of children.get(table) ?? []) altered.add(child);
    }
    const parents = [...this.#replaced, ...this.#whole].filter((table) => children.has(table));
    for (let parent = parents.pop(); parent !== undefined; parent = parents.pop()) {
      for (const child of children.get(parent) ?? []) {
        if (this.#whole.has(child)) continue;
        this.addWhole(child);
        parents.push(child);
      }
    }
  }

  /** Adds everything that another set holds. */
  join(other: TouchedTables): void {
    this.isAll ||= other.isAll;
    for (const table of other.#replaced) this.#replaced.add(table);
    for (const table of other.#whole) this.addWhole(table);
    for (const table of other.#altered) this.addAltered(table);
    for (const [table, column] of other.#columns) this.noteColumn(table, column);
    for (const [table, values] of other.#values) for (const value of values) this.add(table, value);
  }

  get isEmpty(): boolean {
    return !this.isAll && this.#whole.size + this.#altered.size + this.#values.size === 0;
  }

  /** Returns whether a table may have changed in any part. */
  isWhole(table: string): boolean {
    return this.isAll || this.#whole.has(table);
  }

  /** Returns whether the definition of a table was changed, which may have changed any value. */
  isAltered(table: string): boolean {
    return this.#altered.has(table);
  }

  /** Returns whether any row of a table may have changed by itself. */
  has(table: string): boolean {
    return this.isWhole(table) || this.#values.has(table);
  }

  /** Returns the changed values of a table that did not change as a whole. */
  values(table: string): Omit<ValueSet, 'add'> {
    return this.#values.get(table) ?? NONE;
  }

  /** Returns the same values as spans. */
  spans(table: string): readonly Span[] {
    return this.values(table).spans();
  }
}

interface Entry {
  /** Position before its first transaction, and after its last one. */
  readonly from: BinlogPosition;
  readonly to: BinlogPosition;
  readonly touched: TouchedTables;
}

/** Rows that the binary log changed since the last broadcast, by position. Bounded by `MAX_VALUES` and `MAX_ENTRIES`. */
export class TouchedLog {
  #entries: Entry[] = [];

  /** Adds the rows of one transaction that stands between two positions. Call it in the order of the log. */
  add(from: BinlogPosition, to: BinlogPosition, touched: TouchedTables): void {
    if (touched.isEmpty) return;
    this.#entries.push({ from, to, touched });
    if (this.#entries.length > MAX_ENTRIES) this.#joinOlder();
  }

  /** Returns the rows that changed up to a position. It may hold later ones where transactions were joined. */
  upTo(position: BinlogPosition): TouchedTables {
    const all = new TouchedTables();
    for (const { from, touched } of this.#entries) {
      if (isAtLeast(from, position)) break;
      all.join(touched);
    }
    return all;
  }

  /** Forgets the rows that changed up to a position: they were broadcast. */
  forget(position: BinlogPosition): void {
    this.#entries = this.#entries.filter(({ to }) => !isAtLeast(position, to));
  }

  /** Forgets everything. */
  clear(): void {
    this.#entries = [];
  }

  #joinOlder(): void {
    const older = this.#entries.splice(0, MAX_ENTRIES / 2);
    const touched = new TouchedTables();
    for (const entry of older) touched.join(entry.touched);
    this.#entries.unshift({ from: older[0]!.from, to: older.at(-1)!.to, touched });
  }
}
