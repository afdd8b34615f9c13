import { createPublicKey, verify } from 'node:crypto';

/*
 * What validators sign, as docs/actions.md tells it. It shares no code with the indexer.
 */

/** Beginning of an Ed25519 key in DER. */
const KEY_HEAD = Buffer.from('302a300506032b6570032100', 'hex');

/** Whether a key, 64 hex digits, signed a message. */
export function hasSigned(message: Uint8Array, key: string, signature: string): boolean {
  if (!/^[0-9a-f]{128}$/i.test(signature)) return false;
  const der = Buffer.concat([KEY_HEAD, Buffer.from(key, 'hex')]);
  return verify(
    null,
    message,
    createPublicKey({ key: der, format: 'der', type: 'spki' }),
    Buffer.from(signature, 'hex')
  );
}

/** One message of a slot. */
interface ReferenceMessage {
  readonly bytes: Uint8Array;
  readonly slot: string;
  readonly engine: string;
  readonly content: string;
  readonly height: number;
}

/** Reads what a SLASH holds; null for what is no message of a slot. */
export function readMessage(text: string): ReferenceMessage | null {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length === 0 || bytes.length > 16_384 || bytes.toString('base64url') !== text) return null;
  const message = bytes.toString();
  if (Buffer.compare(Buffer.from(message), bytes) !== 0) return null;
  const parts = message.split('|');
  const [mark, engine = '', round = '', view = '', nothing] = parts;
  if (mark !== 'EQUIV' || nothing !== '' || parts.length < 6) return null;
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(engine) || !/^[A-Za-z0-9_.:-]{1,128}$/.test(round)) return null;
  if (!/^[0-9]{1,15}$/.test(view)) return null;
  const content = parts.slice(5).join('|');
  const height = heightOf(content);
  return height === null ? null : { bytes, slot: parts.slice(0, 5).join('|'), engine, content, height };
}

function heightOf(content: string): number | null {
  try {
    const value = JSON.parse(content) as { btc_block_height?: unknown } | null;
    const height = value?.btc_block_height;
    return typeof height === 'number' && Number.isSafeInteger(height) && height >= 0 ? height : null;
  } catch {
    return null;
  }
}
