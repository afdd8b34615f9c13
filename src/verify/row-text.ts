import type { Column } from './schema.ts';
import { quoted } from './side.ts';

/**
 * Longest value that is compared in full. Longer ones are compared by length and SHA-256, to stay within the server's
 * packet limit.
 */
const LONGEST_HEX_BYTES = 2048;

/**
 * Returns SQL for the text of a column's value. Different values have different texts, NULL is `~`, and no text
 * contains `
 * `.
 *
 * Strings and bytes become hex. Floating point becomes DOUBLE, whose text is exact except for the sign of zero, which
 * its angle shows.
 */
export function columnText({ name, dataType }: Column): string {
  const column = quoted(name);
  switch (dataType) {
    case 'float':
    case 'double':
    case 'real':
      return `IFNULL(CONCAT(IF(${column} = 0 AND ATAN2(${column}, -1) < 0, '-', ''), CAST(CAST(${column} AS DOUBLE) AS CHAR)), '~')`;
    case 'bit':
      return `IFNULL(HEX(${column} + 0), '~')`;
    case 'enum':
    case 'set':
      return `IFNULL(CONCAT(${column} + 0, ':', HEX(${column})), '~')`;
    case 'tinyint':
    case 'smallint':
    case 'mediumint':
    case 'int':
    case 'bigint':
    case 'decimal':
    case 'year':
    case 'date':
    case 'time':
    case 'datetime':
    case 'timestamp':
      return `IFNULL(CAST(${column} AS CHAR), '~')`;
    default:
      return `IFNULL(IF(LENGTH(${column}) <= ${LONGEST_HEX_BYTES}, HEX(${column}), CONCAT(LENGTH(${column}), ':', SHA2(${column}, 256))), '~')`;
  }
}

/** Returns SQL for the text of a row's columns. */
function rowText(columns: readonly Column[]): string {
  return columns.length === 0 ? "''" : `CONCAT(${columns.map(columnText).join(", '|', ")})`;
}

/** Returns SQL for a 64-bit hash of a row. */
export function rowHash(columns: readonly Column[]): string {
  return `CAST(CONV(LEFT(MD5(${rowText(columns)}), 16), 16, 10) AS UNSIGNED)`;
}

/** Returns SQL for the bucket of a row, one of 4096, by its identifying columns. */
export function rowBucket(columns: readonly Column[]): string {
  return `LEFT(MD5(${rowText(columns)}), 3)`;
}

const TEXTS = new Set(['char', 'varchar', 'tinytext', 'text', 'mediumtext', 'longtext', 'enum', 'set']);

/** Converts a column's text to readable text; null for NULL. */
export function readable({ dataType, charset }: Column, text: string): string | null {
  if (text === '~') return null;
  const [first = '', second] = text.split(':');
  if (dataType === 'enum' || dataType === 'set') return JSON.stringify(fromHex(second ?? '', charset));
  if (/blob$|binary$/.test(dataType) || TEXTS.has(dataType)) {
    if (second !== undefined) return `${first} bytes, sha256 ${second}`;
    return TEXTS.has(dataType) ? JSON.stringify(fromHex(text, charset)) : `0x${text}`;
  }
  return text;
}

function fromHex(hex: string, charset: string | null): string {
  return Buffer.from(hex, 'hex').toString(charset?.startsWith('utf8') ? 'utf8' : 'latin1');
}
