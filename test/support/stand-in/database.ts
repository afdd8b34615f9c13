import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';

/** Address of a database. */
export interface Place {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly pass: string;
  readonly name: string;
}

export type Kind = 'indexer' | 'decoder';
export type Row = Record<string, unknown>;
export type RowsByTable = Record<string, Row[]>;

/** One table as the server's catalogue describes it. */
export interface Table {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly generated: boolean; readonly json: boolean }[];
  /** Its unique keys, the primary one first. */
  readonly unique: readonly (readonly string[])[];
  /** Tables that its foreign keys name. */
  readonly refersTo: readonly string[];
}

export const has = ({ columns }: Table, name: string): boolean => columns.some((column) => column.name === name);
export const quoted = (name: string): string => `\`${name}\``;

/** A connection that gives every value as it travels: dates as printed, integers that no double holds as text. */
export async function open({ host, port, user, pass, name }: Place): Promise<Connection> {
  const connection = await createConnection({
    host,
    port,
    user,
    password: pass,
    database: name,
    charset: 'utf8mb4',
    supportBigNumbers: true,
    dateStrings: true
  });
  await connection.query("SET time_zone = '+00:00'");
  return connection;
}

export async function select(connection: Connection, sql: string, values: readonly unknown[] = []): Promise<Row[]> {
  const [found] = await connection.query<RowDataPacket[]>(sql, [...values]);
  return found as Row[];
}

/** Every table of the connection's database. */
export async function describe(connection: Connection): Promise<Table[]> {
  const columns = await select(
    connection,
    `SELECT c.TABLE_NAME AS t, c.COLUMN_NAME AS c, c.GENERATION_EXPRESSION IS NOT NULL AS g, k.CONSTRAINT_NAME IS NOT NULL AS j
     FROM information_schema.COLUMNS c JOIN information_schema.TABLES n USING (TABLE_SCHEMA, TABLE_NAME)
     LEFT JOIN information_schema.CHECK_CONSTRAINTS k
       ON k.CONSTRAINT_SCHEMA = TABLE_SCHEMA AND k.TABLE_NAME = c.TABLE_NAME AND k.CONSTRAINT_NAME = c.COLUMN_NAME
     WHERE TABLE_SCHEMA = DATABASE() AND n.TABLE_TYPE = 'BASE TABLE' ORDER BY c.TABLE_NAME, c.ORDINAL_POSITION`
  );
  const keys = await select(
    connection,
    `SELECT TABLE_NAME AS t, INDEX_NAME AS k, COLUMN_NAME AS c FROM information_schema.STATISTICS
     WHERE TABLE_SCHEMA = DATABASE() AND NON_UNIQUE = 0
     ORDER BY TABLE_NAME, INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX`
  );
  const references = await select(
    connection,
    `SELECT TABLE_NAME AS t, REFERENCED_TABLE_NAME AS r FROM information_schema.REFERENTIAL_CONSTRAINTS
     WHERE CONSTRAINT_SCHEMA = DATABASE()`
  );
  const byTable = Map.groupBy(columns, ({ t }) => String(t));
  return [...byTable].map(([name, list]) => ({
    name,
    columns: list.map(({ c, g, j }) => ({ name: String(c), generated: Number(g) === 1, json: Number(j) === 1 })),
    unique: [
      ...Map.groupBy(
        keys.filter(({ t }) => t === name),
        ({ k }) => String(k)
      ).values()
    ].map((key) => key.map(({ c }) => String(c))),
    refersTo: references.filter(({ t }) => t === name).map(({ r }) => String(r))
  }));
}

/** A row as it travels: bytes marked as such, JSON as the values that it holds. */
export function toWire({ columns }: Table, row: Row): Row {
  for (const { name, json } of columns) {
    const value = row[name];
    if (Buffer.isBuffer(value)) row[name] = { __xbin__: value.toString('base64') };
    else if (json && typeof value === 'string') row[name] = JSON.parse(value);
  }
  return row;
}

/** Bytes as the driver takes them. */
export function fromWire(value: unknown): unknown {
  const bytes = (value as { __xbin__?: unknown } | null)?.__xbin__;
  return typeof bytes === 'string' ? Buffer.from(bytes, 'base64') : value;
}

/** Every row of every table, as one text by table. */
export async function contentOf(place: Place): Promise<Map<string, string>> {
  const connection = await open(place);
  const found = new Map<string, string>();
  await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
  for (const table of await describe(connection)) {
    const columns = table.columns.filter(({ generated }) => !generated).map(({ name }) => quoted(name));
    const list = await select(connection, `SELECT ${columns.join(', ')} FROM ${quoted(table.name)}`);
    const rows = list.map((row) => JSON.stringify(toWire(table, row))).sort();
    found.set(table.name, rows.join('\n'));
  }
  await connection.end();
  return found;
}
