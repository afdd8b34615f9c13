import { setTimeout as sleep } from 'node:timers/promises';
import type { SendBuffer } from '../../service/stream/send-buffer.ts';

/** Pause between the first two looks at a send buffer; of one of which nothing is taken each further pause is twice as long. */
const FIRST_LOOK_MS = 5;
const LAST_LOOK_MS = 320;

/**
 * Waits until a connection has taken all that it was sent.
 *
 * @param isOpen false: nobody waits for it any more
 * @param stallMs how long it may take nothing of it
 * @returns false when it took nothing for so long
 */
export async function untilTaken(
  read: () => SendBuffer,
  { isOpen, stallMs }: { readonly isOpen: () => boolean; readonly stallMs: number }
): Promise<boolean> {
  let [last, lastAt, lookMs] = [read(), performance.now(), FIRST_LOOK_MS];
  while (last.waitingBytes > 0 && isOpen()) {
    await sleep(lookMs);
    const now = read();
    lookMs = Math.min(2 * lookMs, LAST_LOOK_MS);
    if (now.takenBytes > last.takenBytes) [lastAt, lookMs] = [performance.now(), FIRST_LOOK_MS];
    else if (performance.now() - lastAt >= stallMs) return false;
    last = now;
  }
  return true;
}
