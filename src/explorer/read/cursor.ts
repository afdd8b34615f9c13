import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { PlatformError } from '../../errors.ts';
import type { Question } from '../question.ts';
import type { Tip } from './tip.ts';

/** End of a page: the key of its last row, and the number of rows of that key that were given. */
export interface Position {
  readonly key: string;
  readonly given: number;
}

/** A cursor that was given out for a query. */
export interface Cursor extends Position {
  /** The block that was the newest, by which a reorg is seen. */
  readonly block: Tip;
}

type Parts = readonly [query: string, height: number, mark: string, key: string, given: number];

/** Another shape of `Parts` has another number: what an earlier release signed is then nobody's. */
const VERSION = 2;
const QUERY_DIGITS = 16;
const SIGNATURE_BYTES = 16;

/** Returns a mark of a question's list, the same for all its pages. @param text what its filter takes */
export function markOf(
  { method, query, type, order, parameters, height }: Omit<Question, 'page' | 'limit' | 'format'>,
  text: string
): string {
  const parts = [method, query, type, order, Object.keys(parameters), text, height];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, QUERY_DIGITS);
}

/** Opaque texts from which the next page goes on, signed, so that only what was given out is taken. */
export class Cursors {
  readonly #key: Uint8Array;

  /** @param key 32 bytes */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** Writes a cursor that is bound to the query and to the block that was the newest. */
  write(query: string, { height, mark }: Tip, { key, given }: Position): string {
    const parts: Parts = [query, height, mark, key, given];
    const text = Buffer.from(JSON.stringify(parts)).toString('base64url');
    return `${text}.${this.#sign(text).toString('base64url')}`;
  }

  /** @throws {PlatformError} CURSOR_INVALID for what was not given out, or for another query */
  read(cursor: string, query: string): Cursor {
    const parts = this.#partsOf(cursor);
    if (parts === null)
      throw new PlatformError('CURSOR_INVALID', { reason: 'this service did not make the cursor: leave it out' });
    const [ofQuery, height, mark, key, given] = parts;
    if (ofQuery !== query)
      throw new PlatformError('CURSOR_INVALID', {
        reason: 'cursor belongs to another query: leave it out, or repeat that query'
      });
    return { key, given, block: { height, mark } };
  }

  /** Returns the height of the newest block at which a cursor was made; null where it was not given out. */
  heightOf(cursor: string): number | null {
    return this.#partsOf(cursor)?.[1] ?? null;
  }

  #partsOf(cursor: string): Parts | null {
    const [text = '', signature = ''] = cursor.split('.', 2);
    const given = Buffer.from(signature, 'base64url');
    if (given.length !== SIGNATURE_BYTES || !timingSafeEqual(given, this.#sign(text))) return null;
    return JSON.parse(Buffer.from(text, 'base64url').toString()) as Parts;
  }

  #sign(text: string): Buffer {
    return createHmac('sha256', this.#key).update(text).digest().subarray(0, SIGNATURE_BYTES);
  }
}

/**
 * Makes the cursors of a network's ledger. They are signed with a key that is made for nothing else: with one that came
 * from a password, each cursor would be a test of guesses of it.
 *
 * @param secret of all explorers that are to take each other's cursors
 */
export function cursorsOf(secret: string, network: string): Cursors {
  return new Cursors(createHmac('sha256', secret).update(`explorer cursors ${VERSION} ${network}`).digest());
}
