import { PlatformError } from '../../errors.ts';

/**
 * Thrown by a reader's work that needs what a read on another connection is about to find. The reader ends the work's snapshot, waits
 * for that read, and begins the work anew.
 *
 * Work that waited within its snapshot could wait for itself: a session that alters a table waits for the snapshot, the other read for
 * that session, and MariaDB sees no deadlock.
 */
export class ReadElsewhere extends Error {
  readonly #end: Promise<unknown>;

  /** @param end  of the other read, whatever its outcome; it never rejects */
  constructor(end: Promise<unknown>) {
    super('another read is about to find this');
    this.#end = end;
  }

  /** Waits for the end of the other read. @throws {PlatformError} ANSWERS_WAITING if it takes longer than so many milliseconds */
  async ended(limitMs: number): Promise<void> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      late.reject(new PlatformError('ANSWERS_WAITING', { reason: 'another read of the same takes too long' }));
    }, limitMs);
    try {
      await Promise.race([this.#end, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }
}
