import { isUtf8 } from 'node:buffer';
import { PlatformError } from '../../errors.ts';
import type { Section } from '../replica/database/snapshot-batch.ts';

const SECTIONS: ReadonlySet<string> = new Set<Section>(['older_spans', 'older_rows', 'tables', 'updated_rows']);

/** Consecutive rows of one table, still as JSON bytes: `{…},{…}`. */
export interface RawRows {
  readonly section: Section;
  readonly table: string;
  readonly count: number;
  readonly json: Buffer;
  /** The table's array ends after these rows; `count` may be 0 then. */
  readonly last: boolean;
}

export interface SplitterLimits {
  readonly maxRowBytes: number;
  /** Rows are handed on when about this many bytes are together. */
  readonly batchBytes: number;
}

/** The facts in a snapshot body besides its rows. */
export interface SnapshotFacts {
  readonly schema_version?: number;
  readonly block_height?: number;
  readonly since_block?: number;
}

/** A row may hold JSON as nested values. */
const MAX_DEPTH = 64;
const MAX_TOKEN_BYTES = 256;
const FACTS: ReadonlySet<string> = new Set<keyof SnapshotFacts>(['schema_version', 'block_height', 'since_block']);
const SCALAR = /^(?:"(?:[^"\\]|\\.)*"|(?:-?\d[\d.eE+-]*|true|false|null)(?=[\s,}]))/s;
const TABLE_NAME = /^[A-Za-z0-9_]{1,64}$/;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

/** 1 for the bytes that matter outside strings in a row: quotes, brackets, braces. */
const STRUCTURAL = new Uint8Array(256);
for (const byte of [QUOTE, OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY]) STRUCTURAL[byte] = 1;

/** The states of the body outside rows, by what may come next. */
type Expect =
  | 'document'
  | 'key'
  | 'keyOrEnd'
  | 'value'
  | 'commaOrEnd'
  | 'table'
  | 'tableOrEnd'
  | 'rows'
  | 'tableCommaOrEnd'
  | 'row'
  | 'rowOrEnd'
  | 'rowCommaOrEnd'
  | 'nothing';

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/**
 * Finds the rows of a snapshot body in its bytes, wherever they are cut, without parsing anything of unbounded size.
 *
 * It knows the outer shape only; that each row is JSON is for the caller's JSON.parse of a batch to say.
 */
export class RowSplitter {
  readonly #limits: SplitterLimits;
  #buffer = Buffer.allocUnsafeSlow(256 * 1024);
  /** Bytes from `start` on are needed still; bytes before `at` are scanned; `end` is where the next chunk goes. */
  #start = 0;
  #at = 0;
  #end = 0;
  #expect: Expect = 'document';
  #key = '';
  #section: Section = 'tables';
  #table = '';
  readonly #seen = new Set<string>();
  readonly #facts: Record<string, number> = {};
  /** Inside a row: open brackets and braces; 0 outside. */
  #depth = 0;
  #inString = false;
  #rowStart = 0;
  /** Rows of the batch under way; it begins at `batchStart` and its last whole row ends at `batchEnd`. */
  #count = 0;
  #batchStart = 0;
  #batchEnd = 0;

  constructor(limits: SplitterLimits) {
    this.#limits = limits;
  }

