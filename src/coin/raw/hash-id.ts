import { hash } from 'node:crypto';

/** Id of a block header or a transaction as nodes print it: SHA-256 twice, the bytes in reverse order, hex. */
export function hashId(bytes: Uint8Array): string {
  return printId(hash('sha256', hash('sha256', bytes, 'buffer'), 'buffer'));
}

/** The text that nodes print for the 32 bytes of an id; the bytes stay as they are. */
export function printId(bytes: Uint8Array): string {
  return Buffer.from(bytes).reverse().toString('hex');
}
