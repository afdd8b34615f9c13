import type { TypedColumn } from '../wire/schema.ts';
import { quoteName, type SqlRow } from './connection.ts';

/** The single key of a binary value on the wire: `{"__xbin__": "<base64>"}`. */
export const BINARY_KEY = '__xbin__';

/** BINARY, VARBINARY, BLOB, BIT: they travel as base64. */
export function isBinary(column: Pick<TypedColumn, 'type'>): boolean {
  return /^(binary|varbinary|tinyblob|blob|mediumblob|longblob|bit)\b/i.test(column.type);
}

/** FLOAT and DOUBLE. */
export function isFloating(column: Pick<TypedColumn, 'type'>): boolean {
  return /^(float|double|real)\b/i.test(column.type);
}

/**
 * The select list that reads every column without loss.
 *
 * FLOAT is read as a double: its own text form is rounded to six digits.
 *
 * @param alias qualifies the columns in a join
 */
export function selectList(columns: readonly TypedColumn[], alias?: string): string {
  const prefix = alias ? `${alias}.` : '';
  return columns
    .map((column) => {
      const name = `${prefix}${quoteName(column.name)}`;
      return /^float\b/i.test(column.type) ? `CAST(${name} AS DOUBLE) AS ${quoteName(column.name)}` : name;
    })
    .join(', ');
}

/** Rows as the driver gives them, made ready for JSON in place: binary becomes its wire form, -0 keeps its sign as text. */
export function toWireRows<R extends SqlRow>(rows: R[], columns: readonly TypedColumn[]): R[] {
  const binary = columns.filter(isBinary).map(({ name }) => name);
  const floating = columns.filter(isFloating).map(({ name }) => name);
  if (binary.length === 0 && floating.length === 0) return rows;
  for (const row of rows as SqlRow[]) {
    for (const name of binary) {
      const value = row[name];
      if (Buffer.isBuffer(value)) row[name] = { [BINARY_KEY]: value.toString('base64') };
      else if (typeof value === 'string') row[name] = { [BINARY_KEY]: Buffer.from(value, 'latin1').toString('base64') };
    }
    for (const name of floating) if (Object.is(row[name], -0)) row[name] = '-0';
  }
  return rows;
}

/**
 * The sum of this over rows is an order-independent digest; NULL, '' and 'NULL' differ, and columns cannot run together.
 *
 * @returns an SQL expression of type unsigned 32-bit
 */
export function rowHashSql(columns: readonly TypedColumn[], alias?: string): string {
  return `CRC32(${canonicalTextSql(columns, alias)})`;
}

/** The canonical text of a row, as SQL: equal for equal rows on any server, whatever the session's character set. */
export function canonicalTextSql(columns: readonly TypedColumn[], alias?: string): string {
  const prefix = alias ? `${alias}.` : '';
  const parts = columns.map((column) => {
    const name = `${prefix}${quoteName(column.name)}`;
    if (isBinary(column)) return `IFNULL(CONCAT('x', HEX(${name})), 'n')`;
    if (isFloating(column)) return `IFNULL(CONCAT('f', CAST(${name} AS DOUBLE)), 'n')`;
    if (column.charset !== null)
      return `IFNULL(CONCAT('t', CHAR_LENGTH(${name}), ':', CONVERT(${name} USING utf8mb4)), 'n')`;
    return `IFNULL(CONCAT('v', ${name}), 'n')`;
  });
  return `CONCAT_WS('|', ${parts.join(', ')})`;
}
