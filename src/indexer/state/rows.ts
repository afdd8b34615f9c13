/** Value of a row. A column that ends in `_id` may hold the text that it refers to. */
export type Value = string | number | bigint | null;
/** Values of a row by column. */
export type Columns = Readonly<Record<string, Value>>;

/** Row to be written. */
export interface TableRow {
  readonly table: string;
  readonly columns: Columns;
}

/** Returns the row of one member of a list, kept under the action that made or edited the list. */
export function memberRow(actionIndex: number, id: number): TableRow {
  return { table: 'list_items', columns: { action_index: actionIndex, item_id: id } };
}

/** New values of an existing row. Its table has one row for each action. */
export interface RowChange {
  readonly table: string;
  readonly actionIndex: number;
  readonly columns: Columns;
}

/** Reason of the refusal of an action whose table has valid rows only. */
export interface Refusal {
  readonly table: string;
  readonly actionIndex: number;
  readonly status: string;
}
