/** A value of a row; a column that ends in `_id` may hold the text that it refers to. */
export type Value = string | number | bigint | null;
export type Columns = Readonly<Record<string, Value>>;

/** A row to be written. */
export interface TableRow {
  readonly table: string;
  readonly columns: Columns;
}

/** One member of a list, kept under the action that made or edited it. */
export function memberRow(actionIndex: number, id: number): TableRow {
  return { table: 'list_items', columns: { action_index: actionIndex, item_id: id } };
}

/** New values of a row that stands; its table has one row an action. */
export interface RowChange {
  readonly table: string;
  readonly actionIndex: number;
  readonly columns: Columns;
}

/** Why an action is refused whose table has valid ones alone. */
export interface Refusal {
  readonly table: string;
  readonly actionIndex: number;
  readonly status: string;
}
