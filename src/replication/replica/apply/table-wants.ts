import type { TableSpans, WireRow } from '../../../wire/data/messages.ts';
import type { RowDifference } from '../database/row-difference.ts';
import { type CanonicalRow, canonicalRow, keyText, type ReplicaTable } from '../database/schema.ts';

/** A group's changes to one table, as the message names them. */
export interface TableWants {
  readonly table: ReplicaTable;
  /** Rows of the group's own blocks, none of which is in the table yet. */
  readonly fresh: readonly CanonicalRow[];
  /** Rows that replace those with their identity; of rows that nothing names, as many are added as are not here. */
  readonly upserts: readonly CanonicalRow[];
  /** Treatment of a row that has another value here. */
  readonly known: 'replace' | 'refuse';
  /** Rows that go, by the values at some positions. */
  readonly gone: readonly { readonly key: readonly number[]; readonly list: readonly CanonicalRow[] }[];
  /** Parts of the table that these rows are the whole of. */
  readonly spans: (Pick<TableSpans, 'column' | 'spans'> & { readonly list: readonly CanonicalRow[] }) | null;
}

/** A group's changes to one table, as statements need them. */
export interface TableChange extends RowDifference {
  readonly table: ReplicaTable;
  /** Rows to add that have no id yet. */
  readonly unsettled: readonly CanonicalRow[];
  readonly fresh: readonly CanonicalRow[];
}

/** Returns the wants of a group that wants nothing of a table. */
export function wantsOf(table: ReplicaTable): TableWants {
  return { table, fresh: [], upserts: [], known: 'replace', gone: [], spans: null };
}

/** Returns wire rows in canonical form. */
export function canonicalRows(table: ReplicaTable, list: readonly WireRow[]): CanonicalRow[] {
  return list.map((row) => canonicalRow(table, row));
}

/** Returns the texts by which `compareWhole` identifies the received rows. */
export function namesOf(table: ReplicaTable, list: readonly CanonicalRow[]): ReadonlySet<string> {
  return new Set(table.identity ? list.map((row) => keyText(row, table.identity!)) : []);
}
