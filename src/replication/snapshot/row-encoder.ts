import { BINARY_KEY, isJudgedInSql, NO_TEXT_BYTES } from '../../db/raw-text.ts';
import { isFloating } from '../../db/row-codec.ts';
import type { TypedColumn } from '../../wire/data/schema.ts';
import type { ChunkWriter } from './chunk-writer.ts';

/** Kinds of conversion from MariaDB's text to JSON. */
const INTEGER = 0;
const FLOATING = 1;
/** Text that holds nothing to escape, as dates and decimals do. */
const PLAIN = 2;
const TEXT = 3;
const BINARY = 4;
/** Text that MariaDB judges, see `unmarkedSql`. */
const JUDGED = 5;

const INTEGER_TYPE = /^((tiny|small|medium|big)?int|year)\b/i;
const PLAIN_TYPE = /^(decimal|date|time|datetime|timestamp|uuid|inet[46])\b/i;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const CLOSE = 0x7d;
const ZERO = 0x30;
const MINUS = 0x2d;
/** First bytes of a length. @see MariaDB's documentation, "Protocol data types", length-encoded integers */
const NULL_VALUE = 0xfb;
const TWO_BYTES = 0xfc;
const THREE_BYTES = 0xfd;

const NULL_TEXT = Buffer.from('null');
const BINARY_OPENING = Buffer.from(`{"${BINARY_KEY}":"`);
const BINARY_CLOSING = Buffer.from('"}');
/** The extra bytes of any value's text: quotes, the frame of binary values, or a rewritten number. */
const FRAME_BYTES = 32;
/** One byte as `\u001f`. */
const LONGEST_ESCAPE = 6;
/** Longer integers may be beyond 2^53. */
const SAFE_DIGITS = 15;

/** The escape of each byte that JSON text cannot hold, as JSON.stringify writes it. */
const ESCAPES: readonly (Buffer | undefined)[] = Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte === QUOTE || byte === BACKSLASH
    ? Buffer.from(JSON.stringify(String.fromCharCode(byte)).slice(1, -1))
    : undefined
);
/** In UTF-8, the first byte of U+D000 to U+DFFF; half of a surrogate pair, which is no text, if the second one is A0 or more. */
const [SURROGATE, FIRST_SECOND] = NO_TEXT_BYTES as readonly [number, number];
const SPECIAL = Uint8Array.from(ESCAPES, (sequence, byte) => (sequence || byte === SURROGATE ? 1 : 0));
/** Returned for a value that is no text. */
const NO_TEXT = -1;

/**
 * Turns rows of one query from MariaDB's text protocol straight into JSON objects, the same bytes as
 * `JSON.stringify(toWireRow)` of the row, without a string or an object for each value.
 *
 * It relies on the settings of `connect`: text in UTF-8. Every value has the form of the contract of snapshot bodies.
 */
export class RowEncoder {
  readonly #keys: readonly Buffer[];
  readonly #kinds: readonly number[];
  readonly #fixedBytes: number;

  constructor(columns: readonly TypedColumn[]) {
    this.#keys = columns.map(({ name }, index) => Buffer.from(`${index > 0 ? ',' : '{'}${JSON.stringify(name)}:`));
    this.#kinds = columns.map(kindOf);
    this.#fixedBytes = this.#keys.reduce((sum, { length }) => sum + length + FRAME_BYTES, 1);
  }

  /** Writes one row; the chunk grows by it. */
  encode(source: Buffer, start: number, end: number, chunk: ChunkWriter): void {
    chunk.reserve(this.#fixedBytes + LONGEST_ESCAPE * (end - start));
    const target = chunk.bytes;
    const keys = this.#keys;
    const kinds = this.#kinds;
    let at = chunk.length;
    let from = start;
    for (let column = 0; column < keys.length; column++) {
      const key = keys[column]!;
      for (let i = 0; i < key.length; i++) target[at++] = key[i]!;
      let size = source[from++]!;
      if (size === NULL_VALUE) {
        at += NULL_TEXT.copy(target, at);
        continue;
      }
      if (size > NULL_VALUE) {
        const bytes = size === TWO_BYTES ? 2 : size === THREE_BYTES ? 3 : 8;
        size = bytes === 8 ? Number(source.readBigUInt64LE(from)) : source.readUIntLE(from, bytes);
        from += bytes;
      }
      const to = from + size;
      switch (kinds[column]) {
        case TEXT:
        case JUDGED: {
          const end = putText(source, from, to, target, at);
          const isHex = kinds[column] === JUDGED;
          at =
            end === NO_TEXT
              ? putBytes(isHex ? hexBehindMark(source, from, to) : source.subarray(from, to), target, at)
              : end;
          break;
        }
        case PLAIN:
          target[at++] = QUOTE;
          while (from < to) target[at++] = source[from++]!;
          target[at++] = QUOTE;
          break;
        case INTEGER:
          if (isSafeAsItIs(source, from, size)) while (from < to) target[at++] = source[from++]!;
          else at += target.write(integerText(source.toString('latin1', from, to)), at, 'latin1');
          break;
        case FLOATING:
          at += target.write(floatingText(source.toString('latin1', from, to)), at, 'latin1');
          break;
        default:
          at = putBytes(source.subarray(from, to), target, at);
      }
      from = to;
    }
    target[at++] = CLOSE;
    chunk.length = at;
  }
}

function kindOf(column: TypedColumn): number {
  if (INTEGER_TYPE.test(column.type)) return INTEGER;
  if (isFloating(column)) return FLOATING;
  if (PLAIN_TYPE.test(column.type)) return PLAIN;
  if (isJudgedInSql(column)) return JUDGED;
  return column.charset !== null || /^json\b/i.test(column.type) ? TEXT : BINARY;
}

function putBytes(bytes: Buffer, target: Buffer, begin: number): number {
  let at = begin + BINARY_OPENING.copy(target, begin);
  at += target.write(bytes.toString('base64'), at, 'latin1');
  return at + BINARY_CLOSING.copy(target, at);
}

function hexBehindMark(source: Buffer, from: number, to: number): Buffer {
  return Buffer.from(source.toString('latin1', from + NO_TEXT_BYTES.length, to), 'hex');
}

/** @returns where the text ends, or `NO_TEXT` */
function putText(source: Buffer, start: number, end: number, target: Buffer, begin: number): number {
  let at = begin;
  target[at++] = QUOTE;
  for (let from = start; from < end; from++) {
    const byte = source[from]!;
    if (SPECIAL[byte] === 0) target[at++] = byte;
    else if (byte === SURROGATE) {
      if (from + 1 < end && source[from + 1]! >= FIRST_SECOND) return NO_TEXT;
      target[at++] = byte;
    } else at += ESCAPES[byte]!.copy(target, at);
  }
  target[at++] = QUOTE;
  return at;
}

/** Returns whether digits need no quotes: no leading zero (ZEROFILL has them), and no double rounds them. */
function isSafeAsItIs(source: Buffer, from: number, size: number): boolean {
  const first = source[from]!;
  return size <= SAFE_DIGITS && (first !== ZERO || size === 1) && first !== MINUS;
}

/** Returns a JSON number up to 2^53, a decimal string beyond. */
function integerText(text: string): string {
  const value = Number(text);
  return Number.isSafeInteger(value) ? String(value) : `"${text}"`;
}

/** Returns a JSON number; -0 as text, because a number would lose its sign. */
function floatingText(text: string): string {
  const value = Number(text);
  return Object.is(value, -0) ? '"-0"' : JSON.stringify(value);
}
