import { PlatformError } from '../../errors.ts';
import type { Subject } from '../lists/list.ts';
import type { Query } from './reader.ts';

const MAX_DIGITS = 15;
const HASH = /^[0-9a-fA-F]{64}$/;
/** Columns of addresses hold ASCII; MariaDB does not compare them with anything else. */
const ADDRESS = /^[\x21-\x7e]{1,120}$/;

/** The id of an address that a statement looks up itself, which spares a round trip. @see readSubject */
export const ADDRESS_ID = '(SELECT id FROM index_addresses WHERE address = ?)';

/**
 * The value by which a list's index finds what `{query}` names; null for what no database knows. An address stays a text, of
 * which statements find the id.
 *
 * @throws {PlatformError} BLOCK_INDEX_INVALID, ACTION_INDEX_INVALID
 */
export async function readSubject(query: Query, subject: Subject, text: string): Promise<string | number | null> {
  switch (subject) {
    case 'address':
      return ADDRESS.test(text) ? text : null;
    case 'ticker':
      return await findTicker(query, text);
    case 'height':
      return readHeight(text);
    case 'action':
      return readActionIndex(text);
    case 'pattern':
      return text.split('*').map(escapeLike).join('%');
    case 'children':
      return `${escapeLike(text)}.%`;
    case 'hash':
      return readHash(text);
    case 'text':
    case 'everything':
      return text;
  }
}

/** The hash of a transaction or block as databases have it; null for any other text. */
export function readHash(text: string): string | null {
  return HASH.test(text) ? text.toLowerCase() : null;
}

/** The id of an address. */
export async function findAddress(query: Query, address: string): Promise<number | null> {
  if (!ADDRESS.test(address)) return null;
  const [found] = await query<{ id: number }>('SELECT id FROM index_addresses WHERE address = ?', [address]);
  return found?.id ?? null;
}

/** The id of a ticker, which is looked up as it is written and then without regard to case. */
export async function findTicker(query: Query, tick: string): Promise<number | null> {
  const found = await query<{ id: number; tick: string }>(
    'SELECT id, tick FROM index_tickers WHERE tick IN (?, ?, ?)',
    [tick, tick.toUpperCase(), tick.toLowerCase()]
  );
  const exact = found.find((each) => each.tick === tick) ?? found[0];
  if (exact) return exact.id;
  const [other] = await query<{ id: number }>('SELECT id FROM index_tickers WHERE LOWER(tick) = LOWER(?) LIMIT 1', [
    tick
  ]);
  return other?.id ?? null;
}

/** @throws {PlatformError} BLOCK_INDEX_INVALID */
export function readHeight(text: string): number {
  return (
    readNumber(text) ??
    refuse('BLOCK_INDEX_INVALID', `"${text.slice(0, 80)}" is no block index: send up to ${MAX_DIGITS} digits`)
  );
}

/** @throws {PlatformError} ACTION_INDEX_INVALID */
export function readActionIndex(text: string): number {
  return (
    readNumber(text) ??
    refuse('ACTION_INDEX_INVALID', `"${text.slice(0, 80)}" is no action index: send up to ${MAX_DIGITS} digits`)
  );
}

function readNumber(text: string): number | undefined {
  return text.length <= MAX_DIGITS && /^\d+$/.test(text) ? Number(text) : undefined;
}

function refuse(code: 'BLOCK_INDEX_INVALID' | 'ACTION_INDEX_INVALID', reason: string): never {
  throw new PlatformError(code, { reason });
}

function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, (sign) => `\\${sign}`);
}
