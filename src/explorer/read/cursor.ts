import { createHash } from 'node:crypto';
import { PlatformError } from '../../errors.ts';
import type { List } from '../lists/list.ts';
import type { Tip } from './tip.ts';

/** Where a page ended: the key of its last row, and how many rows of that key were given. */
export interface Position {
  readonly key: string;
  readonly given: number;
}

const VERSION = 1;
const WHOLE_NUMBER = /^\d{1,20}$/;
const QUERY_DIGITS = 16;

/** What a query is told from others by. */
export function queryMark(parts: readonly (string | undefined)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, QUERY_DIGITS);
}

/** An opaque text from which the next page goes on; it is bound to the query and to the block that was the newest. */
export function writeCursor(query: string, tip: Tip, { key, given }: Position): string {
  return Buffer.from(JSON.stringify([VERSION, query, tip.height, tip.mark, key, given])).toString('base64url');
}

/** A cursor that was given out for this query. */
export interface Cursor extends Position {
  /** The block that was the newest, by which a reorg is seen. */
  readonly block: Tip;
}

/** @throws {PlatformError} CURSOR_INVALID for what was not given out, or for another query */
export function readCursor(cursor: string, query: string, { textKeys }: Pick<List, 'textKeys'>): Cursor {
  const parts = parse(cursor);
  if (!parts || !(textKeys || WHOLE_NUMBER.test(parts[4])))
    throw new PlatformError('CURSOR_INVALID', { reason: 'this service did not make the cursor: leave it out' });
  const [, ofQuery, height, mark, key, given] = parts;
  if (ofQuery !== query)
    throw new PlatformError('CURSOR_INVALID', {
      reason: 'cursor belongs to another query: leave it out, or repeat that query'
    });
  return { key, given, block: { height, mark } };
}

type Parts = readonly [version: number, query: string, height: number, mark: string, key: string, given: number];

function parse(cursor: string): Parts | undefined {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
  if (!Array.isArray(parts) || parts.length !== 6) return undefined;
  const [version, query, height, mark, key, given] = parts as unknown[];
  const isCursor =
    version === VERSION &&
    typeof query === 'string' &&
    isCount(height) &&
    typeof mark === 'string' &&
    typeof key === 'string' &&
    key.length <= 250 &&
    isCount(given);
  return isCursor ? (parts as unknown as Parts) : undefined;
}

/** Far more rows than one key has. */
const MAX_COUNT = 10_000_000_000;
const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= MAX_COUNT;
