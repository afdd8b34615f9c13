import type { TypedColumn } from '../wire/data/schema.ts';
import { quoteName, type SqlRow } from './connection.ts';
import {
  asciiBytesSql,
  BINARY_KEY,
  hasTwoEmpty,
  isJudgedInSql,
  isTextColumn,
  markedSql,
  markedValue,
  unmarkedSql
} from './raw-text.ts';

/** Returns whether a column is BINARY, VARBINARY, BLOB or BIT: these travel as base64. */
export function isBinary(column: Pick<TypedColumn, 'type'>): boolean {
  return /^(binary|varbinary|tinyblob|blob|mediumblob|longblob|bit)\b/i.test(column.type);
}

/** Returns whether a column is FLOAT or DOUBLE. */
export function isFloating(column: Pick<TypedColumn, 'type'>): boolean {
  return /^(float|double|real)\b/i.test(column.type);
}

/**
 * Returns the select list that reads every column without loss.
 *
 * FLOAT is read as a double: its own text form is rounded to six digits.
 *
 * @param alias qualifies the columns in a join
 * @param texts `marked`: each text says whether it is one, see `raw-text.ts`; otherwise only bytes can tell
 */
export function selectList(
  columns: readonly TypedColumn[],
  alias?: string,
  texts: 'plain' | 'marked' = 'plain'
): string {
  const prefix = alias ? `${alias}.` : '';
  return columns
    .map((column) => {
      const name = `${prefix}${quoteName(column.name)}`;
      const value = valueSql(column, name, texts);
      return value === name ? name : `${value} AS ${quoteName(column.name)}`;
    })
    .join(', ');
}

function valueSql(column: TypedColumn, name: string, texts: 'plain' | 'marked'): string {
  if (/^float\b/i.test(column.type)) return `CAST(${name} AS DOUBLE)`;
  if (!isTextColumn(column)) return name;
  if (texts === 'marked') return markedSql(column, name);
  return isJudgedInSql(column) ? unmarkedSql(column, name) : name;
}

/**
 * Makes rows, as the driver gives them, ready for JSON in place: binary becomes its wire form, -0 keeps its sign as
 * text.
 *
 * @param texts as they were selected
 */
export function toWireRows<R extends SqlRow>(
  rows: R[],
  columns: readonly TypedColumn[],
  texts: 'plain' | 'marked' = 'plain'
): R[] {
  const binary = columns.filter(isBinary).map(({ name }) => name);
  const floating = columns.filter(isFloating).map(({ name }) => name);
  const marked = texts === 'marked' ? columns.filter(isTextColumn).map(({ name }) => name) : [];
  if (binary.length + floating.length + marked.length === 0) return rows;
  for (const row of rows as SqlRow[]) {
    for (const name of binary) {
      const value = row[name];
      if (Buffer.isBuffer(value)) row[name] = { [BINARY_KEY]: value.toString('base64') };
      else if (typeof value === 'string') row[name] = { [BINARY_KEY]: Buffer.from(value, 'latin1').toString('base64') };
    }
    for (const name of marked) row[name] = markedValue(row[name]);
    for (const name of floating) if (Object.is(row[name], -0)) row[name] = '-0';
  }
  return rows;
}

/**
 * Returns SQL for 64 bits of a row under a key. Exact sums of them tell sets of rows apart, unless the writer of the
 * rows knew the key.
 *
 * @param key SQL text of 32 hex digits. It stands first: behind the text it would add the same to texts that collide.
 */
export function wordSql(key: string, columns: readonly TypedColumn[], alias?: string): string {
  return leadingBits(keyedHash([key, ...partsSql(columns, alias)]), 64);
}

/** Returns SQL for a row's position, 0 to 2^32 - 1, by the columns that name it. Nobody who does not know the key can choose it. */
export function positionSql(key: string, identity: readonly TypedColumn[], alias?: string): string {
  return leadingBits(keyedHash([key, "'p'", ...partsSql(identity, alias)]), 32);
}

/**
 * Returns SQL for the part, of 4096, that a row belongs to in a table without a key: the first 12 bits of the hash of its content.
 * Both sides get the same part, whatever the order of their columns.
 */
export function contentSlotSql(columns: readonly TypedColumn[], alias?: string): string {
  const sorted = columns.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return `CONV(LEFT(SHA2(${canonicalTextSql(sorted, alias)}, 256), 3), 16, 10) + 0`;
}

/**
 * Returns SQL for the same position as text: all 8 hex digits, or the first 3, which say in which of 4096 equal ranges
 * it is. Cheaper than the number where a table is read for it.
 */
export function positionHexSql(key: string, identity: readonly TypedColumn[], digits: 3 | 8, alias?: string): string {
  return `LEFT(${keyedHash([key, "'p'", ...partsSql(identity, alias)])}, ${digits})`;
}

const keyedHash = (parts: readonly string[]): string => `SHA2(CONCAT_WS('|', ${parts.join(', ')}), 256)`;
const leadingBits = (hash: string, bits: 32 | 64): string =>
  `CAST(CONV(LEFT(${hash}, ${bits / 4}), 16, 10) AS UNSIGNED)`;

/** Longer values stand for themselves by length and SHA-256: a text beyond `max_allowed_packet` would be NULL, on one side only perhaps. */
const LONGEST_BYTES = 2048;
const MAY_BE_LONG = /^(medium|long)?(blob|text)\b/i;
/** Every character of these sets has a place of its own in utf8mb4; in others some bytes are no character at all. */
const UNICODE = /^(utf8|ucs2|utf16|utf32|latin1$)/;

/**
 * Returns SQL for the canonical text of a row: equal for equal rows on any server, whatever the session's character
 * set, and another one for other rows of the same columns. A change of it changes `DIGEST_ALGORITHM` and
 * `SUM_ALGORITHM` too.
 */
export function canonicalTextSql(columns: readonly TypedColumn[], alias?: string): string {
  return columns.length === 0 ? "''" : `CONCAT_WS('|', ${partsSql(columns, alias).join(', ')})`;
}

function partsSql(columns: readonly TypedColumn[], alias?: string): string[] {
  const prefix = alias ? `${alias}.` : '';
  return columns.map((column) => {
    const name = `${prefix}${quoteName(column.name)}`;
    const text = hasTwoEmpty(column)
      ? `IF(${name} + 0 = 0, 'e', ${valueTextSql(column, name)})`
      : valueTextSql(column, name);
    if (!MAY_BE_LONG.test(column.type)) return `IFNULL(${text}, 'n')`;
    return `IFNULL(IF(LENGTH(${name}) > ${LONGEST_BYTES}, CONCAT('s', LENGTH(${name}), ':', SHA2(${name}, 256)), ${text}), 'n')`;
  });
}

function valueTextSql(column: TypedColumn, name: string): string {
  if (isBinary(column)) return `CONCAT('x', HEX(${name}))`;
  if (isFloating(column)) return `CONCAT('f', CAST(${name} AS DOUBLE))`;
  if (column.charset === null) return `CONCAT('v', ${name})`;
  if (column.charset === 'ascii') return `CONCAT('t', LENGTH(${name}), ':', ${asciiBytesSql(name)})`;
  if (!UNICODE.test(column.charset)) return `CONCAT('h', HEX(${name}))`;
  return `CONCAT('t', CHAR_LENGTH(${name}), ':', CONVERT(${name} USING utf8mb4))`;
}
