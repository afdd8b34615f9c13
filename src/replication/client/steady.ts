import { PlatformError } from '../../errors.ts';

/** Less than this many bytes in this much time is a stall; only time spent waiting counts. */
const STALL_MS = 30_000;
const STALL_BYTES = 16 * 1024;

/**
 * Yields the pieces of a body as long as they come at a rate at which it ends some day. A source that sends a byte now
 * and then is not silent, and would be waited for without an end.
 *
 * @throws {PlatformError} SOURCE_UNREACHABLE
 */
export async function* steadily(
  body: AsyncIterable<Uint8Array>,
  source: string,
  stallMs = STALL_MS
): AsyncGenerator<Uint8Array> {
  let waitedMs = 0;
  let bytes = 0;
  let askedAt = performance.now();
  for await (const piece of body) {
    waitedMs += performance.now() - askedAt;
    bytes += piece.length;
    if (bytes >= STALL_BYTES) [waitedMs, bytes] = [0, 0];
    else if (waitedMs >= stallMs) {
      const reason = `${source} sent ${bytes} bytes in ${Math.round(waitedMs)} ms: the answer has stalled`;
      throw new PlatformError('SOURCE_UNREACHABLE', { reason, source });
    }
    yield piece;
    askedAt = performance.now();
  }
}
