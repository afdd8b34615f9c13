import { rows } from '../../../db/core/connection.ts';
import type { Preferences } from '../../state/facts.ts';
import { VALID_STATUS } from '../valid-status.ts';
import type { Loading, Query } from './loading.ts';

/** An address is ASCII; no other text can have an id. */
const ADDRESS = /^[\x21-\x7e]{1,120}$/;

/** Ids of addresses, of those that have one; afterwards they are in the view. */
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

export async function addressNames(connection: Query, ids: readonly number[]): Promise<Map<number, string>> {
  const found = await rows<{ id: number; address: string }>(
    connection,
    'SELECT id, address FROM index_addresses WHERE id IN (?)',
    [ids]
  );
  return new Map(found.map(({ id, address }) => [id, address]));
}

export async function loadPreferences(keys: readonly string[], loading: Loading): Promise<void> {
  const { connection, view } = loading;
  const ids = await addressIds(loading, keys);
  const found = await rows<Record<'id' | 'fee' | 'memo' | 'dispenser', number | null>>(
    connection,
    `SELECT x.source_id AS id, p.fee_preference AS fee, p.require_memo AS memo, p.dispenser_preference AS dispenser
     FROM addresses p STRAIGHT_JOIN actions x ON x.action_index = p.action_index
     WHERE p.status_id = ${VALID_STATUS} AND x.source_id IN (?) ORDER BY p.action_index`,
    [[0, ...ids.values()]]
  );
  const newest = new Map<number, Preferences>();
  for (const { id, fee, memo, dispenser } of found) {
    const former = newest.get(id!)?.dispenser ?? null;
    newest.set(id!, { fee: fee ?? 0, requiresMemo: memo === 1, dispenser: dispenser ?? former });
  }
  for (const key of keys) view.load('preferences', key, newest.get(ids.get(key) ?? 0));
}

export async function hasServed(loading: Loading, addresses: readonly string[]): Promise<boolean> {
  const ids = await addressIds(loading, addresses);
  const found = await rows(
    loading.connection,
    `SELECT 1 FROM dispensers d JOIN actions x ON x.action_index = d.action_index
     WHERE d.get_address_id = ? AND x.source_id = ? AND d.status_id = ${VALID_STATUS} LIMIT 1`,
    [ids.get(addresses[1]!) ?? 0, ids.get(addresses[0]!) ?? 0]
  );
  return found.length > 0;
}
