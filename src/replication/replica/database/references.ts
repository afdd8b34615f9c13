import { type Connection, quoteName, rows } from '../../../db/connection.ts';
import type { TypedTable } from '../../../wire/data/schema.ts';
import { type ReplicaSchema, travels } from './schema.ts';

/** Rows of a table that refer to rows which are not there. */
interface Unresolved {
  readonly table: string;
  readonly parent: string;
  readonly count: number;
}

/** The table that a column refers to: by a foreign key, else by the name of a lookup table. */
interface Reference {
  readonly column: string;
  readonly parent: string;
  readonly parentColumn: string;
}

/** Finds ids that lead nowhere, in all tables that travel. It reads every row once for each column that refers to another table. */
export async function findUnresolved(connection: Connection, schema: ReplicaSchema): Promise<Unresolved[]> {
  const found: Unresolved[] = [];
  for (const { name } of schema.tables.filter(travels)) {
    for (const { column, parent, parentColumn } of referencesOf(schema, schema.typed.get(name)!)) {
      const own = `c.${quoteName(column)}`;
      const other = `p.${quoteName(parentColumn)}`;
      const [row] = await rows(
        connection,
        `SELECT COUNT(*) AS n FROM ${quoteName(name)} c LEFT JOIN ${quoteName(parent)} p ON ${other} = ${own} WHERE ${own} IS NOT NULL AND ${other} IS NULL`
      );
      const count = Number(row!['n']);
      if (count > 0) found.push({ table: name, parent, count });
    }
  }
  return found;
}

function referencesOf(schema: ReplicaSchema, { columns, foreignKeys }: TypedTable): Reference[] {
  const isHere = ({ parent }: Reference) => schema.byName.has(parent);
  return columns.flatMap(({ name: column }): Reference[] => {
    const key = foreignKeys.find((each) => each.columns.length === 1 && each.columns[0] === column);
    if (key) return [{ column, parent: key.referencedTable, parentColumn: key.referencedColumns[0]! }].filter(isHere);
    const stem = /^(\w+)_id$/.exec(column)?.[1];
    const named = ['s', 'es'].map((plural) => ({ column, parent: `index_${stem}${plural}`, parentColumn: 'id' }));
    return stem === undefined ? [] : named.filter(isHere);
  });
}
