/** An object as the client of NATS gives it. */
interface FoundObject {
  readonly data: ReadableStream<Uint8Array>;
  readonly error: Promise<Error | null>;
}

/** Longest wait for the next bytes of an object. */
const IDLE_MS = 30_000;

/**
 * Reads an object's bytes as they come. The client's own stream neither ends nor fails when the connection is lost.
 *
 * @param lost aborted when nobody waits for the bytes any more, or none can come
 * @throws {Error} when `lost` is aborted, no bytes came for `idleMs`, or the object is damaged
 */
export async function* bytesOf(
  { data, error }: FoundObject,
  lost: AbortSignal,
  idleMs = IDLE_MS
): AsyncGenerator<Uint8Array> {
  error.catch(() => undefined); // the stream fails with it
  const reader = data.getReader();
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => undefined); // nobody may wait just then
  const stop = () => ended.reject(new Error('the connection to NATS was lost meanwhile'));
  lost.addEventListener('abort', stop, { once: true });
  try {
    for (;;) {
      if (lost.aborted) stop();
      const late = setTimeout(() => ended.reject(new Error(`no bytes came for ${idleMs} ms`)), idleMs);
      const read = await Promise.race([reader.read(), ended.promise]).finally(() => clearTimeout(late));
      if (read.done) return;
      yield read.value;
    }
  } finally {
    lost.removeEventListener('abort', stop);
    void reader.cancel().catch(() => undefined); // it may have failed
  }
}
