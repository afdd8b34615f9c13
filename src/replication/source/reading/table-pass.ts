import type { Connection } from '../../../db/connection.ts';
import { quoteName, rows } from '../../../db/connection.ts';
import type { TablePlan } from '../../tables/classify.ts';
import type { SourceLayout } from '../../tables/source-layout.ts';
import { isSame, NO_ROWS } from '../changes/checksum-map.ts';
import { readChecksums, readRangeChecksums, toValue, valueSql } from '../changes/ranging.ts';
import { HIGHEST, LOWEST, mergeSpans, type Span, spansOf, withoutSpans } from '../changes/spans.ts';
import { RANGE_WIDTH, type TableWatch } from '../changes/table-watch.ts';

/** Result of one step. */
export interface PassStep {
  readonly table: string;
  /** Parts whose rows differ from the broadcast ones; the table's watch requires them now. */
  readonly found: readonly Span[];
  /** The step learned some rows: it was not known what had been broadcast of them, so they count as broadcast as they are now. */
  readonly isLearned: boolean;
  /** The table is done with. */
  readonly isLast: boolean;
}

interface PassOptions {
  /** Rows of one step. */
  readonly stepRows: number;
  /** Start of a pass over a large table: at its newest row, or below those that every group reads. */
  readonly from: 'newest' | 'window';
}

/**
 * Looks once at all rows of some tables: small ones whole, large ones a stretch at a time from the newest to the oldest. It compares
 * them with what was broadcast, and learns what it does not know.
 */
export class TablePass {
  readonly #left: Set<string>;
  readonly #options: PassOptions;
  #table: string | null = null;
  /** Values below it are still to be looked at. */
  #below = HIGHEST;

  constructor(tables: Iterable<string>, options: PassOptions) {
    this.#left = new Set(tables);
    this.#options = options;
  }

  /** Tables that it has not done with. */
  get left(): ReadonlySet<string> {
    return this.#left;
  }

  /** The table that it is in the middle of; null: none. */
  get table(): string | null {
    return this.#table;
  }

