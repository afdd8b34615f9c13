import type { TypedColumn } from '../wire/data/schema.ts';
import { rows, type SqlRow, type Statements } from './connection.ts';
import { isTextColumn, mayBeNoText } from './raw-text.ts';
import { selectList, toWireRows } from './row-codec.ts';

/** A query whose rows are read in wire form. */
interface WireQuery {
  readonly columns: readonly TypedColumn[];
  /** Makes the statement from the list of the columns; it may select more. */
  readonly sql: (list: string) => string;
  readonly values?: readonly unknown[];
  /** Qualifies the columns in a join. */
  readonly alias?: string;
}

/**
 * Reads rows in wire form. Those of which the driver cannot say whether a text is one are read a second time, in a form that
 * says it.
 *
 * @param statements of one snapshot, or of the only writer
 * @throws whatever the driver throws
 */
export async function wireRows<R extends SqlRow = SqlRow>(
  statements: Statements,
  { columns, sql, values = [], alias }: WireQuery
): Promise<R[]> {
  const found = await rows<R>(statements, sql(selectList(columns, alias)), values);
  if (!areDoubtful(found, columns)) return toWireRows(found, columns);
  return toWireRows(await rows<R>(statements, sql(selectList(columns, alias, 'marked')), values), columns, 'marked');
}

/** Returns whether a text of these rows may stand for bytes that are no text. */
export function areDoubtful(found: readonly SqlRow[], columns: readonly TypedColumn[]): boolean {
  const texts = columns.filter(isTextColumn).map(({ name }) => name);
  return texts.length > 0 && found.some((row) => texts.some((name) => mayBeNoText(row[name])));
}
