import type { Side } from './side.ts';

/** A column's definition. */
export interface Column {
  readonly name: string;
  /** Lower case, such as `varchar` or `bigint`. */
  readonly dataType: string;
  /** Full type without the display width of integers, which has no meaning. */
  readonly type: string;
  readonly nullable: boolean;
  readonly charset: string | null;
  readonly collation: string | null;
  readonly autoIncrement: boolean;
  readonly generated: boolean;
}

/** A key's definition. */
export interface Key {
  readonly unique: boolean;
  /** The key as text, `UNIQUE BTREE (a, b(10), c DESC)`, without its name. */
  readonly text: string;
  /** Null when a column has a prefix length: such a key does not identify rows. */
  readonly columns: readonly string[] | null;
}

/** A table's definition. */
export interface Table {
  readonly name: string;
  readonly columns: Column[];
  readonly keys: Key[];
}

/** The definitions of one side. */
export interface Schema {
  readonly tables: ReadonlyMap<string, Table>;
  /** Tables whose foreign keys refer to a column, by `table.column`. */
  readonly referenced: ReadonlyMap<string, readonly string[]>;
}

/** Reads all tables with rows from information_schema, inside the side's snapshot. */
export async function readSchema(side: Side): Promise<Schema> {
  const tables = new Map<string, Table>();
  const own = await side.select<[string]>(`
    SELECT TABLE_NAME FROM information_schema.TABLES
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')`);
  const names = new Set(own.map(([name]) => name));
  type ColumnRow = [string, string, string, string, string, string | null, string | null, string, string | null];
  for (const [
    table,
    name,
    dataType,
    type,
    nullable,
    charset,
    collation,
    extra,
    generated
  ] of await side.select<ColumnRow>(`
    SELECT TABLE_NAME, COLUMN_NAME, LOWER(DATA_TYPE), LOWER(COLUMN_TYPE), IS_NULLABLE, CHARACTER_SET_NAME, COLLATION_NAME,
           LOWER(EXTRA), NULLIF(GENERATION_EXPRESSION, '')
    FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() ORDER BY BINARY TABLE_NAME, ORDINAL_POSITION`)) {
    // The period columns of a system-versioned table differ by side: only its current rows are compared.
    if (!names.has(table) || generated === 'ROW START' || generated === 'ROW END') continue;
    if (!tables.has(table)) tables.set(table, { name: table, columns: [], keys: [] });
    tables.get(table)!.columns.push({
      name,
      dataType,
      type: type.includes('zerofill') ? type : type.replace(/^(tinyint|smallint|mediumint|int|bigint)\(\d+\)/, '$1'),
      nullable: nullable === 'YES',
      charset,
      collation,
      autoIncrement: extra.includes('auto_increment'),
      generated: generated !== null
    });
  }
  await readKeys(side, tables);
  const references = await side.select<[string, string]>(`
    SELECT TABLE_NAME, CONCAT(REFERENCED_TABLE_NAME, '.', REFERENCED_COLUMN_NAME) FROM information_schema.KEY_COLUMN_USAGE
    WHERE TABLE_SCHEMA = DATABASE() AND REFERENCED_TABLE_SCHEMA = DATABASE()`);
  const byPlace = Map.groupBy(references, ([, place]) => place);
  const referenced = new Map([...byPlace].map(([place, list]) => [place, list.map(([table]) => table)]));
  return { tables, referenced };
}

async function readKeys(side: Side, tables: ReadonlyMap<string, Table>): Promise<void> {
  type PartRow = [string, string, number, string, number | null, string | null, string];
  const parts = await side.select<PartRow>(`
    SELECT TABLE_NAME, INDEX_NAME, NON_UNIQUE, COLUMN_NAME, SUB_PART, COLLATION, INDEX_TYPE FROM information_schema.STATISTICS
    WHERE TABLE_SCHEMA = DATABASE() ORDER BY BINARY TABLE_NAME, INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX`);
  const keys = Map.groupBy(parts, ([table, key]) => JSON.stringify([table, key]));
  for (const all of keys.values()) {
    const [table, name, nonUnique, , , , kind] = all[0]!;
    const ofKey = all.filter(([, , , column]) => tables.get(table)?.columns.some((own) => own.name === column));
    if (ofKey.length === 0) continue;
    const unique = Number(nonUnique) === 0;
    const columns = ofKey.map(([, , , column, prefix, order]) => {
      return `${column}${prefix === null ? '' : `(${prefix})`}${order === 'D' ? ' DESC' : ''}`;
    });
    tables.get(table)?.keys.push({
      unique,
      text: `${name === 'PRIMARY' ? 'PRIMARY' : unique ? 'UNIQUE' : 'KEY'} ${kind} (${columns.join(', ')})`,
      columns: ofKey.some(([, , , , prefix]) => prefix !== null) ? null : ofKey.map(([, , , column]) => column)
    });
  }
}

/** Returns the differences between two definitions of a table, one sentence each. */
export function schemaDifferences(source: Table, replica: Table): string[] {
  const replicaColumns = new Map(replica.columns.map((column) => [column.name, column]));
  const found: string[] = [];
  for (const column of source.columns) {
    const other = replicaColumns.get(column.name);
    if (other === undefined) found.push(`column ${column.name} is missing in the replica`);
    else if (describeColumn(column) !== describeColumn(other))
      found.push(`column ${column.name}: source ${describeColumn(column)}, replica ${describeColumn(other)}`);
  }
  const names = new Set(source.columns.map(({ name }) => name));
  for (const { name } of replica.columns) if (!names.has(name)) found.push(`column ${name} is only in the replica`);
  const sourceKeys = source.keys.map(({ text }) => text);
  const replicaKeys = replica.keys.map(({ text }) => text);
  for (const text of withoutEach(sourceKeys, replicaKeys)) found.push(`key ${text} is missing in the replica`);
  for (const text of withoutEach(replicaKeys, sourceKeys)) found.push(`key ${text} is only in the replica`);
  return found;
}

function describeColumn({ type, nullable, charset, collation, generated }: Column): string {
  const words = [type, charset, collation, nullable ? 'NULL' : 'NOT NULL', generated ? 'GENERATED' : null];
  return words.filter((word) => word !== null).join(' ');
}

/** Returns the multiset difference. */
function withoutEach(list: readonly string[], taken: readonly string[]): string[] {
  const left = [...taken];
  return list.filter((text) => {
    const at = left.indexOf(text);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}
