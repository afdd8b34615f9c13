import { setTimeout as sleep } from 'node:timers/promises';

/** Parts of a service in the order in which it ends. */
interface StopOrder {
  readonly graceMs: number;
  /** Closes the front door: it takes nothing new, and answers what it has taken. Bounded by the grace. */
  readonly closeDoor: () => Promise<unknown>;
  /** Ends what requests are answered by, such as actors. @param graceMs what is left of the grace for it */
  readonly endWork: (graceMs: number) => Promise<unknown>;
  /** Closes what is left, one after the other. */
  readonly closeRest: readonly (() => unknown)[];
}

/**
 * Ends a service within its grace: first its front door, then its work, then what both have used. Requests that have come are
 * answered. Where callers take their answers for longer than half of the grace, the work ends beside them.
 */
export async function stopInOrder({ graceMs, closeDoor, endWork, closeRest }: StopOrder): Promise<void> {
  const halfMs = graceMs / 2;
  const startedAt = performance.now();
  const closing = closeDoor();
  const waited = new AbortController();
  await Promise.race([closing, sleep(halfMs, undefined, { signal: waited.signal }).catch(() => undefined)]);
  waited.abort();
  const leftMs = Math.max(halfMs, graceMs - (performance.now() - startedAt));
  await Promise.all([closing, endWork(leftMs)]);
  for (const close of closeRest) await close();
}
