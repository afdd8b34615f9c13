import { type CanonicalRow, keyText, type ReplicaTable } from './schema.ts';

/** Changes that turn some rows of this database into the given ones. */
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
  if (existing.length === 0 || wanted.length === 0) return { surplus: existing, missing: wanted };
  const counts = new Map<string, number>();
  for (const row of wanted) {
    const text = keyText(row, positions);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
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

/**
 * Returns the same for rows of a table. Where its identity names each row once, only rows with the same name are
 * compared, value by value: texts of whole rows would cost most of what a block of many changed rows does.
 */
export function differByName(
  table: ReplicaTable,
  existing: readonly CanonicalRow[],
  wanted: readonly CanonicalRow[],
  positions: readonly number[]
): RowDifference {
  const { identity } = table;
  const isOfEquality = identity?.every((position) => positions.includes(position)) ?? false;
  const missing = isOfEquality ? byName(table, wanted) : null;
  if (missing === null) return differ(existing, wanted, positions);
  const nameOf = namer(identity!);
  const surplus: CanonicalRow[] = [];
  for (const row of existing) {
    const same = isNamed(table, row) ? missing.get(nameOf(row)) : undefined;
    if (same && positions.every((at) => same[at] === row[at])) missing.delete(nameOf(row));
    else surplus.push(row);
  }
  return { surplus, missing: missing.size === wanted.length ? wanted : [...missing.values()] };
}

/** Maps rows by the text of their identity; null where that does not name each of them once. */
function byName(table: ReplicaTable, list: readonly CanonicalRow[]): Map<string, CanonicalRow> | null {
  const nameOf = namer(table.identity!);
  const named = new Map<string, CanonicalRow>();
  for (const row of list) {
    if (!isNamed(table, row)) return null;
    named.set(nameOf(row), row);
  }
  return named.size === list.length ? named : null;
}

/** Returns a function that makes one text of a key's values, none of which is NULL. */
export function namer(key: readonly number[]): (row: CanonicalRow) => string {
  const [only, ...others] = key;
  return only !== undefined && others.length === 0 ? (row) => row[only]! : (row) => keyText(row, key);
}

/** Joins the rows of several readings of one table; a row that two of them found counts once. */
export function union(table: ReplicaTable, lists: readonly (readonly CanonicalRow[])[]): readonly CanonicalRow[] {
  const filled = lists.filter((list) => list.length > 0);
  if (filled.length < 2) return filled[0] ?? [];
  // Without a key, equal rows cannot be told apart.
  const key = table.rowKey;
  if (!key) return filled.flat();
  return [...new Map(filled.flatMap((list) => list.map((row) => [keyText(row, key), row] as const))).values()];
}

/** Returns whether its table's identity names a row: a NULL in it names nothing. */
export function isNamed({ identity }: ReplicaTable, row: CanonicalRow): boolean {
  return identity?.every((position) => row[position] !== null) ?? false;
}
