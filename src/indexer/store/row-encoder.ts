import { quoteText } from '../../db/sql-literal.ts';
import { PlatformError } from '../../errors.ts';
import type { ColumnDefinition } from '../definitions/definition.ts';
import { isRefusal } from '../rules/action-definition.ts';
import type { Columns, TableRow, Value } from '../state/rows.ts';
import type { Lookups, LookupTable } from './lookups.ts';
import { TABLES } from './schema.ts';

/**
 * Columns whose text is looked up, with their lookup tables. `type_id` is not here: only the table of files looks it
 * up.
 */
const LOOKED_UP: Readonly<Record<string, LookupTable>> = {
  action_id: 'index_actions',
  coin1_id: 'index_coins',
  coin2_id: 'index_coins',
  coin_id: 'index_coins',
  give_coin_id: 'index_coins',
  get_coin_id: 'index_coins',
  fiat_id: 'index_fiats',
  memo_id: 'index_memos',
  signing_pubkey_id: 'index_pubkeys',
  status_id: 'index_statuses',
  tx_hash_id: 'index_transactions',
  ledger_hash_id: 'index_transactions',
  actions_hash_id: 'index_transactions',
  contract_hash_id: 'index_transactions',
  state_hash_id: 'index_transactions'
};
const MIME_TYPE_COLUMN = 'type_id';

const LONGEST: Readonly<Partial<Record<LookupTable, number>>> = {
  index_memos: 250,
  index_mime_types: 255,
  index_statuses: 250
};

/** Rows of one table in the form that statements take. */
interface EncodedRows {
  readonly columns: readonly string[];
  /** Each row as `(value,…)`. */
  readonly tuples: string[];
}

/** Rules by which a table takes the values of one column. */
interface ColumnEncoder {
  readonly table: string;
  readonly name: string;
  readonly isAuto: boolean;
  readonly nullable: boolean;
  /** Value where a row names none: NULL where the column allows it, else 0 or an empty text. */
  readonly absent: string | number | null;
  /** Lookup table of its text. */
  readonly lookup: LookupTable | undefined;
  readonly isNumber: boolean;
  /**
   * Lowest and highest value of a number, or fewest and most characters of a text. A looked-up text has the limits of
   * its table.
   */
  readonly least: number;
  readonly limit: number;
  /** Characters that its character set lacks. */
  readonly foreign: RegExp | null;
  /** Most bytes in UTF-8. */
  readonly bytes: number;
}

/**
 * Encodes rows as their tables take them.
 *
 * In a refused row a user's values need not fit: text is cut to its column, and NULL replaces any value outside the
 * range of a column of numbers. Any other row keeps its values, because facts are read from it and a rollback replays
 * it.
 *
 * @throws {PlatformError} INTERNAL for a row that is not refused and does not fit
 */
export function encodeRows(rows: readonly TableRow[], lookups: Pick<Lookups, 'idOf'>): Map<string, EncodedRows> {
  const encoded = new Map<string, EncodedRows & { readonly encoders: readonly ColumnEncoder[] }>();
  for (const { table, columns } of rows) {
    let target = encoded.get(table);
    if (!target) {
      const encoders = encodersOf(table).filter(({ isAuto, name }) => !isAuto || name in columns);
      target = { columns: encoders.map(({ name }) => name), encoders, tuples: [] };
      encoded.set(table, target);
    }
    const isRefused = isRefusal(columns['status_id']);
    const literals = target.encoders.map((encoder) => {
      const value = columns[encoder.name];
      if (value === undefined) return literalOf(encoder.absent);
      const encoded = encodeValue(encoder, value, lookups, isRefused);
      return literalOf(encoded === null && !encoder.nullable ? encoder.absent : encoded);
    });
    target.tuples.push(`(${literals.join(',')})`);
  }
  return encoded;
}

/** Returns a row as INSERT takes it: `(value,…)`. */
export function tupleOf(values: readonly Value[]): string {
  return `(${values.map(literalOf).join(',')})`;
}

function literalOf(value: Value): string | number | bigint {
  return typeof value === 'string' ? quoteText(value) : (value ?? 'NULL');
}

/** Encodes columns of one row, by name. @throws {PlatformError} INTERNAL for a value that does not fit */
export function encodeColumns(table: string, columns: Columns, lookups: Pick<Lookups, 'idOf'>): Record<string, Value> {
  return Object.fromEntries(
    encodersOf(table)
      .filter(({ name }) => columns[name] !== undefined)
      .map((encoder) => [encoder.name, encodeValue(encoder, columns[encoder.name]!, lookups, false)])
  );
}

/** Returns the texts of rows that are to be looked up, by their tables. */
export function textsOf(rows: readonly TableRow[]): Map<LookupTable, Set<string>> {
  const texts = new Map<LookupTable, Set<string>>();
  for (const { table, columns } of rows) {
    for (const { name, lookup, limit } of lookedUpIn(table)) {
      const value = columns[name];
      if (typeof value !== 'string') continue;
      const known = texts.get(lookup!);
      const text = cut(value, limit);
      if (known) known.add(text);
      else texts.set(lookup!, new Set([text]));
    }
  }
  return texts;
}

