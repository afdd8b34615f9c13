import { createHash } from 'node:crypto';
import { quoteName, type Statements } from '../../../db/connection.ts';
import { isRawText, NO_MEMBER } from '../../../db/raw-text.ts';
import { type ColumnCodec, isByteKind, toLiteral, toTupleMember } from '../../../db/sql-literal.ts';
import { chunks, write } from '../../../db/statement-batch.ts';
import { wireRows } from '../../../db/wire-rows.ts';
import { within } from '../../../db/within.ts';
import { isNamed } from './row-difference.ts';
import { type CanonicalRow, canonicalRow, keyText, type ReplicaTable } from './schema.ts';

const inParts = (texts: Iterable<string>) => chunks(texts, (text) => text);

function tuple(table: ReplicaTable, row: CanonicalRow, positions: readonly number[]): string {
  return `(${positions.map((position) => toLiteral(table.codecs[position]!, row[position]!)).join(',')})`;
}

/** Returns a row's key as a member of a list of tuples. */
function keyTuple(table: ReplicaTable, row: CanonicalRow, key: readonly number[]): string {
  return `(${key.map((position) => toTupleMember(table.codecs[position]!, row[position]!)).join(',')})`;
}

function names(table: ReplicaTable, positions: readonly number[]): string {
  return `(${positions.map((position) => quoteName(table.codecs[position]!.name)).join(',')})`;
}

/** Takes a value that strict mode refuses, or none where the column has no default. */
const LAX = "SET STATEMENT sql_mode = 'ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO' FOR";

/**
 * Inserts rows of an earlier definition of their table: a value that does not fit the present one becomes what MariaDB would have
 * made of it, and a row that a newer key refuses stays out, as at the source. A comparison must follow.
 */
export async function insertEarlierRows(
  connection: Statements,
  table: ReplicaTable,
  list: readonly CanonicalRow[]
): Promise<void> {
  const head = `${LAX} INSERT IGNORE INTO ${quoteName(table.name)} ${names(table, table.all)} VALUES `;
  for (const part of inParts(list.map((row) => tuple(table, row, table.all))))
    await write(connection, head + part.join(','));
}

/** Inserts rows as they are, ids included. */
export async function insertRows(
  connection: Statements,
  table: ReplicaTable,
  list: readonly CanonicalRow[]
): Promise<void> {
  for (const { sql } of insertStatements(table, list)) await write(connection, sql);
}

/** Yields the statements that insert rows as they are, ids included, each with its rows. */
export function* insertStatements(
  table: ReplicaTable,
  list: readonly CanonicalRow[]
): Generator<{ readonly sql: string; readonly list: readonly CanonicalRow[] }> {
  const head = `INSERT INTO ${quoteName(table.name)} ${names(table, table.all)} VALUES `;
  const mayBeLax = table.codecs.some(({ noMember }) => noMember !== null);
  const isLax = (row: CanonicalRow) =>
    table.codecs.some(({ noMember }, at) => noMember !== null && row[at] === noMember);
  const strict = mayBeLax ? list.filter((row) => !isLax(row)) : list;
  let at = 0;
  // The rows of one statement become text while the one before is carried out.
  for (const part of inParts(strict.values().map((row) => tuple(table, row, table.all)))) {
    yield { sql: head + part.join(','), list: strict.slice(at, at + part.length) };
    at += part.length;
  }
  // An ENUM's value that is none of its members, which a source stored without strict mode.
  for (const row of mayBeLax ? list.filter(isLax) : [])
    yield { sql: `${LAX} ${head}${tuple(table, row, table.all)}`, list: [row] };
}

/** Deletes exactly these rows, which this database holds: by key, else one row for each by all its values. */
export async function deleteRows(
  connection: Statements,
  table: ReplicaTable,
  list: readonly CanonicalRow[]
): Promise<void> {
  if (table.rowKey) return deleteByKey(connection, table, list, table.rowKey);
  for (const row of list) {
    await write(connection, `DELETE FROM ${quoteName(table.name)} WHERE ${exactly(table, row, table.all)} LIMIT 1`);
  }
}

