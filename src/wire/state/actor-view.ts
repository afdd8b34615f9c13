import type { ErrorCode, WireError } from '../../errors.ts';
import type { DatabaseId } from '../data/database.ts';
import type { ActorKind, ActorName } from './actor.ts';
import type { Transition } from './transition.ts';

/** A sign of life, once a second. */
export interface Beacon {
  readonly mailboxDepth: number;
  /** Age of the oldest ask in work; 0 when there is none. */
  readonly oldestMs: number;
  readonly heapUsedBytes: number;
  /** The longest delay of the thread's event loop since the last beacon. */
  readonly eventLoopDelayMs: number;
  /** CPU time of the thread since it started. */
  readonly cpuMs: number;
}

/** The thing that an actor waits for, and since when (Unix milliseconds). */
export interface Waiting {
  readonly on: string | null;
  readonly since: number;
}

/**
 * starting: its thread is being made · running · backoff: dead, a restart is due · failed: the restart budget is spent ·
 * parked: down by the policy of its error, until an operator restarts it (for a minute if MariaDB refused the account) ·
 * stopped: by the service · paused: by an operator.
 */
export type ActorState = 'starting' | 'running' | 'backoff' | 'failed' | 'parked' | 'stopped' | 'paused';

/** Reason why an actor died, and which of its starts that was. */
export interface Death {
  readonly at: number;
  readonly generation: number;
  /** `hung`: its beacon failed; `killed`: an operator or a test ended the thread. */
  readonly cause: ErrorCode | 'hung' | 'killed';
  readonly reason: string;
}

/** One actor as `GET /debug/actors` shows it. Times are Unix milliseconds. */
export interface ActorView<Id extends ActorName = DatabaseId> {
  readonly id: Id;
  readonly kind: ActorKind;
  readonly state: ActorState;
  /** Cause of its state, while it is down. */
  readonly reason: WireError | null;
  /** Counts its starts, from a number that no other process uses. */
  readonly generation: number;
  readonly restarts: {
    readonly inWindow: number;
    /** Most starts in the window. */
    readonly budget: number;
    readonly total: number;
    readonly causes: readonly Death[];
  };
  readonly machines: Readonly<Record<string, { readonly state: string; readonly since: number }>>;
  /** Thing that its thread waits for; after a death the cause of it, until the next thread gets further than its start. */
  readonly waiting: Waiting | null;
  /** Its last sign of life, and the milliseconds since that came by a clock that nobody sets. */
  readonly beacon: (Beacon & { readonly at: number; readonly silentMs: number }) | null;
  /** Oldest first. */
  readonly transitions: readonly Transition[];
}
