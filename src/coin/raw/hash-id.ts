import { hash } from 'node:crypto';

/** Returns the SHA-256 of the SHA-256. */
export function hashTwice(bytes: Uint8Array): Buffer {
  return hash('sha256', hash('sha256', bytes, 'buffer'), 'buffer');
}

/** Returns the id of a block header or transaction as nodes print it: SHA-256 twice, bytes reversed, hex. */
export function hashId(bytes: Uint8Array): string {
  return printId(hashTwice(bytes));
}

/** Returns the text that nodes print for the 32 bytes of an id. Does not change the bytes. */
export function printId(bytes: Uint8Array): string {
  return Buffer.from(bytes).reverse().toString('hex');
}
