import { rows, type Statements } from '../../../db/connection.ts';
import type { Preferences } from '../../state/facts.ts';
import { splitPair } from '../../state/keys.ts';
import { DECIDES } from '../decisions.ts';
import type { Loading } from './loading.ts';

/** Characters and length of an address. No other text can have an id. */
const ADDRESS = /^[\x21-\x7e]{1,120}$/;

/** Returns the ids of those addresses that have one, and puts them into the view. */
export async function addressIds(
  { connection, view }: Loading,
  addresses: readonly string[]
): Promise<Map<string, number>> {
  const unknown = addresses.filter((address) => view.find('addressId', address) === undefined);
  const possible = unknown.filter((address) => ADDRESS.test(address));
  const found =
    possible.length === 0
      ? []
      : await rows<{ id: number; address: string }>(
          connection,
          'SELECT id, address FROM index_addresses WHERE address IN (?)',
          [possible]
        );
  const ids = new Map(found.map(({ id, address }) => [address, id]));
  for (const address of unknown) view.load('addressId', address, ids.get(address));
  return new Map(
    addresses.flatMap((address) => {
      const id = view.get('addressId', address);
      return id === null ? [] : [[address, id] as const];
    })
  );
}

/** Reads addresses by their ids. */
export async function addressNames(connection: Statements, ids: readonly number[]): Promise<Map<number, string>> {
  const found = await rows<{ id: number; address: string }>(
    connection,
    'SELECT id, address FROM index_addresses WHERE id IN (?)',
    [ids]
  );
  return new Map(found.map(({ id, address }) => [id, address]));
}

/** Returns numbered ids as a table of a statement; null for none. */
export function pairsOf(pairs: readonly (readonly [n: number, id: number])[]): string | null {
  return pairs.length === 0 ? null : `VALUES ${pairs.map(([n, id]) => `(${n}, ${id})`).join(', ')}`;
}

/** Loads the preferences that each address last set. No other action of the address is read. */
export async function loadPreferences(keys: readonly string[], loading: Loading): Promise<void> {
  const { connection, view } = loading;
  const ids = await addressIds(loading, keys);
  const list = pairsOf(keys.flatMap((key, n) => (ids.has(key) ? [[n, ids.get(key)!] as const] : [])));
  const found =
    list === null
      ? []
      : await rows<Record<'n' | 'fee' | 'memo' | 'dispenser', number | null>>(
          connection,
          `WITH w (n, id) AS (${list}) SELECT v.n, p.fee_preference AS fee, p.require_memo AS memo,
             p.dispenser_preference AS dispenser FROM (SELECT w.n, (SELECT r.action_index
               FROM address_preferences r FORCE INDEX (address_id) WHERE r.address_id = w.id
               ORDER BY r.action_index DESC LIMIT 1) AS newest FROM w) v
           STRAIGHT_JOIN address_preferences p ON p.action_index = v.newest`
        );
  const preferences = new Map(
    found.map(({ n, fee, memo, dispenser }): [number, Preferences] => [
      Number(n),
      { fee: fee!, requiresMemo: memo === 1, dispenser }
    ])
  );
  for (const [n, key] of keys.entries()) view.load('preferences', key, preferences.get(n));
}

/** Loads whether addresses ever opened a dispenser at others. */
export async function loadServed(keys: readonly string[], loading: Loading): Promise<void> {
  const { connection, view } = loading;
  const pairs = keys.map(splitPair);
  const ids = await addressIds(loading, [...new Set(pairs.flat())]);
  const asked = pairs.flatMap(([source, address], n) => {
    const [s, a] = [ids.get(source), ids.get(address)];
    return s === undefined || a === undefined ? [] : [`(${n}, ${s}, ${a})`];
  });
  const found =
    asked.length === 0
      ? []
      : await rows<{ n: number; served: number | null }>(
          connection,
          `WITH w (n, s, a) AS (VALUES ${asked.join(', ')}) SELECT w.n,
             (SELECT 1 FROM deciding_actions d
              WHERE d.kind = ${DECIDES.served} AND d.subject = w.a AND d.other = w.s LIMIT 1) AS served FROM w`
        );
  const served = new Set(found.flatMap(({ n, served }) => (served === null ? [] : [Number(n)])));
  for (const [n, key] of keys.entries()) view.load('served', key, served.has(n));
}

/** Loads the sources of the first valid dispensers at some addresses. */
export async function loadFirstSellers(keys: readonly string[], loading: Loading): Promise<void> {
  const { connection, view } = loading;
  const ids = await addressIds(loading, keys);
  const list = pairsOf(keys.flatMap((key, n) => (ids.has(key) ? [[n, ids.get(key)!] as const] : [])));
  const found =
    list === null
      ? []
      : await rows<{ n: number; source: string }>(
          connection,
          `WITH w (n, id) AS (${list}) SELECT v.n, s.address AS source FROM (SELECT w.n,
             (SELECT d.action_index FROM deciding_actions d WHERE d.kind = ${DECIDES.seller} AND d.subject = w.id
                AND d.other = 0 ORDER BY d.action_index LIMIT 1) AS oldest FROM w) v
           STRAIGHT_JOIN actions x ON x.action_index = v.oldest STRAIGHT_JOIN index_addresses s ON s.id = x.source_id`
        );
  const sellers = new Map(found.map(({ n, source }) => [Number(n), source]));
  for (const [n, key] of keys.entries()) view.load('firstSeller', key, sellers.get(n));
}
