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

/** Longer values stand for themselves by length and MD5: a text beyond `max_allowed_packet` would be NULL, on one side only perhaps. */
const LONGEST_BYTES = 2048;
const MAY_BE_LONG = /^(medium|long)?(blob|text)\b/i;
/** Every character of these sets has a place of its own in utf8mb4; in others some bytes are no character at all. */
const UNICODE = /^(utf8|ucs2|utf16|utf32|latin1$|ascii$)/;

/** The canonical text of a row, as SQL: equal for equal rows on any server, whatever the session's character set. */
export function canonicalTextSql(columns: readonly TypedColumn[], alias?: string): string {
  const prefix = alias ? `${alias}.` : '';
  const parts = columns.map((column) => {
    const name = `${prefix}${quoteName(column.name)}`;
    const text = valueTextSql(column, name);
    if (!MAY_BE_LONG.test(column.type)) return `IFNULL(${text}, 'n')`;
    return `IFNULL(IF(LENGTH(${name}) > ${LONGEST_BYTES}, CONCAT('l', LENGTH(${name}), ':', MD5(${name})), ${text}), 'n')`;
  });
  return `CONCAT_WS('|', ${parts.join(', ')})`;
}

function valueTextSql(column: TypedColumn, name: string): string {
  if (isBinary(column)) return `CONCAT('x', HEX(${name}))`;
  if (isFloating(column)) return `CONCAT('f', CAST(${name} AS DOUBLE))`;
  if (column.charset === null) return `CONCAT('v', ${name})`;
  if (!UNICODE.test(column.charset)) return `CONCAT('h', HEX(${name}))`;
  return `CONCAT('t', CHAR_LENGTH(${name}), ':', CONVERT(${name} USING utf8mb4))`;
}
