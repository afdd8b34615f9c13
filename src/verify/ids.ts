import type { Schema } from './schema.ts';
import type { Side } from './side.ts';

/** Decides whether the AUTO_INCREMENT ids of a table are compared. */
export type ComparesIds = (table: string) => boolean;

/**
 * Where a replica's marker says whose ids it has, those of its source count, and not those of the tables that it names: they are
 * the replica's own. Where it does not say, as another program's, none count.
 */
export async function readComparesIds(replica: Side, { tables }: Schema): Promise<ComparesIds> {
  if (!tables.get('sync_state')?.columns.some(({ name }) => name === 'ids')) return () => false;
  const [row] = await replica.select<[string | null]>('SELECT ids FROM sync_state WHERE id = 1');
  const { source = null, own = [] } = JSON.parse(row?.[0] ?? '{}') as { source?: string | null; own?: string[] };
  const owned = new Set(own);
  return (table) => source !== null && !owned.has(table);
}
