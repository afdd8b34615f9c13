import type { AddressVersions } from '../../coin/chains.ts';
import { canonicalAddress } from '../../coin/script/address.ts';
import { PlatformError } from '../../errors.ts';
import type { Subject } from '../lists/list.ts';
import type { Query } from './reader.ts';
import type { NamesAt } from './token-names.ts';

const MAX_DIGITS = 15;
const HASH = /^[0-9a-fA-F]{64}$/;
/** Columns of addresses hold ASCII; MariaDB does not compare them with anything else. */
const ADDRESS = /^[\x21-\x7e]{1,120}$/;
/** Columns of names, keys and statuses hold few signs; MariaDB does not compare some of them with anything else. */
const WORD = /^[\x20-\x7e]{1,250}$/;
/** An address or a ticker by its id, as actions may name it. */
const BY_ID = /^\^(\d{1,15})$/;
const COIN = /^[A-Za-z]{1,10}$/;
/** The id of the chain's coin in pairs. */
export const COIN_SIDE = 0;

/** The id of an address that a statement looks up itself, which spares a round trip. @see readSubject */
export const ADDRESS_ID = '(SELECT id FROM index_addresses WHERE address = ?)';

/** Reads the names of tokens, where they are needed. */
export type ReadNames = () => Promise<NamesAt>;

/**
 * Returns the value by which a list's index finds the thing that `{query}` names; null if no database knows it. An address stays a
 * text; statements find its id.
 *
 * @throws {PlatformError} BLOCK_INDEX_INVALID, ACTION_INDEX_INVALID
 */
export async function readSubject(
  query: Query,
  names: ReadNames,
  subject: Subject,
  text: string,
  versions: AddressVersions
): Promise<string | number | null> {
  switch (subject) {
    case 'address':
      return isAddressText(text) ? await spellAddress(query, text, versions) : null;
    case 'ticker':
      return await findTicker(query, names, text);
    case 'side':
      return await findSide(query, names, text);
    case 'height':
      return readHeight(text);
    case 'action':
      return readActionIndex(text);
    case 'hash':
      return readHash(text);
    case 'word':
      return WORD.test(text) ? text : null;
    case 'spelling':
      return isAddressText(text) ? (canonicalAddress(text, versions) ?? text) : null;
    case 'pattern':
    case 'children':
    case 'text':
    case 'everything':
      return text;
  }
}

/** Reads the hash of a transaction or block as databases have it; null for any other text. */
export function readHash(text: string): string | null {
  return HASH.test(text) ? text.toLowerCase() : null;
}

/** Returns whether a text can be compared with addresses. */
export const isAddressText = (text: string): boolean => ADDRESS.test(text);

/** Finds the id of an address. */
export async function findAddress(query: Query, address: string): Promise<number | null> {
  if (!ADDRESS.test(address)) return null;
  const [found] = await query<{ id: number }>('SELECT id FROM index_addresses WHERE address = ?', [address]);
  return found?.id ?? null;
}

/**
 * Spells an address as a database has it: in this system's spelling, which its rows have, whatever spelling somebody
 * asks for; else as it is written, for older rows.
 */
export async function spellAddress(query: Query, asked: string, versions: AddressVersions): Promise<string> {
  const id = BY_ID.exec(asked)?.[1];
  if (id !== undefined) {
    const [found] = await query<{ address: string }>('SELECT address FROM index_addresses WHERE id = ?', [Number(id)]);
    return found?.address ?? asked;
  }
  const usual = canonicalAddress(asked, versions);
  if (usual === undefined || usual === asked || (await findAddress(query, usual)) !== null) return usual ?? asked;
  return (await findAddress(query, asked)) === null ? usual : asked;
}

/** Finds the id of a side of a market: of a ticker, or 0 for the coin of a chain. */
export async function findSide(query: Query, names: ReadNames, name: string): Promise<number | null> {
  const isCoin =
    COIN.test(name) && (await query('SELECT 1 FROM index_coins WHERE coin = ?', [name.toUpperCase()])).length > 0;
  return isCoin ? COIN_SIDE : await findTicker(query, names, name);
}

/**
 * Finds the id of a ticker: by `^id`; else that of the token, in whatever case it is asked for; without a token, of the
 * text as it is written. Anybody's refused action may name a token in another case, which has an id of its own.
 */
export async function findTicker(query: Query, names: ReadNames, tick: string): Promise<number | null> {
  const id = BY_ID.exec(tick)?.[1];
  if (id !== undefined) {
    const [known] = await query<{ id: number }>('SELECT id FROM index_tickers WHERE id = ?', [Number(id)]);
    return known ? Number(known.id) : null;
  }
  const found = await query<{ id: number; tick: string; token: number | null }>(
    'SELECT i.id, i.tick, (SELECT t.id FROM tokens t WHERE t.tick_id = i.id LIMIT 1) AS token FROM index_tickers i WHERE i.tick IN (?, ?, ?)',
    [tick, tick.toUpperCase(), tick.toLowerCase()]
  );
  const tokens = found.filter(({ token }) => token !== null);
  const token = tokens.find((each) => each.tick === tick) ?? tokens[0];
  if (token) return token.id;
  return (await names()).find(tick) ?? (found.find((each) => each.tick === tick) ?? found[0])?.id ?? null;
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
