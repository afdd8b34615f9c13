import Type, { type TSchema } from 'typebox';
import { OrNull } from '../../wire/or-null.ts';

/**
 * Form of a value: `big`, `amount` and `sum` are decimal texts, since none fits a double; a sum comes without the zeros that SQL
 * appends.
 */
type Kind = 'text' | 'amount' | 'sum' | 'big' | 'integer' | 'flag';

/** One field of an answer: the source of its value, and its form. */
export interface Column {
  /** An SQL expression over the tables of its list. */
  readonly sql: string;
  readonly kind: Kind;
  readonly nullable: boolean;
  readonly doc?: string;
}
export type Columns = Readonly<Record<string, Column>>;

const column =
  (kind: Kind, nullable: boolean) =>
  (sql: string, doc?: string): Column => ({ sql, kind, nullable, ...(doc === undefined ? {} : { doc }) });

export const text = column('text', false);
export const textOrNull = column('text', true);
export const amountOrNull = column('amount', true);
export const sumOrNull = column('sum', true);
export const big = column('big', false);
export const bigOrNull = column('big', true);
export const integer = column('integer', false);
export const integerOrNull = column('integer', true);
export const flag = column('flag', false);
/** Returns a column that is 0 or 1. */
export const flagNumber = (sql: string): Column => integer(`COALESCE(${sql}, 0)`);

/** Tables of texts by their ids, with the column that holds the text. */
const TEXTS = {
  index_actions: 'action',
  index_addresses: 'address',
  index_coins: 'coin',
  index_fiats: 'code',
  index_memos: 'memo',
  index_mime_types: 'type',
  index_pubkeys: 'pubkey',
  index_statuses: 'status',
  index_tickers: 'tick',
  index_transactions: 'hash'
} as const;

/** Returns a column with the text whose id an expression is; null for none. */
export const looked = (table: keyof typeof TEXTS, id: string, doc?: string): Column =>
  textOrNull(`(SELECT i.${TEXTS[table]} FROM ${table} i WHERE i.id = ${id})`, doc);
export const address = (id: string, doc?: string): Column => looked('index_addresses', id, doc);
export const ticker = (id: string): Column => looked('index_tickers', id);

/** A row as the database gave it. */
export type RawRow = Readonly<Record<string, unknown>>;

/** Returns a row's fields as the answer has them. */
export function readRow(columns: Columns, row: RawRow): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const name in columns) {
    const value = row[name];
    fields[name] = value === null || value === undefined ? null : tell(columns[name]!.kind, value);
  }
  return fields;
}

function tell(kind: Kind, value: unknown): unknown {
  if (kind === 'integer') return Number(value);
  if (kind === 'flag') return Number(value) !== 0;
  if (kind === 'sum')
    return String(value)
      .replace(/(\.\d*?)0+$/, '$1')
      .replace(/\.$/, '');
  return String(value);
}

const SCHEMAS: Readonly<Record<Kind, () => TSchema>> = {
  text: () => Type.String(),
  amount: () => Type.String({ description: 'a decimal number' }),
  sum: () => Type.String({ description: 'a decimal number' }),
  big: () => Type.String({ pattern: '^-?\\d+$', description: 'a whole number' }),
  integer: () => Type.Integer(),
  flag: () => Type.Boolean()
};

/** Returns the schema of a row. */
export function rowSchema(columns: Columns) {
  return Type.Object(
    Object.fromEntries(Object.entries(columns).map(([name, described]) => [name, columnSchema(described)]))
  );
}

function columnSchema({ kind, nullable, doc }: Column): TSchema {
  const schema = SCHEMAS[kind]();
  const described = doc === undefined ? {} : { description: doc };
  return nullable ? OrNull(schema, described) : { ...schema, ...described };
}

/** Returns the columns as the list of a SELECT. */
export function selectList(columns: Columns): string {
  const known = SELECTED.get(columns);
  if (known !== undefined) return known;
  const list = Object.entries(columns)
    .map(([name, { sql }]) => `${sql} AS \`${name}\``)
    .join(', ');
  SELECTED.set(columns, list);
  return list;
}

const SELECTED = new WeakMap<Columns, string>();
