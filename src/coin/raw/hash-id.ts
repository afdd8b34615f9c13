import { hash } from 'node:crypto';

/** SHA-256 twice. */
export function hashTwice(bytes: Uint8Array): Buffer {
  return hash('sha256', hash('sha256', bytes, 'buffer'), 'buffer');
}

/** Id of a block header or a transaction as nodes print it: SHA-256 twice, the bytes in reverse order, hex. */
export function hashId(bytes: Uint8Array): string {
  return printId(hashTwice(bytes));
}

/** The text that nodes print for the 32 bytes of an id; the bytes stay as they are. */
export function printId(bytes: Uint8Array): string {
  return Buffer.from(bytes).reverse().toString('hex');
}
