import { setTimeout as sleep } from 'node:timers/promises';
import type { SendBuffer } from '../../service/stream/send-buffer.ts';

/** Pause between two looks at a send buffer. */
const LOOK_MS = 5;

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
  let [last, lastAt] = [read(), performance.now()];
  while (last.waitingBytes > 0 && isOpen()) {
    await sleep(LOOK_MS);
    const now = read();
    if (now.takenBytes > last.takenBytes) lastAt = performance.now();
    else if (performance.now() - lastAt >= stallMs) return false;
    last = now;
  }
  return true;
}