  /** Takes the next bytes. @throws {PlatformError} SOURCE_INVALID */
  push(chunk: Uint8Array): RawRows[] {
    this.#append(chunk);
    const found: RawRows[] = [];
    while (this.#at < this.#end) {
      if (this.#depth > 0) {
        if (!this.#scanRow(found)) break;
      } else if (!this.#step(found)) break;
    }
    this.#forget();
    return found;
  }

  /** Ends the body. @throws {PlatformError} SOURCE_TRUNCATED */
  end(): SnapshotFacts {
    if (this.#expect !== 'nothing') {
      throw new PlatformError('SOURCE_TRUNCATED', {
        reason: 'the snapshot ended before its end mark',
        table: this.#table
      });
    }
    return this.#facts;
  }

  #append(chunk: Uint8Array): void {
    if (this.#end + chunk.length > this.#buffer.length) {
      const kept = this.#end - this.#start;
      const target =
        kept + chunk.length > this.#buffer.length / 2
          ? Buffer.allocUnsafeSlow(2 * (kept + chunk.length))
          : this.#buffer;
      this.#buffer.copy(target, 0, this.#start, this.#end);
      this.#buffer = target;
      this.#at -= this.#start;
      this.#rowStart -= this.#start;
      this.#batchStart -= this.#start;
      this.#batchEnd -= this.#start;
      this.#end = kept;
      this.#start = 0;
    }
    this.#buffer.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /** Lets everything before the batch or token under way be overwritten. */
  #forget(): void {
    if (this.#count > 0) this.#start = this.#batchStart;
    else if (this.#depth > 0) this.#start = this.#rowStart;
    else this.#start = this.#at;
  }

  /** Scans to the end of the row, or of the bytes at hand. This is the hot loop. @returns false when more bytes are needed */
  #scanRow(found: RawRows[]): boolean {
    const buffer = this.#buffer;
    const end = this.#end;
    let at = this.#at;
    let depth = this.#depth;
    let inString = this.#inString;
    while (at < end) {
      if (inString) {
        while (at < end && buffer[at] !== QUOTE && buffer[at] !== BACKSLASH) at++;
        if (at >= end) break;
        if (buffer[at] === BACKSLASH) {
          if (at + 1 >= end) break; // the escaped byte is in the next chunk
          at += 2;
          continue;
        }
        inString = false;
        at++;
        continue;
      }
      while (at < end && STRUCTURAL[buffer[at]!] === 0) at++;
      if (at >= end) break;
      const byte = buffer[at++]!;
      if (byte === QUOTE) inString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (++depth > MAX_DEPTH) this.#refuse(`a row is nested deeper than ${MAX_DEPTH}`);
      } else if (--depth === 0) break;
    }
    this.#at = at;
    this.#depth = depth;
    this.#inString = inString;
    if (at - this.#rowStart > this.#limits.maxRowBytes)
      this.#refuse(`a row is longer than ${this.#limits.maxRowBytes} bytes`);
    if (depth > 0) return false;
    this.#closeRow(found);
    return true;
  }

  #closeRow(found: RawRows[]): void {
    if (this.#count++ === 0) this.#batchStart = this.#rowStart;
    this.#batchEnd = this.#at;
    this.#expect = 'rowCommaOrEnd';
    if (this.#batchEnd - this.#batchStart >= this.#limits.batchBytes) found.push(this.#takeBatch(false));
  }

  #takeBatch(last: boolean): RawRows {
    const json =
      this.#count === 0
        ? Buffer.alloc(0)
        : Buffer.copyBytesFrom(this.#buffer, this.#batchStart, this.#batchEnd - this.#batchStart);
    if (!isUtf8(json)) this.#refuse('the rows are not UTF-8');
    const batch = { section: this.#section, table: this.#table, count: this.#count, json, last };
    this.#count = 0;
    return batch;
  }

  /** Reads one token outside rows. @returns false when more bytes are needed */
  #step(found: RawRows[]): boolean {
    const byte = this.#buffer[this.#at]!;
    if (isSpace(byte)) {
      this.#at++;
      return true;
    }
    switch (this.#expect) {
      case 'document':
        return this.#take(byte, OPEN_OBJECT, 'keyOrEnd');
      case 'key':
      case 'keyOrEnd':
        if (byte === CLOSE_OBJECT && this.#expect === 'keyOrEnd') return this.#take(byte, CLOSE_OBJECT, 'nothing');
        return this.#readKey('value');
      case 'value':
        return this.#readValue(byte);
      case 'commaOrEnd':
        return byte === COMMA ? this.#take(byte, COMMA, 'key') : this.#take(byte, CLOSE_OBJECT, 'nothing');
      case 'table':
      case 'tableOrEnd':
        if (byte === CLOSE_OBJECT && this.#expect === 'tableOrEnd') return this.#take(byte, CLOSE_OBJECT, 'commaOrEnd');
        return this.#readKey('rows');
      case 'rows':
        return this.#take(byte, OPEN_ARRAY, 'rowOrEnd');
      case 'tableCommaOrEnd':
        return byte === COMMA ? this.#take(byte, COMMA, 'table') : this.#take(byte, CLOSE_OBJECT, 'commaOrEnd');
      case 'row':
      case 'rowOrEnd':
        if (byte === CLOSE_ARRAY && this.#expect === 'rowOrEnd') return this.#closeTable(found);
        return this.#openRow(byte);
      case 'rowCommaOrEnd':
        return byte === CLOSE_ARRAY ? this.#closeTable(found) : this.#take(byte, COMMA, 'row');
      case 'nothing':
        return this.#refuse('bytes follow the end of the snapshot');
    }
  }

  #take(byte: number, wanted: number, next: Expect): boolean {
    if (byte !== wanted)
      this.#refuse(`"${String.fromCharCode(wanted)}" was expected, not "${String.fromCharCode(byte)}"`);
    this.#at++;
    this.#expect = next;
    return true;
  }

  #openRow(byte: number): boolean {
    if (byte !== OPEN_OBJECT) this.#refuse('a row is no object');
    this.#rowStart = this.#at++;
    this.#depth = 1;
    this.#inString = false;
    return true;
  }

  #closeTable(found: RawRows[]): boolean {
    found.push(this.#takeBatch(true));
    this.#at++;
    this.#expect = 'tableCommaOrEnd';
    return true;
  }

  /** Reads a name and its colon together. */
  #readKey(next: 'value' | 'rows'): boolean {
    const from = this.#at;
    if (this.#buffer[from] !== QUOTE) this.#refuse('a name was expected');
    const close = this.#buffer.subarray(0, this.#end).indexOf(QUOTE, from + 1);
    let colon = close + 1;
    while (close > 0 && colon < this.#end && isSpace(this.#buffer[colon]!)) colon++;
    if (close < 0 || colon >= this.#end) return this.#waitForMore(from);
    if (this.#buffer[colon] !== COLON) this.#refuse('a colon was expected after a name');
    const name = this.#buffer.toString('latin1', from + 1, close);
    if (!TABLE_NAME.test(name)) this.#refuse('a name holds other characters than letters, digits and underscore');
    const place = next === 'rows' ? `${this.#section}.${name}` : name;
    if (this.#seen.has(place)) this.#refuse(`${place} comes twice`);
    this.#seen.add(place);
    if (next === 'rows') this.#table = name;
    else this.#key = name;
    this.#at = colon + 1;
    this.#expect = next;
    return true;
  }

  #readValue(byte: number): boolean {
    if (SECTIONS.has(this.#key)) {
      this.#section = this.#key as Section;
      return this.#take(byte, OPEN_OBJECT, 'tableOrEnd');
    }
    const from = this.#at;
    if (!FACTS.has(this.#key)) return this.#passOver(from);
    let to = from;
    while (to < this.#end && /[0-9]/.test(String.fromCharCode(this.#buffer[to]!))) to++;
    if (to >= this.#end) return this.#waitForMore(from);
    const value = Number(this.#buffer.toString('latin1', from, to) || Number.NaN);
    if (!Number.isSafeInteger(value)) this.#refuse(`${this.#key} is no whole number`);
    this.#facts[this.#key] = value;
    this.#at = to;
    this.#expect = 'commaOrEnd';
    return true;
  }

  /** Skips the value of a key that means nothing here: text, a number, true, false or null. */
  #passOver(from: number): boolean {
    const ahead = this.#buffer.toString('latin1', from, Math.min(this.#end, from + MAX_TOKEN_BYTES));
    const value = SCALAR.exec(ahead)?.[0];
    if (value === undefined && ahead.length < MAX_TOKEN_BYTES) return this.#waitForMore(from);
    if (value === undefined) this.#refuse(`${this.#key} is not text, a number, true, false or null`);
    this.#at = from + value.length;
    this.#expect = 'commaOrEnd';
    return true;
  }

  #waitForMore(from: number): false {
    if (this.#end - from > MAX_TOKEN_BYTES) this.#refuse(`a name or number is longer than ${MAX_TOKEN_BYTES} bytes`);
    return false;
  }

  #refuse(reason: string): never {
    throw new PlatformError('SOURCE_INVALID', {
      reason: `snapshot refused: ${reason}`,
      table: this.#table || undefined
    });
  }
}
