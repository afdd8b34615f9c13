import { PlatformError } from '../../errors.ts';
import type { ColumnDefinition } from '../definitions/definition.ts';
import type { Columns, TableRow, Value } from '../state/effects.ts';
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
  contract_hash_id: 'index_transactions'
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
  readonly values: (string | number | bigint | null)[][];
}

/**
 * Rows as their tables take them.
 *
 * What a user wrote need not fit: text is cut to its column, and what is no number of the column's range becomes NULL. Only
 * refused actions have such values.
 */
export function encodeRows(rows: readonly TableRow[], lookups: Lookups): Map<string, EncodedRows> {
  const encoded = new Map<string, EncodedRows & { readonly definitions: readonly ColumnDefinition[] }>();
  for (const { table, columns } of rows) {
    let target = encoded.get(table);
    if (!target) {
      const definitions = TABLES.get(table)?.columns.filter(({ extra, name }) => extra !== 'auto' || name in columns);
      if (!definitions) throw new PlatformError('INTERNAL', { reason: `no table ${table}` });
      target = { columns: definitions.map(({ name }) => name), definitions, values: [] };
      encoded.set(table, target);
    }
    target.values.push(
      target.definitions.map((definition) => {
        const value = columns[definition.name];
        if (value == null) return value === undefined || !definition.nullable ? absentOf(definition) : null;
        return encodeValue(table, definition, value, lookups);
      })
    );
  }
  return encoded;
}

/** Columns of one row, by name. */
export function encodeColumns(table: string, columns: Columns, lookups: Lookups): Record<string, Value> {
  const definitions = TABLES.get(table)!.columns.filter(({ name }) => columns[name] !== undefined);
  return Object.fromEntries(
    definitions.map((definition) => [
      definition.name,
      encodeValue(table, definition, columns[definition.name]!, lookups)
    ])
  );
}

/** The texts of rows that are to be looked up, by their tables. */
export function textsOf(rows: readonly TableRow[]): Map<LookupTable, Set<string>> {
  const texts = new Map<LookupTable, Set<string>>();
  for (const { table, columns } of rows) {
    for (const [column, value] of Object.entries(columns)) {
      const lookup = lookupOf(table, column);
      if (lookup === undefined || typeof value !== 'string') continue;
      const known = texts.get(lookup);
      const text = cut(value, LONGEST[lookup]);
      if (known) known.add(text);
      else texts.set(lookup, new Set([text]));
    }
  }
  return texts;
}

/** What a column has where a row says nothing: NULL where it may, else 0 or no text. */
function absentOf({ byDefault, nullable, type }: ColumnDefinition): string | number | null {
  if (byDefault !== null || nullable) return byDefault;
  return columnOf(type).isNumber ? 0 : '';
}

function lookupOf(table: string, column: string): LookupTable | undefined {
  return table === 'files' && column === MIME_TYPE_COLUMN ? 'index_mime_types' : LOOKED_UP[column];
}

function encodeValue(
  table: string,
  { name, type }: ColumnDefinition,
  value: Value,
  lookups: Lookups
): string | number | bigint | null {
  if (value === null || typeof value === 'bigint') return value;
  if (typeof value === 'number') return value;
  const lookup = lookupOf(table, name);
  if (lookup) return lookups.idOf(lookup, cut(value, LONGEST[lookup]));
  const { isNumber, limit } = columnOf(type);
  if (isNumber) return /^\d{1,15}$/.test(value) && Number(value) <= limit ? Number(value) : null;
  return cut(value, limit);
}

const HIGHEST: Readonly<Record<string, number>> = { tinyint: 127, smallint: 32_767, int: 2_147_483_647 };
const columnCache = new Map<string, { readonly isNumber: boolean; readonly limit: number }>();

/** Whether a type is one of numbers, with its highest value or its length in characters. */
function columnOf(type: string): { readonly isNumber: boolean; readonly limit: number } {
  const cached = columnCache.get(type);
  if (cached) return cached;
  const [, word = '', size] = /^(\w+)(?:\((\d+)\))?/.exec(type) ?? [];
  const isNumber = word.endsWith('int');
  const limit = isNumber ? (HIGHEST[word] ?? Number.MAX_SAFE_INTEGER) : Number(size ?? Number.MAX_SAFE_INTEGER);
  columnCache.set(type, { isNumber, limit });
  return { isNumber, limit };
}

/** The first characters of a text; a pair of surrogates is one. */
function cut(text: string, length = Number.MAX_SAFE_INTEGER): string {
  return text.length <= length ? text : [...text].slice(0, length).join('');
}
