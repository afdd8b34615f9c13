import { quoteName, rows, type SqlRow } from './connection.ts';
import { type CanonicalRow, canonicalRow, keyText, type ReplicaTable } from './replica-schema.ts';
import { selectList, toWireRows } from './row-codec.ts';
import { type ColumnCodec, isByteKind, quoteText, toLiteral, toTupleMember } from './sql-literal.ts';
import { chunks, type Statements, write } from './statement-batch.ts';

const inParts = (texts: readonly string[]) => chunks(texts, (text) => text);

function tuple(table: ReplicaTable, row: CanonicalRow, positions: readonly number[]): string {
  return `(${positions.map((position) => toLiteral(table.codecs[position]!, row[position]!)).join(',')})`;
}

/** A row's key as a member of a list of tuples. */
function keyTuple(table: ReplicaTable, row: CanonicalRow, key: readonly number[]): string {
  return `(${key.map((position) => toTupleMember(table.codecs[position]!, row[position]!)).join(',')})`;
}

function names(table: ReplicaTable, positions: readonly number[]): string {
  return `(${positions.map((position) => quoteName(table.codecs[position]!.name)).join(',')})`;
}

const allPositions = (table: ReplicaTable): readonly number[] => table.codecs.map((_, position) => position);

/** Inserts rows as they are, or without their surrogate, which the replica then assigns in the order given. */
export async function insertRows(
  connection: Statements,
  table: ReplicaTable,
  list: readonly CanonicalRow[],
  withSurrogate: boolean
): Promise<void> {
  const positions = withSurrogate ? allPositions(table) : table.compared;
  const head = `INSERT INTO ${quoteName(table.name)} ${names(table, positions)} VALUES `;
  for (const part of inParts(list.map((row) => tuple(table, row, positions)))) {
    await write(connection, head + part.join(','));
  }
}

/** Deletes exactly these rows, which this database holds: by key, else one row for each by all its values. */
export async function deleteRows(
  connection: Statements,
  table: ReplicaTable,
  list: readonly CanonicalRow[]
): Promise<void> {
  if (table.rowKey) return deleteByKey(connection, table, list, table.rowKey);
  for (const row of list) {
    await write(connection, `DELETE FROM ${quoteName(table.name)} WHERE ${exactly(table, row)} LIMIT 1`);
  }
}

/** Deletes rows that were received: by identity, else one row for each by all its values but the surrogate. */
export async function deleteReceived(
  connection: Statements,
  table: ReplicaTable,
  list: readonly CanonicalRow[]
): Promise<void> {
  if (table.identity) return deleteByKey(connection, table, list, table.identity);
  const newestFirst =
    table.surrogate === null ? '' : ` ORDER BY ${quoteName(table.codecs[table.surrogate]!.name)} DESC`;
  for (const row of list) {
    await write(connection, `DELETE FROM ${quoteName(table.name)} WHERE ${exactly(table, row)}${newestFirst} LIMIT 1`);
  }
}

async function deleteByKey(
  connection: Statements,
  table: ReplicaTable,
  list: readonly CanonicalRow[],
  key: readonly number[]
): Promise<void> {
  const head = `DELETE FROM ${quoteName(table.name)} WHERE ${names(table, key)} IN `;
  for (const part of inParts(list.map((row) => keyTuple(table, row, key)))) {
    await write(connection, `${head}(${part.join(',')})`);
  }
}

/** The rows of this database that have the identities of the given rows. */
export async function selectByIdentity(
  connection: Statements,
  table: ReplicaTable,
  list: readonly CanonicalRow[]
): Promise<CanonicalRow[]> {
  const key = table.identity ?? table.compared;
  if (table.identity === null) {
    const found: CanonicalRow[] = [];
    for (const row of new Map(list.map((each) => [keyText(each, key), each])).values()) {
      found.push(...(await selectWhere(connection, table, exactly(table, row))));
    }
    return found;
  }
  const found: CanonicalRow[] = [];
  for (const part of inParts([...new Set(list.map((row) => keyTuple(table, row, key)))])) {
    found.push(...(await selectWhere(connection, table, `${names(table, key)} IN (${part.join(',')})`)));
  }
  return found;
}

/** Rows of a table by a condition on it (named `t` when there is a join). */
export async function selectWhere(
  connection: Statements,
  table: ReplicaTable,
  condition: string,
  join = ''
): Promise<CanonicalRow[]> {
  const list = selectList(table.plan.storedColumns, 't');
  const found = await rows<SqlRow>(
    connection,
    `SELECT ${list} FROM ${quoteName(table.name)} t ${join} WHERE ${condition}`
  );
  const wire = toWireRows(found, table.plan.storedColumns);
  const stored = { ...table, plan: { ...table.plan, columns: table.plan.storedColumns } };
  return wire.map((row) => canonicalRow(stored, row));
}

/** A condition that holds for rows with exactly these values in all columns but the surrogate, whatever the collations. */
function exactly(table: ReplicaTable, row: CanonicalRow): string {
  return table.compared.map((position) => equals(table.codecs[position]!, row[position]!)).join(' AND ');
}

function equals(codec: ColumnCodec, value: string | null): string {
  const name = quoteName(codec.name);
  if (value === null) return `${name} IS NULL`;
  const literal = toLiteral(codec, value);
  if (codec.kind === 'float') return `CAST(${name} AS DOUBLE) = ${literal}`;
  const loose = `${name} = ${literal}`;
  if (codec.kind !== 'text' && codec.kind !== 'json') return loose;
  // The first condition may use an index; the second tells 'a' from 'A' and 'a '.
  return `${loose} AND HEX(CONVERT(${name} USING utf8mb4)) = ${quoteText(Buffer.from(value).toString('hex').toUpperCase())}`;
}

/** True when a table has columns whose bytes are no text. */
export function hasBytes(table: ReplicaTable): boolean {
  return table.codecs.some(isByteKind);
}
