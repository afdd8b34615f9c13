import type { WireError } from '../../src/errors.ts';
import type { Counters } from '../../src/observe/counters.ts';

/** A sign of life, once a second. */
export interface Beacon {
  readonly mailboxDepth: number;
  /** Age of the oldest ask in work; 0 when there is none. */
  readonly oldestMs: number;
  readonly heapUsedBytes: number;
  /** The longest delay of the thread's event loop since the last beacon. */
  readonly eventLoopDelayMs: number;
  /** What the thread has computed since it started. */
  readonly cpuMs: number;
}

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

/** What an actor waits for, and since when (Unix milliseconds). */
export interface Waiting {
  readonly on: string | null;
  readonly since: number;
}

/** What every actor tells the main thread; the supervisor takes it. */
export type HostNotices = {
  beacon: Beacon;
  /** With each beacon: what the thread counted since the last. */
  counters: Counters;
  transition: Transition;
  waiting: Waiting;
  /** The last notice of a thread that ends by an error. */
  fault: WireError;
};

/** Those that the supervisor listens to; the fault is its handle's. */
export type SupervisedNotices = Omit<HostNotices, 'fault'>;

/** The asks that every actor answers. */
export type HostAsks = {
  /** Finish work and release everything, within the grace. */
  stop: { request: { graceMs: number }; reply: Record<string, never> };
};

/** What the main thread tells every actor. */
export type HostOrders = {
  /** Ends the thread at once, between two tasks of its event loop. */
  end: Record<string, never>;
};
