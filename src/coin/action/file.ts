import { promisify } from 'node:util';
import { inflateRaw } from 'node:zlib';
import { commandsIn } from './command.ts';

/** Fields of a FILE after the version. */
export const FILE_FORMAT = 'NAME|TYPE|TITLE|MEMO|GATE_TICKER|ENCRYPTION_METHOD|KEY_HASH|GATE_MIN_AMOUNT|COMPRESSION';
/** Place of COMPRESSION in `FILE_FORMAT`. */
export const COMPRESSION_PLACE = FILE_FORMAT.split('|').indexOf('COMPRESSION');
/** COMPRESSION of bytes that are deflated, without a zlib header. */
export const DEFLATED = '1';
/** Bytes of a file for each byte that stands on the chain, at most: readers inflate no more. */
export const MOST_INFLATION = 150;
/** Bytes of a file that is inflated, at most. */
const MOST_BYTES = 16 * 2 ** 20;

const inflate = promisify(inflateRaw);

/** Tells whether the bytes beside an action are a file that its sender deflated. @param text of a FILE, or of a BATCH with one */
export function isDeflated(text: string): boolean {
  const file = commandsIn(text).find(({ name }) => name === 'FILE');
  return file?.format === 0 && file.fields[COMPRESSION_PLACE] === DEFLATED;
}

/** Inflates a file, in bounded memory; null for bytes that are not deflated, or grow beyond the bounds. */
export async function inflateFile(stored: Uint8Array): Promise<Uint8Array | null> {
  const maxOutputLength = Math.min(Math.max(1, stored.length * MOST_INFLATION), MOST_BYTES);
  return await inflate(stored, { maxOutputLength }).catch(() => null);
}
