import type { SpanRecord } from './counters.ts';

/** Attributes of a span. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

/** Traces the work of this process. */
export interface Trace {
  /** Runs a step as a span below the current one. @param from its start in Unix milliseconds; default: now */
  step<T>(name: string, facts: SpanAttributes, run: () => Promise<T>, from?: number): Promise<T>;
  /** Records finished work with its parts. */
  record(work: SpanRecord): void;
}

/** A trace that records nothing. */
export const NO_TRACE: Trace = { step: (_name, _facts, run) => run(), record: () => undefined };
