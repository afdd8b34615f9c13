import type { SpanRecord } from './counters.ts';

/** The attributes of a span. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

/** Spans of what this process does. */
export interface Trace {
  /** Runs a step as a span below the one that is open here. @param from when it began, Unix milliseconds; default: now */
  step<T>(name: string, facts: SpanAttributes, run: () => Promise<T>, from?: number): Promise<T>;
  /** Reports finished work, with its parts. */
  record(work: SpanRecord): void;
}

/** A tracer that records nothing. */
export const NO_TRACE: Trace = { step: (_name, _facts, run) => run(), record: () => undefined };
