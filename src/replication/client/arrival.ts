import type { Readable } from 'node:stream';
import { PlatformError } from '../../errors.ts';

/** Received and not yet taken; beyond it the sender waits. */
const MAX_WAITING_BYTES = 2 * 2 ** 20;

/**
 * Yields the bytes of a body from this moment to the last one that arrived before it broke: a stream that fails by
 * itself drops what has not been read from it yet.
 */
export function arrivalOf(body: Readable): AsyncIterable<Buffer> {
  const chunks: Buffer[] = [];
  let waiting = 0;
  let end: 'complete' | Error | null = null;
  let wake: () => void = () => undefined;
  const finish = (how: 'complete' | Error) => {
    end ??= how;
    wake();
  };
  body.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    waiting += chunk.length;
    if (waiting >= MAX_WAITING_BYTES) body.pause();
    wake();
  });
  body.once('end', () => finish('complete')).once('error', finish);
  body.once('close', () => finish(new PlatformError('SOURCE_UNREACHABLE', { reason: 'the response was cut off' })));
  async function* take(): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        const chunk = chunks.shift();
        if (chunk) {
          waiting -= chunk.length;
          if (waiting < MAX_WAITING_BYTES) body.resume();
          yield chunk;
        } else if (end === 'complete') return;
        else if (end !== null) throw end;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      body.destroy();
    }
  }
  return { [Symbol.asyncIterator]: take };
}
