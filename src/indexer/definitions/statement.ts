import { quoteName } from '../../db/connection.ts';
import type { ColumnDefinition, ForeignKey, KeyDefinition, TableDefinition } from './definition.ts';

/** Returns the statement that makes a table. With other `keys` than its own, the table gets the rest after its rows. */
export function createStatement(
  name: string,
  table: TableDefinition,
  { ifMissing = false }: { readonly ifMissing?: boolean } = {}
): string {
  const lines = [...table.columns.map(columnClause), ...table.keys.map(keyClause), ...table.foreign.map(foreignClause)];
  const create = ifMissing ? 'CREATE TABLE IF NOT EXISTS' : 'CREATE TABLE';
  return `${create} ${quoteName(name)} (${lines.join(', ')}) ENGINE=${table.engine} DEFAULT CHARSET=${table.charset} COLLATE=${table.collate}`;
}

/** Returns a key as CREATE TABLE and `ALTER TABLE … ADD` take it. */
export function keyClause({ name, kind, columns }: KeyDefinition): string {
  const list = columns.map(keyColumn).join(', ');
  if (kind === 'primary') return `PRIMARY KEY (${list})`;
  const word = { unique: 'UNIQUE KEY', index: 'KEY', fulltext: 'FULLTEXT KEY' }[kind];
  return `${word} ${quoteName(name)} (${list})`;
}

/** Returns a foreign key as CREATE TABLE and `ALTER TABLE … ADD` take it. */
export function foreignClause({ name, columns, parent, parentColumns, onUpdate, onDelete }: ForeignKey): string {
  const list = (names: readonly string[]) => names.map(quoteName).join(', ');
  return `CONSTRAINT ${quoteName(name)} FOREIGN KEY (${list(columns)}) REFERENCES ${quoteName(parent)} (${list(parentColumns)}) ON UPDATE ${onUpdate} ON DELETE ${onDelete}`;
}

/** Returns a column as CREATE TABLE and `ALTER TABLE … MODIFY` take it. */
export function columnClause({ name, type, nullable, byDefault, extra }: ColumnDefinition): string {
  const quoted = quoteName(name);
  const { sqlType, isJson } = sqlTypeOf(type);
  if (extra.startsWith('generated: '))
    return `${quoted} ${sqlType} GENERATED ALWAYS AS (${extra.slice('generated: '.length)}) VIRTUAL`;
  return [
    `${quoted} ${sqlType} ${nullable ? 'NULL' : 'NOT NULL'}`,
    defaultClause(byDefault, nullable),
    extra === 'auto' ? 'AUTO_INCREMENT' : extra.toUpperCase(),
    isJson ? `CHECK (json_valid(${quoted}))` : ''
  ]
    .filter((part) => part !== '')
    .join(' ');
}

/** Returns the type as SQL takes it, from `varchar(250) utf8mb4 utf8mb4_bin`. ENUM members may hold no space. */
export function sqlTypeOf(type: string): { readonly sqlType: string; readonly isJson: boolean } {
  const [base = '', ...rest] = type.split(' ');
  const isJson = rest.at(-1) === 'json';
  const isUnsigned = rest[0] === 'unsigned';
  const [charset, collate] = isUnsigned ? [] : rest;
  const text = charset === undefined ? '' : ` CHARACTER SET ${charset} COLLATE ${collate}`;
  return { sqlType: `${base}${isUnsigned ? ' unsigned' : ''}${text}`, isJson };
}

function defaultClause(byDefault: string | null, nullable: boolean): string {
  if (byDefault === null) return nullable ? 'DEFAULT NULL' : '';
  if (byDefault.endsWith('()')) return `DEFAULT ${byDefault}`;
  return `DEFAULT '${byDefault.replaceAll("'", "''")}'`;
}

/** Returns a column of a key as SQL takes it, from `state_key`, `hash(64)` or `id desc`. */
function keyColumn(text: string): string {
  const match = /^(\w+)(\(\d+\))?( desc)?$/.exec(text);
  if (!match) throw new Error(`${text} is not a column of a key`);
  const [, name = '', prefix = '', order = ''] = match;
  return `${quoteName(name)}${prefix}${order.toUpperCase()}`;
}
