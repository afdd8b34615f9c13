import type { WireError } from '../../src/errors.ts';
import type { Counters } from '../../src/observe/counters.ts';
import type { Beacon, Waiting } from '../../src/wire/state/actor-view.ts';
import type { Transition } from '../../src/wire/state/transition.ts';

/** Notices from every actor to the main thread, for the supervisor. */
export type HostNotices = {
  beacon: Beacon;
  /** With each beacon: what the thread counted since the last. */
  counters: Counters;
  transition: Transition;
  waiting: Waiting;
  /** The last notice of a thread that ends by an error. */
  fault: WireError;
};

/** Notices that the supervisor listens to; the fault is its handle's. */
export type SupervisedNotices = Omit<HostNotices, 'fault'>;

/** The asks that every actor answers. */
export type HostAsks = {
  /** Finish work and release everything, within the grace. */
  stop: { request: { graceMs: number }; reply: Record<string, never> };
};

/** Orders from the main thread to every actor. */
export type HostOrders = {
  /** Ends the thread at once, between two tasks of its event loop. */
  end: Record<string, never>;
};
