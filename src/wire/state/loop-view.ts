/** State of a loop as other threads know it. */
export interface LoopView<Report> {
  /** Last report; null before the first one. Stays after the loop's death. */
  readonly report: Report | null;
  /** Reason not to rely on the report: the loop is down, silent, or no further since it was started again; or null. */
  readonly crash: string | null;
}
