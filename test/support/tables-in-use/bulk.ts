import { type Connection, quoteName, rows } from '../../../src/db/connection.ts';
import type { KeyDefinition, TableDefinition } from '../../../src/indexer/definitions/definition.ts';
import { foreignClause, keyClause } from '../../../src/indexer/definitions/statement.ts';

/** With more rows than these, secondary keys are made after them: a sorted build beats as many single inserts. */
const KEYS_LATER_FROM = 50_000;
/** One statement's rows: its undo stays small. */
const ROWS_PER_STATEMENT = 2_000_000;

/** Rows of one table as a SELECT over the numbers from 1: `seq` is the number. */
export interface BulkRows {
  readonly table: string;
  readonly count: number;
  /** Expressions by column. */
  readonly columns: Readonly<Record<string, string>>;
}

/** Fills a table that may have rows already; its keys are as they were when this returns. */
export async function addBulk(
  connection: Connection,
  tables: ReadonlyMap<string, TableDefinition>,
  { table, count, columns }: BulkRows
): Promise<void> {
  if (count < 1) return;
  const definition = tables.get(table)!;
  const later = count >= KEYS_LATER_FROM ? secondaryKeys(definition) : [];
  const foreign = later.length > 0 ? definition.foreign : [];
  const alter = (clauses: readonly string[]) =>
    clauses.length > 0 && connection.query(`ALTER TABLE ${quoteName(table)} ${clauses.join(', ')}`);
  await alter(foreign.map(({ name }) => `DROP FOREIGN KEY ${quoteName(name)}`));
  await alter(later.map(({ name }) => `DROP KEY ${quoteName(name)}`));
  const names = Object.keys(columns).map(quoteName).join(', ');
  for (let from = 1; from <= count; from += ROWS_PER_STATEMENT) {
    const to = Math.min(count, from + ROWS_PER_STATEMENT - 1);
    await connection.query(
      `INSERT INTO ${quoteName(table)} (${names}) SELECT ${Object.values(columns).join(', ')} FROM seq_${from}_to_${to}`
    );
  }
  await alter([...later.map((key) => `ADD ${keyClause(key)}`), ...foreign.map((key) => `ADD ${foreignClause(key)}`)]);
}

/** All but the key that orders the rows, and one that AUTO_INCREMENT needs. */
function secondaryKeys({ keys, columns }: TableDefinition): KeyDefinition[] {
  const nullable = new Set(columns.filter((column) => column.nullable).map(({ name }) => name));
  const auto = columns.find(({ extra }) => extra === 'auto')?.name;
  const clustered =
    keys.find(({ kind }) => kind === 'primary') ??
    keys.find((key) => key.kind === 'unique' && key.columns.every((name) => !nullable.has(name)));
  return keys.filter((key) => key !== clustered && key.kind !== 'fulltext' && key.columns[0] !== auto);
}

/** Returns SQL of a hash over a text that SQL gives, with some hexadecimal digits. */
export function sqlHash(seed: string, expression: string, digits = 64): string {
  const hash = `SHA2(CONCAT('${seed.replaceAll("'", "''")} ', ${expression}), 256)`;
  return digits === 64 ? hash : `LEFT(${hash}, ${digits})`;
}

/** Runs InnoDB's statistics over tables that were filled in bulk. */
export async function analyze(connection: Connection, tables: readonly string[]): Promise<void> {
  await rows(connection, `ANALYZE TABLE ${tables.map(quoteName).join(', ')}`);
}
