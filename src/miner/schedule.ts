/** How long payments wait for their block, in milliseconds. */
export interface WaitTimes {
  /** From the first payment on. */
  readonly firstMs: number;
  /** Added by each further payment. */
  readonly addedMs: number;
  /** From the last block to one that no payment asks for; 0: never. */
  readonly idleMs: number;
}

/** The payments that wait for a block. */
export interface Waiting {
  /** When the first of them was seen, by the clock of the caller; null while none waits. */
  readonly since: number | null;
  readonly size: number;
  /** How many came after the first. */
  readonly added: number;
}

export const NOBODY_WAITS: Waiting = { since: null, size: 0, added: 0 };
/** However many payments arrive, the first waits no longer. */
const LONGEST_WAIT_MS = 3_600_000;

/** What waits after a look at the mempool. @param size its transactions @param now ms */
export function lookAt(before: Waiting, size: number, now: number): Waiting {
  if (size === 0) return NOBODY_WAITS;
  if (before.since === null) return { since: now, size, added: size - 1 };
  return { ...before, size, added: before.added + Math.max(0, size - before.size) };
}

/** When the next block is to be mined, by the same clock; null: not before a payment arrives. @param lastBlockAt when the last one was mined */
export function nextBlockAt({ since, added }: Waiting, times: WaitTimes, lastBlockAt: number): number | null {
  const idleAt = times.idleMs > 0 ? lastBlockAt + times.idleMs : Number.POSITIVE_INFINITY;
  const paidAt =
    since === null
      ? Number.POSITIVE_INFINITY
      : since + Math.min(LONGEST_WAIT_MS, times.firstMs + added * times.addedMs);
  const at = Math.min(idleAt, paidAt);
  return Number.isFinite(at) ? at : null;
}
