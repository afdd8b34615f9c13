import { PlatformError } from '../errors.ts';
import type { TypedColumn } from '../wire/data/schema.ts';
import { BINARY_KEY, canBeNoText, hasTwoEmpty, isRawText, NO_MEMBER, rawHex, rawText } from './raw-text.ts';
import { isBinary, isFloating } from './row-codec.ts';

/** Kind of a column's values. */
export type Kind = 'integer' | 'year' | 'decimal' | 'float' | 'bit' | 'binary' | 'text' | 'json' | 'moment';

/** Conversion of one column's values from the wire to SQL text and to a LOAD DATA file. */
export interface ColumnCodec {
  readonly name: string;
  readonly kind: Kind;
  /** Part of a key: a rounded number is refused here. */
  readonly key: boolean;
  /** Character set of a text column; null for other columns. */
  readonly charset: string | null;
  /** The canonical value of an ENUM that stands for none of its members: strict mode refuses it. Null for other columns. */
  readonly noMember: string | null;
}

/** @param keyColumns names of the columns in any key */
export function columnCodec(column: TypedColumn, keyColumns: ReadonlySet<string>): ColumnCodec {
  return {
    name: column.name,
    kind: kindOf(column),
    key: keyColumns.has(column.name),
    charset: column.charset,
    noMember: /^enum\(/i.test(column.type) ? (hasTwoEmpty(column) ? NO_MEMBER : '') : null
  };
}

function kindOf(column: TypedColumn): Kind {
  if (/^bit\b/i.test(column.type)) return 'bit';
  if (isBinary(column)) return 'binary';
  if (isFloating(column)) return 'float';
  if (/^(tinyint|smallint|mediumint|int|bigint)\b/i.test(column.type)) return 'integer';
  if (/^year\b/i.test(column.type)) return 'year';
  if (/^decimal\b/i.test(column.type)) return 'decimal';
  if (/^(date|time|datetime|timestamp)\b/i.test(column.type)) return 'moment';
  return column.json ? 'json' : 'text';
}

const YEAR = /^\d{1,4}$/;
const INTEGER = /^-?\d{1,20}$/;
const DECIMAL = /^-?\d{1,65}(\.\d{1,38})?$/;
const FLOAT = /^-?\d{1,330}(\.\d{1,1100})?(e[+-]?\d{1,4})?$/i;
const MOMENT = /^-?[\d:. -]{1,32}$/;
const NOT_BASE64 = /[^A-Za-z0-9+/]/;
/** BIT(64), the longest. */
const MAX_BIT_BYTES = 8;

/**
 * Returns a wire value in the one form that both comparisons and printing start from: null, or text; for binary columns
 * a string of one character a byte, and the same behind a mark for bytes of a text column that are no text.
 *
 * @throws {PlatformError} SOURCE_INVALID naming column and reason
 */
export function canonicalValue(codec: ColumnCodec, value: unknown): string | null {
  if (value === null) return null;
  switch (codec.kind) {
    case 'integer':
      return numeral(codec, value, INTEGER);
    case 'year': // as text, a 0 of one digit would be the year 2000
      return year(codec, value).padStart(4, '0');
    case 'decimal':
      return numeral(codec, value, DECIMAL);
    case 'float':
      return float(codec, value);
    case 'bit':
      return bits(codec, value);
    case 'binary':
      return bytes(codec, value);
    case 'moment':
      if (typeof value === 'string' && MOMENT.test(value)) return value;
      return refuse(codec, value, 'is no date or time');
    case 'json':
      if (typeof value === 'string') return wellFormed(codec, value);
      return noText(codec, value) ?? wellFormed(codec, documentText(codec, value));
    case 'text':
      return noText(codec, value) ?? wellFormed(codec, value);
  }
}

function numeral(codec: ColumnCodec, value: unknown, pattern: RegExp): string {
  if (typeof value === 'string') return pattern.test(value) ? value : refuse(codec, value, 'is no number');
  if (typeof value !== 'number' || !Number.isFinite(value)) return refuse(codec, value, 'is no number');
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    if (codec.key) return refuse(codec, value, 'is a rounded number in a key');
    return BigInt(value).toString();
  }
  const text = String(value);
  if (Number.isSafeInteger(value)) return text;
  return pattern.test(text) ? text : refuse(codec, value, 'is no number of this column');
}

function year(codec: ColumnCodec, value: unknown): string {
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
  return YEAR.test(text) ? text : refuse(codec, value, 'is no year');
}

/** Returns the text of a float. MariaDB stores no negative zero: it is zero here too, or the two would differ for ever. */
function float(codec: ColumnCodec, value: unknown): string {
  if (value === '-0') return '0';
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  if (typeof value === 'string' && FLOAT.test(value)) return value;
  return refuse(codec, value, 'is no number');
}

/** Returns the text of a document that came as nested values. JSON.stringify would make null of a number beyond all bounds. */
function documentText(codec: ColumnCodec, value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'number' && !Number.isFinite(inner) ? refuse(codec, inner, 'holds no finite number') : inner
  );
}

function bytes(codec: ColumnCodec, value: unknown): string {
  return bytesIn(value)?.toString('latin1') ?? refuse(codec, value, `is no {"${BINARY_KEY}": base64}`);
}

