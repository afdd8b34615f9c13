import type { Connection } from '../../../db/connection.ts';
import type { SweepReport } from '../../../wire/state/report.ts';
import type { TablePlan } from '../../tables/classify.ts';
import type { SourceLayout } from '../../tables/source-layout.ts';
import type { TableWatch } from '../changes/table-watch.ts';
import { touchRules } from '../changes/touch-rules.ts';
import { type PassStep, TablePass } from './table-pass.ts';

/** Rows of one step: some 10 ms of MariaDB. */
const STEP_ROWS = 4_096;

/**
 * Reads the rows that no group reads, pass after pass. It learns a stretch that it reads for the first time; the next group sends the
 * differences from the broadcast state.
 */
export class Sweep {
  #pass: TablePass | null = null;
  #passes = 0;
  #beganAt: number | null = null;
  #blocks: number | null = null;

  get report(): SweepReport {
    return { passes: this.#passes, blocks: this.#blocks };
  }

  /** Takes one step, inside a snapshot of exactly the broadcast state. @returns null when no table needs one */
  async step(
    connection: Connection,
    layout: SourceLayout,
    watches: ReadonlyMap<string, TableWatch>,
    height: number
  ): Promise<PassStep | null> {
    const swept = sweepOrder(layout).filter(({ name }) => watches.has(name));
    if (swept.length === 0) return null;
    this.#beganAt ??= height;
    const step = await this.#pass?.step(connection, swept, watches);
    if (step) return step;
    if (this.#pass) [this.#passes, this.#blocks, this.#beganAt] = [this.#passes + 1, height - this.#beganAt, height];
    const names = swept.map(({ name }) => name);
    this.#pass = new TablePass(names, { stepRows: STEP_ROWS, from: 'window' });
    return this.#pass.step(connection, swept, watches);
  }
}

/** Sorts tables: first those whose unchanged rows are sent as long as they are not known. */
function sweepOrder({ plans }: SourceLayout): readonly TablePlan[] {
  const touched = new Set(touchRules(plans).map(({ plan }) => plan));
  return plans.toSorted((a, b) => Number(touched.has(b)) - Number(touched.has(a)));
}
