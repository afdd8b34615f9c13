import { encodeMessage, infraAmendment, infraOnly } from '../wire/data/block.ts';
import type { Broadcast } from '../wire/data/broadcast.ts';
import type { DatabaseId } from '../wire/data/database.ts';
import type { AmendmentMessage, BlockMessage } from '../wire/data/messages.ts';
import { parseJson } from '../wire/json.ts';
import type { Position } from './position.ts';
import type { StreamMessage } from './stream-message.ts';

/** Returns the message for subscribers, its bytes as they were stored; null for one that is not for them. */
export function broadcastOf(id: DatabaseId, message: StreamMessage, { hashes }: Position): Broadcast | null {
  const { type, height, body: bytes, schema } = message;
  if (type === 'point' || type === 'break') return null;
  const names = type === 'reorg' ? {} : { names: { hashes, previous: null, schema } };
  return { type, height, bytes, infraBytes: id.dbType === 'indexer' ? infraBytesOf(message) : null, ...names };
}

/** Returns the bytes for `infra-only` subscribers, made as their source makes them. */
function infraBytesOf({ type, body }: StreamMessage): Uint8Array {
  if (body.length === 0 || (type !== 'block' && type !== 'amendment')) return body;
  const message = parseJson(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
  return encodeMessage(
    type === 'block' ? infraOnly(message as BlockMessage) : infraAmendment(message as AmendmentMessage)
  );
}
