import type { SweepReport } from '../../wire/state/report.ts';
import type { Connection } from '../core/connection.ts';
import { quoteName, rows } from '../core/connection.ts';
import type { TablePlan } from '../tables/classify.ts';
import type { SourceLayout } from '../tables/source-layout.ts';
import { isSame, NO_ROWS } from './changes/checksum-map.ts';
import { readChecksums, readRangeChecksums, toValue, valueSql } from './changes/ranging.ts';
import { HIGHEST, LOWEST, type Span, spansOf, withoutSpans } from './changes/spans.ts';
import { RANGE_WIDTH, type TableWatch } from './changes/table-watch.ts';
import { touchRules } from './changes/touch-rules.ts';

/** Rows of one step: some 10 ms of MariaDB. */
const STEP_ROWS = 4_096;

/** What one step read. */
export interface SweepStep {
  readonly table: string;
  /** Parts whose rows differ from the broadcast ones. */
  readonly found: readonly Span[];
}

/**
 * Reads the rows that no group reads: small tables whole, large ones a stretch at a time from the newest to the oldest, then
 * again. It learns a stretch that it reads for the first time; the next group sends the differences from the broadcast state.
 */
export class Sweep {
  #table: string | null = null;
  /** Values below it are still to be looked at; HIGHEST: the table is still to be begun. */
  #below = HIGHEST;
  #done = new Set<string>();
  #passes = 0;
  #beganAt: number | null = null;
  #blocks: number | null = null;

  get report(): SweepReport {
    return { passes: this.#passes, blocks: this.#blocks };
  }

  /** One step, inside a snapshot of exactly the broadcast state. @returns the table and its parts that differ; null when no table needs one */
  async step(
    connection: Connection,
    layout: SourceLayout,
    watches: ReadonlyMap<string, TableWatch>,
    height: number
  ): Promise<SweepStep | null> {
    const swept = sweepOrder(layout).filter(({ name }) => watches.has(name));
    if (swept.length === 0) return null;
    this.#beganAt ??= height;
    let plan = swept.find(({ name }) => name === this.#table) ?? swept.find(({ name }) => !this.#done.has(name));
    if (!plan) {
      [this.#passes, this.#blocks, this.#beganAt] = [this.#passes + 1, height - this.#beganAt, height];
      this.#done = new Set();
      plan = swept[0]!;
    }
    if (plan.name !== this.#table) [this.#table, this.#below] = [plan.name, HIGHEST];
    const watch = watches.get(plan.name)!;
    const before = watch.pending;
    if (watch.isWhole) this.#below = await lookAtAll(connection, plan, watch);
    else {
      const below = Math.min(this.#below, watch.lookFrom);
      this.#below = await (watch.isFine ? lookAtRows : lookAtRanges)(connection, plan, watch, below);
    }
    if (this.#below === LOWEST) {
      this.#done.add(plan.name);
      this.#table = null;
    }
    return { table: plan.name, found: withoutSpans(watch.pending, before) };
  }
}

/** The lowest value of the `STEP_ROWS` rows below a value; LOWEST when there are no more. */
async function stretchBelow(
  connection: Connection,
  plan: TablePlan,
  watch: TableWatch,
  below: number
): Promise<number> {
  const value = valueSql(watch.ranging, plan);
  const [row] = await rows(
    connection,
    `SELECT ${value} AS v FROM ${quoteName(plan.name)} r WHERE ${value} < ${below} ORDER BY ${value} DESC LIMIT 1 OFFSET ${STEP_ROWS - 1}`
  );
  return row ? (toValue(row['v']) ?? LOWEST) : LOWEST;
}

/** Tables whose unchanged rows are sent as long as they are not known come first. */
function sweepOrder({ plans }: SourceLayout): readonly TablePlan[] {
  const touched = new Set(touchRules(plans).map(({ plan }) => plan));
  return plans.toSorted((a, b) => Number(touched.has(b)) - Number(touched.has(a)));
}

/** Reads a small table, even if its UPDATE_TIME is unchanged. @returns the value below which the next step reads: none */
async function lookAtAll(connection: Connection, plan: TablePlan, watch: TableWatch): Promise<number> {
  const all: Span[] = [[LOWEST, HIGHEST], null];
  const now = await readChecksums(connection, plan, watch.ranging, null);
  watch.require(spansOf(watch.changed(all, now)));
  return LOWEST;
}

/** Values that are known one by one. @returns the value below which the next step looks */
async function lookAtRows(connection: Connection, plan: TablePlan, watch: TableWatch, below: number): Promise<number> {
  const lowest = await stretchBelow(connection, plan, watch, below);
  const start = lowest === LOWEST ? LOWEST : Math.ceil(lowest / RANGE_WIDTH) * RANGE_WIDTH;
  const span: Span = [start, below - 1];
  const now = await readChecksums(connection, plan, watch.ranging, [span]);
  if (start >= watch.from) watch.require(spansOf(watch.changed([span], now)));
  else {
    const known: Span = [Math.max(start, watch.from), below - 1];
    const old = new Map([...now].filter(([value]) => value !== null && value >= watch.from));
    if (known[0] <= known[1]) watch.require(spansOf(watch.changed([known], old)));
    for (const [value, checksum] of now) if (value !== null && value < watch.from) watch.fine.set(value, checksum);
    watch.from = start;
    watch.rangesFrom = start;
  }
  return start;
}

/** Rows that are known by ranges of values. @returns the value below which the next step looks */
async function lookAtRanges(
  connection: Connection,
  plan: TablePlan,
  watch: TableWatch,
  below: number
): Promise<number> {
  const end = Math.min(below, watch.from);
  const lowest = await stretchBelow(connection, plan, watch, end);
  const first = lowest === LOWEST ? Number.NEGATIVE_INFINITY : Math.floor(lowest / RANGE_WIDTH);
  const start = lowest === LOWEST ? LOWEST : first * RANGE_WIDTH;
  const now = await readRangeChecksums(connection, plan, watch.ranging, [start, end - 1], RANGE_WIDTH);
  for (const range of watch.rangesWithin(start, end - 1)) if (!now.has(range)) now.set(range, NO_ROWS);
  for (const [range, checksum] of now) {
    const known = watch.rangeOf(range);
    if (known && !isSame(known, checksum)) watch.require([[range * RANGE_WIDTH, (range + 1) * RANGE_WIDTH - 1]]);
    if (!known) watch.setRange(range, checksum);
  }
  watch.rangesFrom = Math.min(watch.rangesFrom, start);
  return start;
}
