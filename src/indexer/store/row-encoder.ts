import { quoteText } from '../../db/core/sql-literal.ts';
import { PlatformError } from '../../errors.ts';
import type { ColumnDefinition } from '../definitions/definition.ts';
import { isRefusal } from '../rules/action-definition.ts';
import type { Columns, TableRow, Value } from '../state/rows.ts';
import type { Lookups, LookupTable } from './lookups.ts';
import { TABLES } from './schema.ts';

/** Columns whose text is looked up. What is not named here holds a number. */
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

/** One table's rows as statements take them. */
export interface EncodedRows {
  readonly columns: readonly string[];
  /** Each row as `(value,…)`. */
  readonly tuples: string[];
}

/** How a table takes the values of one column. */
interface ColumnEncoder {
  readonly table: string;
  readonly name: string;
  readonly isAuto: boolean;
  readonly nullable: boolean;
  /** What it has where a row says nothing: NULL where it may, else 0 or no text. */
  readonly absent: string | number | null;
  /** Where its text is looked up. */
  readonly lookup: LookupTable | undefined;
  readonly isNumber: boolean;
  /** Highest value, or length in characters; of looked-up texts that of their table. */
  readonly limit: number;
}

/**
 * Rows as their tables take them.
 *
 * What a user wrote need not fit where it is refused: text is cut to its column, and what is no number of the column's range
 * becomes NULL. Any other row keeps what it says, because facts are read from it and a rollback replays it.
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
      const isAbsent = value === undefined || (value === null && !encoder.nullable);
      return literalOf(isAbsent ? encoder.absent : encodeValue(encoder, value, lookups, isRefused));
    });
    target.tuples.push(`(${literals.join(',')})`);
  }
  return encoded;
}

/** A row as INSERT takes it. */
export function tupleOf(values: readonly Value[]): string {
  return `(${values.map(literalOf).join(',')})`;
}

function literalOf(value: Value): string | number | bigint {
  return typeof value === 'string' ? quoteText(value) : (value ?? 'NULL');
}

/** Columns of one row, by name. @throws {PlatformError} INTERNAL for what does not fit */
export function encodeColumns(table: string, columns: Columns, lookups: Pick<Lookups, 'idOf'>): Record<string, Value> {
  return Object.fromEntries(
    encodersOf(table)
      .filter(({ name }) => columns[name] !== undefined)
      .map((encoder) => [encoder.name, encodeValue(encoder, columns[encoder.name]!, lookups, false)])
  );
}

/** The texts of rows that are to be looked up, by their tables. */
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

/** @throws {PlatformError} INTERNAL for a table that is none */
function encodersOf(table: string): readonly ColumnEncoder[] {
  const known = encoderCache.get(table);
  if (known) return known;
  const definition = TABLES.get(table);
  if (!definition) throw new PlatformError('INTERNAL', { reason: `no table ${table}` });
  const encoders = definition.columns.map((column) => encoderOf(table, column));
  encoderCache.set(table, encoders);
  return encoders;
}

const HIGHEST: Readonly<Record<string, number>> = { tinyint: 127, smallint: 32_767, int: 2_147_483_647 };

function encoderOf(table: string, { name, type, nullable, byDefault, extra }: ColumnDefinition): ColumnEncoder {
  const lookup = table === 'files' && name === MIME_TYPE_COLUMN ? 'index_mime_types' : LOOKED_UP[name];
  const [, word = '', size = Number.MAX_SAFE_INTEGER] = /^(\w+)(?:\((\d+)\))?/.exec(type) ?? [];
  const isNumber = word.endsWith('int');
  const own = isNumber ? (HIGHEST[word] ?? Number.MAX_SAFE_INTEGER) : Number(size);
  const limit = lookup ? (LONGEST[lookup] ?? Number.MAX_SAFE_INTEGER) : own;
  const absent = byDefault !== null || nullable ? byDefault : isNumber ? 0 : '';
  return { table, name, isAuto: extra === 'auto', nullable, absent, lookup, isNumber, limit };
}

const lookedUpCache = new Map<string, readonly ColumnEncoder[]>();

/** The columns of a table whose text is looked up. */
function lookedUpIn(table: string): readonly ColumnEncoder[] {
  const known = lookedUpCache.get(table);
  if (known) return known;
  const found = encodersOf(table).filter(({ lookup }) => lookup !== undefined);
  lookedUpCache.set(table, found);
  return found;
}

function encodeValue(encoder: ColumnEncoder, value: Value, lookups: Pick<Lookups, 'idOf'>, isRefused: boolean): Value {
  if (typeof value !== 'string') return value;
  const { table, name, lookup, isNumber, limit } = encoder;
  const isOfNumbers = isNumber && !lookup;
  const kept = isOfNumbers ? numberOf(value, limit) : cut(value, limit);
  if (!isRefused && (isOfNumbers ? kept === null : kept !== value))
    throw new PlatformError('INTERNAL', { reason: `${table}.${name} has no room for ${value.slice(0, 80)}` });
  return lookup ? lookups.idOf(lookup, String(kept)) : kept;
}

function numberOf(text: string, most: number): number | null {
  return /^\d{1,15}$/.test(text) && Number(text) <= most ? Number(text) : null;
}

/** The first characters of a text; a pair of surrogates is one. */
function cut(text: string, length: number): string {
  return text.length <= length ? text : [...text].slice(0, length).join('');
}
