/** Reports changes: those within a moment become one report. */
export class SparseReport {
  readonly #report: () => void;
  readonly #intervalMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(report: () => void, intervalMs: number) {
    this.#report = report;
    this.#intervalMs = intervalMs;
  }

  /** Schedules a report, unless one is scheduled. */
  readonly schedule = (): void => {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#report();
    }, this.#intervalMs);
  };
}