  /** Leaves a table out. */
  skip(table: string): void {
    this.#left.delete(table);
    if (table === this.#table) this.#table = null;
  }

  /** Takes one step, inside a snapshot of the broadcast block. @returns null when all tables are done with */
  async step(
    connection: Connection,
    plans: SourceLayout['plans'],
    watches: ReadonlyMap<string, TableWatch>
  ): Promise<PassStep | null> {
    const isThere = ({ name }: TablePlan) => this.#left.has(name) && watches.has(name);
    const plan = plans.find((each) => isThere(each) && each.name === this.#table) ?? plans.find(isThere);
    if (!plan) {
      this.#left.clear();
      return null;
    }
    if (plan.name !== this.#table) [this.#table, this.#below] = [plan.name, HIGHEST];
    const watch = watches.get(plan.name)!;
    const before = watch.pending;
    const look = { connection, plan, watch, stepRows: this.#options.stepRows };
    let isLearned = false;
    if (watch.isWhole) this.#below = await lookAtAll(look);
    else {
      const start = this.#options.from === 'newest' ? HIGHEST : watch.lookFrom;
      const isFirst = this.#below === HIGHEST;
      const lookAtStretch = watch.isFine || this.#below > watch.from ? lookAtRows : lookAtRanges;
      const found = await lookAtStretch(look, Math.min(this.#below, start), isFirst && this.#options.from === 'newest');
      [this.#below, isLearned] = [found.below, found.isLearned];
    }
    const isLast = this.#below === LOWEST;
    if (isLast) this.skip(plan.name);
    return { table: plan.name, found: withoutSpans(watch.pending, before), isLearned, isLast };
  }
}

/** One table under a look. */
interface Stretch {
  readonly connection: Connection;
  readonly plan: TablePlan;
  readonly watch: TableWatch;
  readonly stepRows: number;
}

/** Result of one look: the next step begins below this value. */
interface Looked {
  readonly below: number;
  readonly isLearned: boolean;
}

/** Returns the lowest value of so many rows below a value; LOWEST when there are no more. */
async function stretchBelow({ connection, plan, watch, stepRows }: Stretch, below: number): Promise<number> {
  const value = valueSql(watch.ranging, plan);
  const [row] = await rows(
    connection,
    `SELECT ${value} AS v FROM ${quoteName(plan.name)} r WHERE ${value} ${below === HIGHEST ? 'IS NOT NULL' : `< ${below}`} ORDER BY ${value} DESC LIMIT 1 OFFSET ${stepRows - 1}`
  );
  return row ? (toValue(row['v']) ?? LOWEST) : LOWEST;
}

/** Reads a small table, even if its UPDATE_TIME is unchanged. @returns the value below which the next step reads: none */
async function lookAtAll({ connection, plan, watch }: Stretch): Promise<number> {
  const all: Span[] = [[LOWEST, HIGHEST], null];
  const now = await readChecksums(connection, plan, watch.ranging, null);
  watch.require(spansOf(watch.changed(all, now)));
  return LOWEST;
}

/** Looks at values that are known one by one. @param isFirst with those that are NULL */
async function lookAtRows(look: Stretch, below: number, isFirst: boolean): Promise<Looked> {
  const { connection, plan, watch } = look;
  const lowest = await stretchBelow(look, below);
  const stretch = lowest === LOWEST ? LOWEST : Math.floor(lowest / RANGE_WIDTH) * RANGE_WIDTH;
  // Of a table that is known by ranges, the values below them are another step's.
  const start = watch.isFine ? stretch : Math.max(stretch, watch.from);
  const nulls: Span[] = isFirst && watch.ranging.isNullable ? [null] : [];
  const span: Span = [start, below === HIGHEST ? HIGHEST : below - 1];
  const now = await readChecksums(connection, plan, watch.ranging, [span, ...nulls]);
  const known: Span[] = [...(span[1] >= watch.from ? [[Math.max(start, watch.from), span[1]] as const] : []), ...nulls];
  const old = new Map([...now].filter(([value]) => value === null || value >= watch.from));
  watch.require(spansOf(watch.changed(known, old)));
  if (start >= watch.from) return { below: start, isLearned: false };
  for (const [value, checksum] of now) if (value !== null && value < watch.from) watch.fine.set(value, checksum);
  noteLearned(watch, [[start, watch.from - 1]]);
  watch.from = start;
  watch.rangesFrom = start;
  return { below: start, isLearned: true };
}

/** Notes values of which the present rows are known, and the broadcast ones are not. */
function noteLearned(watch: TableWatch, spans: readonly Span[]): void {
  watch.learned = mergeSpans([...watch.learned, ...spans]);
}

/** Looks at rows that are known by ranges of values. */
async function lookAtRanges(look: Stretch, below: number): Promise<Looked> {
  const { connection, plan, watch } = look;
  const end = Math.min(below, watch.from);
  const lowest = await stretchBelow(look, end);
  const start = lowest === LOWEST ? LOWEST : Math.floor(lowest / RANGE_WIDTH) * RANGE_WIDTH;
  const now = await readRangeChecksums(connection, plan, watch.ranging, [start, end - 1], RANGE_WIDTH);
  for (const range of watch.rangesWithin(start, end - 1)) if (!now.has(range)) now.set(range, NO_ROWS);
  const learned: Span[] = start < watch.rangesFrom ? [[start, Math.min(end, watch.rangesFrom) - 1]] : [];
  for (const [range, checksum] of now) {
    const known = watch.rangeOf(range);
    const span: Span = [range * RANGE_WIDTH, (range + 1) * RANGE_WIDTH - 1];
    if (known && !isSame(known, checksum)) watch.require([span]);
    if (known || (range * RANGE_WIDTH >= watch.rangesFrom && watch.requireTorn(range, checksum))) continue;
    watch.setRange(range, checksum);
    learned.push(span);
  }
  noteLearned(watch, learned);
  watch.rangesFrom = Math.min(watch.rangesFrom, start);
  return { below: start, isLearned: learned.length > 0 };
}
