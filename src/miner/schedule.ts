/** Times that payments wait for a block, in milliseconds. */
export interface WaitTimes {
  /** From the first payment. */
  readonly firstMs: number;
  /** Added by each further payment. */
  readonly addedMs: number;
  /** From the last block to one without a payment; 0 for never. */
  readonly idleMs: number;
}

/** Payments that wait for a block. */
export interface Waiting {
  /** Time at which the first was seen, by the caller's clock; null while none waits. */
  readonly since: number | null;
  readonly size: number;
  /** Number of payments after the first. */
  readonly added: number;
}

/** Value while no payment waits. */
export const NOBODY_WAITS: Waiting = { since: null, size: 0, added: 0 };
/** Longest wait of the first payment, however many follow. */
const LONGEST_WAIT_MS = 3_600_000;

/**
 * Returns the waiting payments after a look at the mempool. @param size number of its transactions @param now
 * milliseconds
 */
export function lookAt(before: Waiting, size: number, now: number): Waiting {
  if (size === 0) return NOBODY_WAITS;
  if (before.since === null) return { since: now, size, added: size - 1 };
  return { ...before, size, added: before.added + Math.max(0, size - before.size) };
}

/**
 * Returns the time of the next block by the caller's clock; null until a payment arrives. @param lastBlockAt time of
 * the last block
 */
export function nextBlockAt({ since, added }: Waiting, times: WaitTimes, lastBlockAt: number): number | null {
  const idleAt = times.idleMs > 0 ? lastBlockAt + times.idleMs : Number.POSITIVE_INFINITY;
  const paidAt =
    since === null
      ? Number.POSITIVE_INFINITY
      : since + Math.min(LONGEST_WAIT_MS, times.firstMs + added * times.addedMs);
  const at = Math.min(idleAt, paidAt);
  return Number.isFinite(at) ? at : null;
}
