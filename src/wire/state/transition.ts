/** One change of state of one machine. */
export interface Transition {
  readonly machine: string;
  readonly event: string;
  /** Null when the machine started. */
  readonly from: string | null;
  readonly to: string;
  /** Unix milliseconds. */
  readonly at: number;
  /** The event's data besides its type, and the machine's context before and after it: plain values only, bounded. */
  readonly detail?: Facts;
  readonly before?: Facts;
  readonly context?: Facts;
}

/** A value as JSON has it; other values are left out. */
export type Fact = string | number | boolean | null | readonly Fact[] | Facts;
export interface Facts {
  readonly [name: string]: Fact;
}
