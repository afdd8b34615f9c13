import { quoteName, type SqlRow } from '../../../src/db/connection.ts';
import { quoteText } from '../../../src/db/sql-literal.ts';
import { NODE_TABLES } from '../../../test/support/tables-in-use/tables.ts';
import { COUNTERS, FORMS, MAPPED, textTableOf } from './facts.ts';
import type { Layout } from './layout.ts';

/** One statement that selects what is wrong. */
export interface ColumnCheck {
  readonly what: string;
  /** Table whose rows it reads. */
  readonly table: string;
  /** Rows that are wrong; the columns of the first ones are told. */
  readonly wrong: string;
  /** Says what a wrong row means, where its columns do not. */
  readonly meaning?: (row: SqlRow) => string;
}

/** Checks of single columns, with what the database has no columns for. */
interface ColumnChecks {
  readonly checks: readonly ColumnCheck[];
  /** `table.column` of each that is not there. */
  readonly lacking: readonly string[];
}

const NODE: ReadonlySet<string> = new Set(NODE_TABLES);

/** Returns the checks of forms, references, counters and mappings that a database has the columns for. */
export function columnChecks(layout: Layout): ColumnChecks {
  const lacking: string[] = [];
  const existing = (table: string, column: string) => {
    if (layout.has(table, column)) return true;
    lacking.push(`${table}.${column}`);
    return false;
  };
  const forms = FORMS[layout.dbType].flatMap(({ columns, pattern, of }) =>
    columns.split(' ').flatMap((name) => {
      const [table = '', column = ''] = name.split('.');
      return existing(table, column) ? [formCheck(layout, table, column, { pattern, of })] : [];
    })
  );
  const counters = COUNTERS[layout.dbType].flatMap((name) => {
    const [table = '', column = ''] = name.split('.');
    return existing(table, column) ? [counterCheck(table, column)] : [];
  });
  const mapped =
    layout.dbType === 'decoder'
      ? []
      : MAPPED.flatMap(([table, column, type]) => (existing(table, column) ? [mappingCheck(table, column, type)] : []));
  return { checks: [...forms, ...counters, ...mapped, ...referenceChecks(layout)], lacking };
}

function formCheck(
  layout: Layout,
  table: string,
  column: string,
  { pattern, of }: { readonly pattern: string; readonly of: string }
): ColumnCheck {
  const key = ['action_index', 'block_index', 'tx_index', 'id'].filter((name) => layout.has(table, name));
  const columns = [...new Set([...key.slice(0, 1), column])].map((name) => `t.${name}`).join(', ');
  const isValid =
    layout.dbType === 'indexer' && layout.has(table, 'status_id')
      ? "(t.status_id IS NULL OR t.status_id NOT IN (SELECT i.id FROM index_statuses i WHERE i.status LIKE 'invalid%'))"
      : 'TRUE';
  return {
    what: `${table}.${column} is ${of}`,
    table,
    wrong: `SELECT ${columns} FROM ${table} t WHERE NOT CAST(t.${column} AS CHAR) REGEXP ${quoteText(pattern)} AND ${isValid}`
  };
}

function counterCheck(table: string, column: string): ColumnCheck {
  return {
    what: `${table}.${column} counts without gaps`,
    table,
    wrong: `SELECT before_it, ${column} FROM (SELECT LAG(${column}) OVER (ORDER BY ${column}) AS before_it, ${column} FROM ${table}) t
      WHERE ${column} <> before_it + 1`
  };
}

/** An action is mapped to what its rows name: a decoder of earlier days had the types the other way round. */
function mappingCheck(table: string, column: string, type: number): ColumnCheck {
  const mapped = (as: number) =>
    `EXISTS (SELECT 1 FROM mappings_actions m WHERE m.action_index = t.action_index AND m.type_id = ${as} AND m.id = t.${column})`;
  return {
    what: `mappings_actions has ${table}.${column} under type ${type}`,
    table,
    wrong: `SELECT DISTINCT t.action_index, t.${column}, ${mapped(3 - type)} AS is_other FROM ${table} t WHERE t.${column} > 0 AND NOT ${mapped(type)}`,
    meaning: ({ is_other: isOther }) => (Number(isOther) === 1 ? `it is there under type ${3 - type}` : 'it is missing')
  };
}

function referenceChecks({ dbType, columns, has }: Layout): ColumnCheck[] {
  const checks: ColumnCheck[] = [];
  const refer = (table: string, column: string, parent: string, key: string, allowed = 'NULL') =>
    checks.push({
      what: `${table}.${column} is in ${parent}`,
      table,
      wrong: `SELECT DISTINCT t.${quoteName(column)} FROM ${table} t LEFT JOIN ${parent} p ON p.${key} = t.${quoteName(column)}
        WHERE p.${key} IS NULL AND t.${quoteName(column)} IS NOT NULL AND NOT t.${quoteName(column)} <=> ${allowed}`
    });
  for (const [name, type] of columns) {
    const [table = '', column = ''] = name.split('.');
    if (NODE.has(table)) continue;
    const parent = textTableOf(table, column, type.includes('int'));
    // 0 stands for the chain's own coin, which has no ticker, and in rows of refused actions for what they did not name.
    if (parent !== undefined && has(parent, 'id'))
      refer(table, column, parent, 'id', parent === 'index_tickers' || has(table, 'status_id') ? '0' : 'NULL');
    if (dbType === 'indexer' && column === 'action_index' && table !== 'actions')
      refer(table, column, 'actions', column, table === 'tokens' ? '0' : 'NULL');
    if (column === 'tx_index' && table !== 'transactions') refer(table, column, 'transactions', column);
    if (dbType === 'indexer' && column === 'block_index' && /^(actions|transactions)$/.test(table))
      refer(table, column, 'blocks', column);
  }
  if (dbType === 'indexer')
    for (const [type, parent] of [
      [1, 'index_tickers'],
      [2, 'index_addresses']
    ] as const)
      for (const table of ['mappings_actions', 'mappings_files'])
        if (has(table, 'type_id', 'id'))
          checks.push({
            what: `${table}.id of type ${type} is in ${parent}`,
            table,
            wrong: `SELECT DISTINCT t.action_index, t.id FROM ${table} t LEFT JOIN ${parent} p ON p.id = t.id WHERE t.type_id = ${type} AND p.id IS NULL`
          });
  return checks;
}