/**
 * Deletes rows that were received: by identity, else by the key that names one, else one row for each by all its values but
 * the surrogate, which is not always known.
 */
export async function deleteReceived(
  connection: Statements,
  table: ReplicaTable,
  list: readonly CanonicalRow[]
): Promise<void> {
  const { rowKey, identity, surrogate } = table;
  const has = (key: readonly number[] | null) => (row: CanonicalRow) => key?.every((at) => row[at] !== null) ?? false;
  const keyOf = (row: CanonicalRow) => (has(identity)(row) ? 'identity' : has(rowKey)(row) ? 'row' : 'values');
  const parts = Map.groupBy(list, keyOf);
  if (parts.has('row')) await deleteByKey(connection, table, parts.get('row')!, rowKey!);
  if (parts.has('identity')) await deleteByKey(connection, table, parts.get('identity')!, identity!);
  const newestFirst = surrogate === null ? '' : ` ORDER BY ${quoteName(table.codecs[surrogate]!.name)} DESC`;
  for (const row of parts.get('values') ?? []) {
    const condition = exactly(table, row, table.compared);
    await write(connection, `DELETE FROM ${quoteName(table.name)} WHERE ${condition}${newestFirst} LIMIT 1`);
  }
}

async function deleteByKey(
  connection: Statements,
  table: ReplicaTable,
  list: readonly CanonicalRow[],
  key: readonly number[]
): Promise<void> {
  const conditions = keyConditions(table, list, key);
  for (const condition of conditions)
    await write(connection, `DELETE FROM ${quoteName(table.name)} WHERE ${condition}`);
}

/** Neighbours that are asked for by their ends; fewer are named one by one. */
const LEAST_RUN = 16;
/** Digits of a number that is exact as one of this language. */
const EXACT_DIGITS = 15;

/** Conditions that name rows by a key, each row by one of them. Numbers next to each other are one condition, which costs half as much. */
function* keyConditions(table: ReplicaTable, list: readonly CanonicalRow[], key: readonly number[]): Generator<string> {
  const [only, ...others] = key;
  const codec = others.length === 0 && only !== undefined ? table.codecs[only]! : null;
  const { runs, rest } = codec?.kind === 'integer' ? neighbours(list, only!) : { runs: [], rest: list };
  const name = codec && quoteName(codec.name);
  for (const part of chunks(runs, ([from, to]) => `${name} BETWEEN ${from} AND ${to} OR `))
    yield part.map(([from, to]) => `${name} BETWEEN ${from} AND ${to}`).join(' OR ');
  const tuples = new Set(rest.map((row) => keyTuple(table, row, key)));
  for (const part of inParts(tuples)) yield `${names(table, key)} IN (${part.join(',')})`;
}

/** Splits rows by a number: the runs of neighbouring numbers that are long enough, and the rows in no run. */
function neighbours(
  list: readonly CanonicalRow[],
  at: number
): { readonly runs: readonly (readonly [number, number])[]; readonly rest: readonly CanonicalRow[] } {
  if (list.length < LEAST_RUN) return { runs: [], rest: list };
  const numbers: number[] = [];
  for (const row of list) if (row[at]!.length <= EXACT_DIGITS) numbers.push(Number(row[at]!));
  numbers.sort((a, b) => a - b);
  const runs: [number, number][] = [];
  for (let from = 0, to = 0; from < numbers.length; from = to) {
    to = from + 1;
    while (to < numbers.length && numbers[to]! - numbers[to - 1]! <= 1) to += 1;
    if (numbers[to - 1]! - numbers[from]! >= LEAST_RUN) runs.push([numbers[from]!, numbers[to - 1]!]);
  }
  if (runs.length === 0) return { runs, rest: list };
  const isInRun = within(runs);
  return { runs, rest: list.filter((row) => row[at]!.length > EXACT_DIGITS || !isInRun(Number(row[at]!))) };
}

