import type { Schema } from './schema.ts';
import type { Side } from './side.ts';

/** Returns whether the AUTO_INCREMENT ids of a table are compared. */
type ComparesIds = (table: string) => boolean;

/**
 * Reads whose ids a replica has, from its marker.
 *
 * The ids of its source are compared, except in tables that the marker names as having own ids. Without this
 * information, as in replicas of other programs, no ids are compared.
 */
export async function readComparesIds(replica: Side, { tables }: Schema): Promise<ComparesIds> {
  if (!tables.get('sync_state')?.columns.some(({ name }) => name === 'ids')) return () => false;
  const [row] = await replica.select<[string | null]>('SELECT ids FROM sync_state WHERE id = 1');
  const { source = null, own = [] } = JSON.parse(row?.[0] ?? '{}') as { source?: string | null; own?: string[] };
  const owned = new Set(own);
  return (table) => source !== null && !owned.has(table);
}