/** Returns the bytes of a text column that are no text; null for everything else. A JSON document may have the form of bytes too. */
function noText({ charset, noMember }: ColumnCodec, value: unknown): string | null {
  const given = bytesIn(value);
  if (given?.length === 0 && noMember === NO_MEMBER) return NO_MEMBER;
  return given && canBeNoText(charset, given) ? rawText(given.toString('latin1')) : null;
}

function bytesIn(value: unknown): Buffer | null {
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== 1 || !(BINARY_KEY in value))
    return null;
  const base64 = value[BINARY_KEY];
  return typeof base64 === 'string' && isBase64(base64) ? Buffer.from(base64, 'base64') : null;
}

/** Returns the bytes of a BIT value, of bounded length: printing a longer number in decimals would take hours. */
function bits(codec: ColumnCodec, value: unknown): string {
  const given = bytes(codec, value);
  return given.length <= MAX_BIT_BYTES ? given : refuse(codec, value, `is longer than ${MAX_BIT_BYTES} bytes`);
}

/** Returns whether a text is base64, in one pass without a nested repeat: that would need more stack than there is for some megabytes. */
function isBase64(text: string): boolean {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return text.length % 4 === 0 && !NOT_BASE64.test(text.slice(0, text.length - padding));
}

function wellFormed(codec: ColumnCodec, value: unknown): string {
  if (typeof value !== 'string') return refuse(codec, value, 'is no text');
  return value.isWellFormed() ? value : refuse(codec, value, 'holds half a surrogate pair');
}

function refuse(codec: ColumnCodec, value: unknown, reason: string): never {
  const start = (_: string, inner: unknown) => (typeof inner === 'string' ? inner.slice(0, 100) : inner);
  const shown = (JSON.stringify(value, start) ?? String(value)).slice(0, 100);
  throw new PlatformError('SOURCE_INVALID', {
    reason: `a value of ${codec.kind} column ${codec.name} ${reason}: ${shown}`,
    column: codec.name
  });
}

/** Returns a canonical value as an SQL literal that MariaDB stores unchanged, given this system's `sql_mode`. */
export function toLiteral(codec: ColumnCodec, canonical: string | null): string {
  if (canonical === null) return 'NULL';
  switch (codec.kind) {
    case 'integer':
    case 'year':
    case 'decimal':
      return canonical;
    case 'float': // with an exponent: without one it would be a DECIMAL
      return /e/i.test(canonical) ? canonical : `${canonical}e0`;
    case 'bit':
      return BigInt(`0x${hexOf(canonical) || '0'}`).toString();
    case 'binary':
      return `x'${hexOf(canonical)}'`;
    default:
      if (canonical === NO_MEMBER) return '0';
      return isRawText(canonical) ? `_${codec.charset} x'${rawHex(canonical)}'` : quoteText(canonical);
  }
}

/**
 * Returns a value within a list of tuples, `(a, b) IN ((…), …)`: unlike everywhere else, MariaDB compares it there in
 * the connection's character set, and finds no row of a latin1 column by a letter beyond ASCII.
 */
export function toTupleMember(codec: ColumnCodec, canonical: string | null): string {
  const literal = toLiteral(codec, canonical);
  return canonical === null ? literal : inCharset(literal, codec.charset);
}

/** Returns an expression of the connection's character set in that of the column it is compared with. */
export function inCharset(expression: string, charset: string | null): string {
  return charset === null || charset === 'utf8mb4' ? expression : `CONVERT(${expression} USING ${charset})`;
}

function hexOf(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('hex');
}

const UNSAFE = /['\\\0]/;

/** Returns text as a quoted SQL literal; safe for every string while backslashes escape, which the session settings ensure. */
export function quoteText(text: string): string {
  if (!UNSAFE.test(text)) return `'${text}'`;
  return `'${inParts(text, (part) => part.replace(/['\\]/g, '\\$&').replace(/\0/g, '\\0'))}'`;
}

const ESCAPED = /[\\\t\n\r\0]/g;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r', '\0': '\\0' };

/** `replace` keeps a list of all that it found: where a row of 64 MiB is nothing else, that is more than a thread's heap. */
const ESCAPED_AT_ONCE = 2 ** 16;

function inParts(text: string, print: (part: string) => string): string {
  if (text.length <= ESCAPED_AT_ONCE) return print(text);
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += ESCAPED_AT_ONCE) parts.push(print(text.slice(at, at + ESCAPED_AT_ONCE)));
  return parts.join('');
}

/** Returns a canonical value as a field of a tab-separated LOAD DATA file with backslash escapes. */
export function toField(canonical: string | null): string {
  if (canonical === null) return '\\N';
  return inParts(canonical, (part) => part.replace(ESCAPED, (found) => ESCAPES[found]!));
}

/** Returns whether values of a column may hold any character. */
export function isFree({ kind }: ColumnCodec): boolean {
  return kind === 'text' || kind === 'json' || kind === 'binary' || kind === 'bit';
}

/** Returns whether the canonical form of a column is one character a byte, not text. */
export function isByteKind(codec: ColumnCodec): boolean {
  return codec.kind === 'binary' || codec.kind === 'bit';
}
