import type { Schema, Table } from './schema.ts';
import { quoted, type Side } from './side.ts';

/** The part of its source that a replica holds, by its marker. */
export interface Part {
  /** Lowest block that it holds; null when it holds all. */
  readonly floor: number | null;
  /** Whether it holds only the ten tables of an infra-only subscription. */
  readonly infraOnly: boolean;
  readonly height: number | null;
}

const INFRA_TABLES: ReadonlySet<string> = new Set([
  'stakes',
  'delegations',
  'validator_rewards',
  'prices',
  'reward_claims',
  'index_pubkeys',
  'index_addresses',
  'index_actions',
  'index_statuses',
  'index_fiats'
]);
/**
 * Tables that a truncated replica cannot hold in full: balances that its blocks do not touch, and epochs that begin
 * below it.
 */
const NEVER_ABOVE_A_FLOOR: ReadonlySet<string> = new Set(['balances', 'merkle_epochs']);
/** Columns that tie a row to a block, with the table that holds the block. */
const SCOPES = [
  ['block_index', null],
  ['tx_index', 'transactions'],
  ['action_index', 'actions']
] as const;

/** Reads the part of its source that a replica holds; null when it holds all. */
export async function readPart(replica: Side, { tables }: Schema): Promise<Part | null> {
  const columns = new Set(tables.get('sync_state')?.columns.map(({ name }) => name));
  if (!columns.has('floor') || !columns.has('infra_only')) return null;
  const [row] = await replica.select<[number | null, number, number | null]>(
    'SELECT floor, infra_only, height FROM sync_state WHERE id = 1'
  );
  const [floor, infraOnly, height] = row ?? [null, 0, null];
  if (floor === null && Number(infraOnly) === 0) return null;
  return {
    floor: floor === null ? null : Number(floor),
    infraOnly: Number(infraOnly) === 1,
    height: height === null ? null : Number(height)
  };
}

/** Returns whether a part includes a table. */
export function isInPart(part: Part | null, table: string): boolean {
  if (part?.infraOnly && !INFRA_TABLES.has(table)) return false;
  return part === null || part.floor === null || !NEVER_ABOVE_A_FLOOR.has(table);
}

/**
 * Returns the column that ties rows to blocks. A nullable one counts only without another, and never in lookup tables.
 */
function scopeOf(name: string, columns: Table['columns']): (typeof SCOPES)[number] | undefined {
  const required = SCOPES.find(([scope]) => columns.some((own) => own.name === scope && !own.nullable));
  if (required || name.startsWith('index_')) return required;
  return SCOPES.find(([scope, parent]) => parent === null && columns.some((own) => own.name === scope));
}

/** Returns the rows of a table that a part includes, as SQL for FROM. */
export function rowsInPart(part: Part | null, { name, columns }: Table, { tables }: Schema): string {
  const floor = part?.floor ?? null;
  const [column, parent] = scopeOf(name, columns) ?? [];
  if (floor === null || column === undefined || (parent && !tables.has(parent))) return quoted(name);
  const above = `block_index >= ${floor}`;
  const where = parent === null ? above : `${column} IN (SELECT ${column} FROM ${quoted(parent!)} WHERE ${above})`;
  return `(SELECT * FROM ${quoted(name)} WHERE ${where}) part`;
}
