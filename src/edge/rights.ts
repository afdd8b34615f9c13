import { PlatformError } from '../errors.ts';
import type { Nats } from '../sync/relay/link.ts';
import { subjectOf } from '../sync/relay/stream.ts';
import { type DatabaseId, databaseKey } from '../wire/data/database.ts';

const TIMEOUT_MS = 5_000;
/** The answer of a stream that would have taken the message behind another one. */
const WRONG_LAST_SEQUENCE = 10_071;

/**
 * Makes sure that these credentials may only read: a message that the stream cannot take is refused for that, or for want of rights.
 *
 * @throws {PlatformError} STREAM_WRITABLE; what NATS failed with where that is not known
 */
export async function checkReader(nats: Nats, id: DatabaseId): Promise<void> {
  const expect = { lastSequence: Number.MAX_SAFE_INTEGER };
  try {
    await nats.messages.publish(subjectOf(id), '', { expect, timeout: TIMEOUT_MS, retries: 0 });
  } catch (caught) {
    const { code, message } = caught as { code?: unknown; message?: unknown };
    if (/permissions violation/i.test(String(message))) return;
    if (code !== WRONG_LAST_SEQUENCE) throw caught; // it says nothing of rights
  }
  throw new PlatformError('STREAM_WRITABLE', {
    reason: `the credentials of this edge may write the stream of ${databaseKey(id)}`
  });
}