/** Selects the rows of this database with the identities of the given rows; for rows that no identity names, the equal rows. */
export async function selectByIdentity(
  connection: Statements,
  table: ReplicaTable,
  list: readonly CanonicalRow[]
): Promise<CanonicalRow[]> {
  const named = list.filter((row) => isNamed(table, row));
  const rest = new Map(list.filter((row) => !isNamed(table, row)).map((row) => [keyText(row, table.compared), row]));
  const found = await Promise.all([
    selectByKey(connection, table, table.identity ?? [], named),
    ...[...rest.values()].map((row) => selectWhere(connection, table, exactly(table, row, table.compared)))
  ]);
  return found.flat();
}

/** Selects the rows of this database whose values in some columns, none of them NULL, are those of one of the given rows. */
export async function selectByKey(
  connection: Statements,
  table: ReplicaTable,
  key: readonly number[],
  list: readonly CanonicalRow[]
): Promise<CanonicalRow[]> {
  const parts = [...keyConditions(table, list, key)].map((condition) => selectWhere(connection, table, condition));
  return (await Promise.all(parts)).flat();
}

/** Selects rows of a table by a condition on it (named `t` when there is a join). */
export async function selectWhere(
  connection: Statements,
  table: ReplicaTable,
  condition: string,
  join = ''
): Promise<CanonicalRow[]> {
  const columns = table.plan.storedColumns;
  const sql = (list: string) => `SELECT ${list} FROM ${quoteName(table.name)} t ${join} WHERE ${condition}`;
  const found = await wireRows(connection, { columns, sql, alias: 't' });
  const stored = { ...table, plan: { ...table.plan, columns } };
  return found.map((row) => canonicalRow(stored, row));
}

/** Returns a condition for rows with exactly these values in some columns, independent of collations. */
function exactly(table: ReplicaTable, row: CanonicalRow, positions: readonly number[]): string {
  const parts = positions.map((position) => equals(table.codecs[position]!, row[position]!));
  return parts.length === 0 ? 'TRUE' : parts.join(' AND ');
}

function equals(codec: ColumnCodec, value: string | null): string {
  const name = quoteName(codec.name);
  if (value === null) return `${name} IS NULL`;
  if (value.length > LONGEST_IN_STATEMENT) return hasHash(codec, value);
  const literal = toLiteral(codec, value);
  if (codec.kind === 'float') return `CAST(${name} AS DOUBLE) = ${literal}`;
  if (codec.noMember === NO_MEMBER && (value === '' || value === NO_MEMBER))
    return `${name} = '' AND ${name} + 0 ${value === '' ? '<>' : '='} 0`;
  const loose = `${name} = ${literal}`;
  // An address or a UUID has no character set, and one text.
  if ((codec.kind !== 'text' && codec.kind !== 'json') || codec.charset === null) return loose;
  // The first condition may use an index; the second distinguishes 'a' from 'A' and 'a ', and bytes that are no text from others.
  return `${loose} AND BINARY ${name} = BINARY ${toTupleMember(codec, value)}`;
}

/** Longer values are looked for by their SHA-256: as hexadecimal text they would not fit into `max_allowed_packet`, and be NULL. */
const LONGEST_IN_STATEMENT = 64 * 1024;

function hasHash(codec: ColumnCodec, value: string): string {
  const name = quoteName(codec.name);
  const isBytes = isByteKind(codec) || isRawText(value);
  const bytes = isBytes || codec.charset === null ? name : `CONVERT(${name} USING utf8mb4)`;
  const given = isRawText(value) ? value.slice(1) : value;
  const hash = createHash('sha256').update(given, isBytes ? 'latin1' : 'utf8');
  return `SHA2(${bytes}, 256) = '${hash.digest('hex')}'`;
}

/** Returns whether a table has columns whose bytes are not text. */
export function hasBytes(table: ReplicaTable): boolean {
  return table.codecs.some(isByteKind);
}