const encoderCache = new Map<string, readonly ColumnEncoder[]>();

/** Returns the encoders of the columns of a table. @throws {PlatformError} INTERNAL for an unknown table */
function encodersOf(table: string): readonly ColumnEncoder[] {
  const known = encoderCache.get(table);
  if (known) return known;
  const definition = TABLES.get(table);
  if (!definition) throw new PlatformError('INTERNAL', { reason: `no table ${table}` });
  const encoders = definition.columns.map((column) => encoderOf(table, column, definition.charset));
  encoderCache.set(table, encoders);
  return encoders;
}

const BITS: Readonly<Record<string, number>> = { tinyint: 8, smallint: 16, mediumint: 24, int: 32 };
const TEXT_BYTES: Readonly<Record<string, number>> = { tinytext: 255, text: 65_535, mediumtext: 2 ** 24 - 1 };
const FOREIGN: Readonly<Record<string, RegExp>> = { utf8mb3: /[\u{10000}-\u{10ffff}]/gu, ascii: /[^\0-\x7f]/gu };

function encoderOf(table: string, column: ColumnDefinition, tableCharset: string): ColumnEncoder {
  const { name, type, nullable, byDefault, extra } = column;
  const lookup = table === 'files' && name === MIME_TYPE_COLUMN ? 'index_mime_types' : LOOKED_UP[name];
  const [, word = '', size] = /^(\w+)(?:\((\d+)\))?/.exec(type) ?? [];
  const [charset = tableCharset] = type.split(' ').slice(1);
  const isNumber = word.endsWith('int');
  const [least, highest] = isNumber ? rangeOf(word, charset === 'unsigned') : [0, lengthOf(word, size)];
  const absent = byDefault !== null || nullable ? byDefault : isNumber ? 0 : '';
  return {
    table,
    name,
    isAuto: extra === 'auto',
    nullable,
    absent,
    lookup,
    isNumber,
    least,
    limit: lookup ? (LONGEST[lookup] ?? Number.MAX_SAFE_INTEGER) : highest,
    foreign: isNumber ? null : (FOREIGN[charset] ?? null),
    bytes: TEXT_BYTES[word] ?? Number.MAX_SAFE_INTEGER
  };
}

function rangeOf(word: string, isUnsigned: boolean): [least: number, highest: number] {
  const values = 2 ** (BITS[word] ?? 54);
  const highest = Math.min(isUnsigned ? values - 1 : values / 2 - 1, Number.MAX_SAFE_INTEGER);
  return [isUnsigned ? 0 : -highest - 1, highest];
}

/** Returns the length of a column in characters; only `char` and `varchar` have one. */
function lengthOf(word: string, size: string | undefined): number {
  return word.endsWith('char') && size !== undefined ? Number(size) : Number.MAX_SAFE_INTEGER;
}

const lookedUpCache = new Map<string, readonly ColumnEncoder[]>();

/** Returns the columns of a table whose text is looked up. */
function lookedUpIn(table: string): readonly ColumnEncoder[] {
  const known = lookedUpCache.get(table);
  if (known) return known;
  const found = encodersOf(table).filter(({ lookup }) => lookup !== undefined);
  lookedUpCache.set(table, found);
  return found;
}

/** Returns a value as its column takes it; null where a value of a refused row does not fit. */
function encodeValue(encoder: ColumnEncoder, value: Value, lookups: Pick<Lookups, 'idOf'>, isRefused: boolean): Value {
  if (value === null || (encoder.lookup && typeof value !== 'string')) return value;
  const { table, name, lookup } = encoder;
  const isOfNumbers = encoder.isNumber && !lookup;
  const kept = isOfNumbers ? numberWithin(encoder, value) : textWithin(encoder, String(value));
  if (!isRefused && (isOfNumbers ? kept === null : kept !== String(value)))
    throw new PlatformError('INTERNAL', { reason: `${table}.${name} has no room for ${String(value).slice(0, 80)}` });
  return lookup ? lookups.idOf(lookup, String(kept)) : kept;
}

function numberWithin({ least, limit }: ColumnEncoder, value: string | number | bigint): number | null {
  if (typeof value === 'string' && !/^\d{1,15}$/.test(value)) return null;
  const number = Number(value);
  return Number.isSafeInteger(number) && number >= least && number <= limit ? number : null;
}

const NOT_ASCII = /[^\0-\x7f]/;
/** Most bytes of a character in UTF-8. */
const MOST_BYTES = 4;

/**
 * Returns what a column holds of a text: `?` replaces each character that it lacks, and the rest is cut to its length.
 */
function textWithin({ limit, foreign, bytes }: ColumnEncoder, text: string): string {
  const known = foreign !== null && NOT_ASCII.test(text) ? text.replace(foreign, '?') : text;
  const short = cut(known, limit);
  const fits = short.length * MOST_BYTES <= bytes || Buffer.byteLength(short) <= bytes;
  return fits ? short : cut(short, Math.floor(bytes / MOST_BYTES));
}

/** Returns the first characters of a text. A pair of surrogates is one character. */
function cut(text: string, length: number): string {
  return text.length <= length ? text : [...text].slice(0, length).join('');
}
