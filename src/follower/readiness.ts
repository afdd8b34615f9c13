import type { Readiness } from '../service/routes/readiness.ts';
import type { LoopView } from '../wire/state/loop-view.ts';

/** Distance from the tip of the followed chain, in blocks, within which a service counts as caught up. */
export const SYNCED_WITHIN_BLOCKS = 3;

/** State of a follower, as far as its readiness goes. */
interface FollowerState {
  readonly haltReason: string | null | undefined;
  /** Whether it cannot write: it is down, or its database does not take blocks. */
  readonly isDown: boolean;
  /** Blocks that it lacks; null if that is not known. */
  readonly lag: number | null;
  /** Whether a lag of 0 may be false: what it follows does not go on. */
  readonly isWaiting: boolean;
}

/** Returns the readiness that load balancers read. */
export function readinessFrom({ haltReason, isDown, lag, isWaiting }: FollowerState): Readiness {
  if (haltReason != null) return 'halted';
  if (isDown) return 'unavailable';
  if (lag === null) return 'starting';
  return isWaiting || lag > SYNCED_WITHIN_BLOCKS ? 'behind' : 'ready';
}

/** Returns the number of blocks up to the tip that are not written; null if either height is not known. */
export function lagBetween(tip: number | null, written: number | null): number | null {
  return tip === null || written === null ? null : Math.max(0, tip - written);
}

/** Returns whether the loop lives and has not halted. */
export function isRunning({ report, crash }: LoopView<{ readonly haltReason: string | null }>): boolean {
  return report !== null && crash === null && report.haltReason === null;
}
