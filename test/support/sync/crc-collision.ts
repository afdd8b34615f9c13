import { crc32 } from 'node:zlib';

/** Castagnoli's polynomial, reflected. */
const CASTAGNOLI = 0x82f63b78;
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ CASTAGNOLI : value >>> 1;
  return value;
});

/** CRC-32C of a text in UTF-8, as MariaDB's CRC32C. */
function crc32c(text: string): number {
  let sum = 0xffffffff;
  for (const byte of Buffer.from(text)) sum = TABLE[(sum ^ byte) & 0xff]! ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}

/** Both CRCs, which are affine: what a change adds to them does not depend on the rest of the text. */
export const bothCrcs = (text: string): bigint => (BigInt(crc32(text)) << 32n) | BigInt(crc32c(text));

/**
 * Texts that differ only in the case of letters and have one checksum, under every prefix and every suffix.
 *
 * Each letter whose case changes adds a vector of its own to the checksum; of more letters than the checksum has bits some add up
 * to nothing, and Gauss finds which.
 *
 * @param text lower case letters
 * @returns `text` and others, `count` at most
 */
export function sameChecksum(text: string, checksum: (text: string) => bigint, count: number): string[] {
  const flipped = (letters: bigint) =>
    [...text].map((letter, at) => ((letters >> BigInt(at)) & 1n ? letter.toUpperCase() : letter)).join('');
  const base = checksum(text);
  const pivots: { readonly sum: bigint; readonly letters: bigint }[] = [];
  const nothing: bigint[] = [];
  for (let at = 0; at < text.length; at++) {
    let letters = 1n << BigInt(at);
    let sum = checksum(flipped(letters)) ^ base;
    for (const pivot of pivots) {
      if ((sum ^ pivot.sum) >= sum) continue;
      sum ^= pivot.sum;
      letters ^= pivot.letters;
    }
    if (sum === 0n) nothing.push(letters);
    else {
      pivots.push({ sum, letters });
      pivots.sort((a, b) => (a.sum < b.sum ? 1 : -1));
    }
  }
  return Array.from({ length: Math.min(count, 2 ** nothing.length) }, (_, choice) =>
    flipped(nothing.reduce((all, letters, at) => (Math.floor(choice / 2 ** at) % 2 ? all ^ letters : all), 0n))
  );
}
