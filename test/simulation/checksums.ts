import { crc32 as crcOf } from 'node:zlib';

/** Castagnoli's polynomial, reflected. */
const CASTAGNOLI = 0x82f63b78;
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ CASTAGNOLI : value >>> 1;
  return value;
});

/** CRC-32 of a text in UTF-8, as MariaDB's CRC32. */
export const crc32 = (text: string): number => crcOf(text);

/** CRC-32C of a text in UTF-8, as MariaDB's CRC32C. */
export function crc32c(text: string): number {
  let sum = 0xffffffff;
  for (const byte of Buffer.from(text)) sum = TABLE[(sum ^ byte) & 0xff]! ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}

/** What a row's text counts for in a digest. */
export const rowHash = (text: string): bigint => BigInt(crc32(text)) * BigInt(crc32c(text));
