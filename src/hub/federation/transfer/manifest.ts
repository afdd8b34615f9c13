import { createHash } from 'node:crypto';
import { canonicalJson } from '../../../consensus/canonical-json.ts';

/** Table of contents of a hub's state at a checkpoint, whose hash is what hubs sign there. */
export interface Manifest {
  /** Clock of the log, epoch milliseconds. */
  readonly time: number;
  /** By submitter, the number of its next operation. */
  readonly next: ReadonlyMap<string, number>;
  /** Hashes of the parts of all replicated tables, in order. */
  readonly chunks: readonly string[];
}

/** Characters of a part, as far as one row is not longer. */
const CHUNK_LENGTH = 262_144;
const MOST_CHUNKS = 8_192;
const HASH = /^[0-9a-f]{64}$/;

/** Returns SHA-256 of a text, 64 hex digits. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Returns rows as parts that each fit into one envelope. @param rows  each row as a line without its end */
export function chunksOf(rows: Iterable<string>, length = CHUNK_LENGTH): readonly string[] {
  const chunks: string[] = [];
  let chunk = '';
  for (const row of rows) {
    if (chunk !== '' && chunk.length + row.length >= length) {
      chunks.push(chunk);
      chunk = '';
    }
    chunk += `${row}\n`;
  }
  return chunk === '' ? chunks : [...chunks, chunk];
}

/** Returns the rows of a part, each as a line without its end. */
export function rowsOf(chunk: string): readonly string[] {
  return chunk.split('\n').slice(0, -1);
}

/** Returns a manifest as the one text that all hubs write for it. */
export function manifestText({ time, next, chunks }: Manifest): string {
  return canonicalJson({ time, next: [...next].toSorted(), chunks });
}

/** Returns the manifest that a text is; null for any other text, also where it says the same otherwise. */
export function readManifest(text: string): Manifest | null {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return null;
  }
  const { time, next, chunks } = Object(read) as Record<string, unknown>;
  if (!isCount(time) || !Array.isArray(next) || !Array.isArray(chunks) || chunks.length > MOST_CHUNKS) return null;
  if (!next.every(isNumberOfOne) || !chunks.every((hash) => typeof hash === 'string' && HASH.test(hash))) return null;
  const manifest = { time, next: new Map(next), chunks: chunks as string[] };
  return manifestText(manifest) === text ? manifest : null;
}

function isNumberOfOne(value: unknown): value is [string, number] {
  return Array.isArray(value) && value.length === 2 && typeof value[0] === 'string' && isCount(value[1]);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
