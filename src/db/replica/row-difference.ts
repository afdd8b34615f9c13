import { type CanonicalRow, keyText, type ReplicaTable } from './schema.ts';

/** What makes some rows of this database the given ones. */
export interface RowDifference {
  /** Rows of this database to take away. */
  readonly surplus: readonly CanonicalRow[];
  /** Rows to add. */
  readonly missing: readonly CanonicalRow[];
}

export const NO_DIFFERENCE: RowDifference = { surplus: [], missing: [] };

/** Compares two multisets of rows by the values at some positions; rows that both have stay as they are. */
export function differ(
  existing: readonly CanonicalRow[],
  wanted: readonly CanonicalRow[],
  positions: readonly number[]
): RowDifference {
  const counts = new Map<string, number>();
  for (const row of wanted) counts.set(keyText(row, positions), (counts.get(keyText(row, positions)) ?? 0) + 1);
  const take = (row: CanonicalRow): boolean => {
    const text = keyText(row, positions);
    const count = counts.get(text) ?? 0;
    counts.set(text, count - 1);
    return count > 0;
  };
  const surplus = existing.filter((row) => !take(row));
  // Subtract the rows that stay; the remaining counts are the rows to insert.
  return { surplus, missing: wanted.filter(take) };
}

/** The rows of several readings of one table, where a row that two of them found counts once. */
export function union(table: ReplicaTable, lists: readonly (readonly CanonicalRow[])[]): readonly CanonicalRow[] {
  const filled = lists.filter((list) => list.length > 0);
  if (filled.length < 2) return filled[0] ?? [];
  // Without a key, equal rows cannot be told apart.
  const key = table.rowKey;
  if (!key) return filled.flat();
  return [...new Map(filled.flatMap((list) => list.map((row) => [keyText(row, key), row] as const))).values()];
}

/** True for a row that its table's identity names: a NULL in it names nothing. */
export function isNamed({ identity }: ReplicaTable, row: CanonicalRow): boolean {
  return identity?.every((position) => row[position] !== null) ?? false;
}
