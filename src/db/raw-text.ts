import { isUtf8 } from 'node:buffer';
import type { TypedColumn } from '../wire/data/schema.ts';

/** The single key of a binary value on the wire: `{"__xbin__": "<base64>"}`. */
export const BINARY_KEY = '__xbin__';

/*
 * A text column may hold bytes that stand for no character: 98 in cp1251, pairs of gbk that nothing is assigned to, half of a
 * surrogate pair in utf8mb4, ucs2 and utf32, bytes above 7F in ascii. JSON has no text for them. Such a value travels as its
 * column's own bytes, in the form of binary values. In a canonical row it is one half of a surrogate pair, with which no
 * well-formed text begins, and a character for each byte.
 */

type Text = Pick<TypedColumn, 'type' | 'charset'>;

/** Returns whether a column's values are characters: text, JSON, ENUM and SET. */
export function isTextColumn({ charset }: Text): boolean {
  return charset !== null && charset !== 'binary';
}

/** Returns the members of an ENUM or SET. */
export const membersOf = (type: string): string[] =>
  [...type.matchAll(/'((?:[^'\\]|''|\\.)*)'/gsu)].map(([, inside = '']) => inside);

/** Returns whether an ENUM has the empty text as a member: a value that was none of them is another empty text, number 0. */
export function hasTwoEmpty({ type }: Pick<Text, 'type'>): boolean {
  return /^enum\(/i.test(type) && membersOf(type).includes('');
}

/** Each value of these sets is characters that utf8mb4 has. */
const WHOLE = /^(latin1|utf16|utf16le)$/;
/** Character sets whose bytes arrive unchanged; the reader sees which of them are no text. */
const ARRIVES_AS_IT_IS = /^utf8/;

/** Returns whether MariaDB must say if a value of the column is text: what it sends of others is a question mark. */
export function isJudgedInSql(column: Text): boolean {
  if (!isTextColumn(column)) return false;
  return hasTwoEmpty(column) || !(WHOLE.test(column.charset!) || ARRIVES_AS_IT_IS.test(column.charset!));
}

/** Returns SQL for whether a value is text. UTF-16 has no halves of a surrogate pair. */
function isTextSql(column: Text, name: string): string {
  if (hasTwoEmpty(column)) return `${name} + 0 <> 0`;
  const { charset } = column;
  return WHOLE.test(charset!)
    ? 'TRUE'
    : `BINARY CONVERT(CONVERT(${name} USING utf16) USING ${charset}) = BINARY ${name}`;
}

/** Mark of a value that is no text: half of a surrogate pair, which no text has. Its bytes follow in hex. */
export const NO_TEXT_BYTES: readonly number[] = [0xed, 0xa0, 0x80];

/** Returns SQL for a text, or for `NO_TEXT_BYTES` and hex. The driver makes U+FFFD of those bytes: see `mayBeNoText`. */
export function unmarkedSql(column: Text, name: string): string {
  return `IF(${isTextSql(column, name)}, CONVERT(${name} USING utf8mb4), CONCAT(_utf8mb4 x'${Buffer.from(NO_TEXT_BYTES).toString('hex')}', HEX(${name})))`;
}

/** Returns SQL for `t` and a text, or for `x` and the hex of bytes. */
export function markedSql(column: Text, name: string): string {
  return `IF(${isTextSql(column, name)}, CONCAT('t', CONVERT(${name} USING utf8mb4)), CONCAT('x', HEX(${name})))`;
}

/** Returns the wire form of what `markedSql` gave. */
export function markedValue(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  return value.startsWith('t')
    ? value.slice(1)
    : { [BINARY_KEY]: Buffer.from(value.slice(1), 'hex').toString('base64') };
}

/** Returns whether a value of the column can be these bytes and no text. Those of other sets than UTF-8 are judged by MariaDB alone. */
export function canBeNoText(charset: string | null, bytes: Uint8Array): boolean {
  if (bytes.length === 0) return false;
  if (charset === null || WHOLE.test(charset)) return false;
  return !ARRIVES_AS_IT_IS.test(charset) || !isUtf8(bytes);
}

const REPLACED = /\ufffd/;

/** Returns whether the driver may have made a value, read without marks, of bytes that are no text. */
export function mayBeNoText(value: unknown): boolean {
  return typeof value === 'string' && REPLACED.test(value);
}

/** Returns SQL for a value of an ascii column as text, each byte a character: MariaDB makes a question mark of those above 7F. */
export function asciiBytesSql(name: string): string {
  return `CONVERT(CONVERT(CAST(${name} AS BINARY) USING latin1) USING utf8mb4)`;
}

const MARK = '\udc00';

/** Returns the canonical value of bytes that are no text. @param latin1 a character for each byte */
export const rawText = (latin1: string): string => MARK + latin1;

/** Returns whether a canonical value of a text column is bytes. */
export const isRawText = (canonical: string): boolean => canonical.startsWith(MARK);

/** The canonical value of an ENUM's number 0, where the empty text is a member. */
export const NO_MEMBER = MARK;

/** Returns the bytes of such a value as hex. */
export const rawHex = (canonical: string): string => Buffer.from(canonical.slice(1), 'latin1').toString('hex');
