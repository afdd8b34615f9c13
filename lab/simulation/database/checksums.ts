import { hash } from 'node:crypto';

/** SHA-256 of a text in UTF-8, or of bytes, as hex: MariaDB's SHA2 of 256 bits. */
export const sha256 = (text: string | Uint8Array): string => hash('sha256', text);

/** The first 64 bits of a keyed text's hash: what a row counts for in a digest or a figure. */
export const word = (text: string): bigint => BigInt(`0x${sha256(text).slice(0, 16)}`);

/** The first 32 bits of a keyed text's hash: a row's position. */
export const position = (text: string): number => Number.parseInt(sha256(text).slice(0, 8), 16);
