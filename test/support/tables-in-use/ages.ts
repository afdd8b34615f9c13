import type { ColumnDefinition, KeyDefinition, TableDefinition } from '../../../src/indexer/definitions/definition.ts';
import { sqlTypeOf } from '../../../src/indexer/definitions/statement.ts';

/** Most bytes of one key in MyISAM. */
const MYISAM_KEY_BYTES = 1000;
const BYTES_PER_CHARACTER: Readonly<Record<string, number>> = { utf8mb4: 4, utf8mb3: 3, ascii: 1, latin1: 1 };

/** Action tables that had no unique key: the same action may have two equal rows there. */
export const WITHOUT_UNIQUE_KEY: ReadonlySet<string> = new Set(
  ['batches', 'broadcasts', 'callbacks', 'dividends', 'links', 'messages', 'sleeps', 'addresses', 'files'].concat([
    'order_cancels',
    'order_edits',
    'swap_cancels',
    'dispenser_cancels',
    'dispenser_edits'
  ])
);

/**
 * A definition as it was before mid-2026: TIMESTAMP for DATETIME, INT ids, columns that came later at the end, and in some
 * tables no unique key.
 */
export function asOld(name: string, table: TableDefinition): TableDefinition {
  const columns = table.columns.map(oldColumn);
  const keys = table.keys.map((key) => (WITHOUT_UNIQUE_KEY.has(name) && key.kind === 'unique' ? plain(key) : key));
  const later = columns.filter((column) => CAME_LATER.has(column.name));
  return {
    ...table,
    columns: [...columns.filter((column) => !later.includes(column)), ...later],
    keys,
    foreign: [] // INT and BIGINT cannot refer to each other, and MyISAM had none
  };
}

/** A definition with MyISAM as engine, where its keys are short enough: tables of later releases never were MyISAM. */
export function asMyIsam(table: TableDefinition): TableDefinition {
  const fits = table.keys.every((key) => key.kind === 'fulltext' || keyBytes(table, key) <= MYISAM_KEY_BYTES);
  return fits && !table.columns.some(({ extra }) => extra.startsWith('generated'))
    ? { ...table, engine: 'MyISAM', foreign: [] }
    : table;
}

/** They stand where a start of a later release added them: behind the others. */
const CAME_LATER = new Set(['block_index', 'tx_vout', 'leg_ordinal', 'source_id']);

function oldColumn(column: ColumnDefinition): ColumnDefinition {
  const { name, type, byDefault } = column;
  if (type === 'datetime') return { ...column, type: 'timestamp' };
  const isId = name === 'id' || name.endsWith('_id') || name.endsWith('_index');
  if (isId && type === 'bigint(20) unsigned') return { ...column, type: 'int(10) unsigned', byDefault };
  return column;
}

const plain = (key: KeyDefinition): KeyDefinition => ({ ...key, kind: 'index' });

function keyBytes(table: TableDefinition, { columns }: KeyDefinition): number {
  return columns.reduce((sum, text) => {
    const [, name, prefix] = /^(\w+)(?:\((\d+)\))?/.exec(text)!;
    const column = table.columns.find((candidate) => candidate.name === name)!;
    const { sqlType } = sqlTypeOf(column.type);
    const length = /^(?:var)?char\((\d+)\)/.exec(sqlType)?.[1] ?? (/text/.test(sqlType) ? prefix : undefined);
    if (length === undefined) return sum + 9;
    const charset = /CHARACTER SET (\w+)/.exec(sqlType)?.[1] ?? table.charset;
    return sum + Number(prefix ?? length) * BYTES_PER_CHARACTER[charset]! + 3;
  }, 0);
}
