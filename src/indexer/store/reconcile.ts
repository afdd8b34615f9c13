import { quoteName, rows, type Statements } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import type { ColumnDefinition, TableDefinition } from '../definitions/definition.ts';
import { columnClause, sqlTypeOf } from '../definitions/statement.ts';

/** Column as a database has it. */
interface Found {
  readonly table: string;
  readonly name: string;
  /** Type, as `varchar(250)` or `bigint(20) unsigned`. */
  readonly type: string;
  readonly charset: string | null;
  readonly collation: string | null;
  readonly nullable: 'YES' | 'NO';
}

/** Types in rising order: each holds more than those before it. */
const LADDERS: readonly (readonly string[])[] = [
  ['tinyint', 'smallint', 'mediumint', 'int', 'bigint'],
  ['tinytext', 'text', 'mediumtext', 'longtext']
];

/**
 * Adds missing columns, and widens those that hold less, or distinguish less, than their definitions. No column becomes
 * narrower, because other programs may rely on it.
 *
 * @throws {PlatformError} DATABASE_UNUSABLE for a table whose engine has no transactions
 */
export async function reconcileColumns(
  connection: Statements,
  tables: ReadonlyMap<string, TableDefinition>
): Promise<void> {
  await refuseOtherEngines(connection, tables);
  const found = await rows<Found & Record<string, unknown>>(
    connection,
    `SELECT TABLE_NAME AS \`table\`, COLUMN_NAME AS name, COLUMN_TYPE AS type, CHARACTER_SET_NAME AS charset,
       COLLATION_NAME AS collation, IS_NULLABLE AS nullable
     FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()`
  );
  const known = new Map(found.map((column) => [`${column.table}.${column.name}`, column]));
  for (const [name, table] of tables) {
    const changes = table.columns.flatMap((column) => {
      const existing = known.get(`${name}.${column.name}`);
      if (existing === undefined) return [`ADD COLUMN ${columnClause(column)}`];
      if (column.extra.startsWith('generated: ')) return [];
      const wider = widened(existing, column, table);
      return wider === null ? [] : [`MODIFY ${columnClause(wider)}`];
    });
    if (changes.length > 0) await connection.query(`ALTER TABLE ${quoteName(name)} ${changes.join(', ')}`);
  }
}

async function refuseOtherEngines(connection: Statements, tables: ReadonlyMap<string, TableDefinition>): Promise<void> {
  const found = await rows<{ name: string; engine: string }>(
    connection,
    `SELECT TABLE_NAME AS name, ENGINE AS engine FROM information_schema.TABLES
     WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' AND ENGINE <> 'InnoDB'`
  );
  const other = found.find(({ name }) => tables.has(name));
  if (other === undefined) return;
  const reason = `table ${other.name} uses the engine ${other.engine}, which cannot roll blocks back: run ALTER TABLE ${other.name} ENGINE=InnoDB`;
  throw new PlatformError('DATABASE_UNUSABLE', { reason });
}

/** Returns the column that holds the values of both. @returns null when the existing one already does */
function widened(existing: Found, column: ColumnDefinition, table: TableDefinition): ColumnDefinition | null {
  const { sqlType, isJson } = sqlTypeOf(column.type);
  const [wanted = ''] = sqlType.split(' CHARACTER SET ');
  const type = isNarrower(existing.type, wanted) ? wanted : existing.type;
  const text = existing.charset === null ? null : textOf(existing, column, table);
  const isStrict = column.nullable && existing.nullable === 'NO';
  const isSame = type === existing.type && text === `${existing.charset} ${existing.collation}`;
  if (!isStrict && (isSame || (text === null && type === existing.type))) return null;
  const parts = [type, ...(text === null ? [] : [text]), ...(isJson ? ['json'] : [])];
  return { ...column, type: parts.join(' '), nullable: column.nullable || existing.nullable === 'YES' };
}

/** Returns the character set and collation that hold, and distinguish, the texts of both. */
function textOf({ charset, collation }: Found, { type }: ColumnDefinition, table: TableDefinition): string {
  const [, wantedCharset = table.charset, wantedCollation = table.collate] = type.split(' ');
  const isWider = wantedCharset === 'utf8mb4' && charset !== 'utf8mb4';
  const isInexact = wantedCollation.endsWith('_bin') && !collation!.endsWith('_bin');
  const isPadded = wantedCollation.endsWith('_nopad_bin') && !collation!.endsWith('_nopad_bin');
  if (isInexact || isPadded) {
    const kept = isWider ? wantedCharset : charset!;
    return `${kept} ${kept}_nopad_bin`;
  }
  return isWider ? `${wantedCharset} ${wantedCollation}` : `${charset} ${collation}`;
}

function isNarrower(existing: string, wanted: string): boolean {
  const [had, hadSize] = partsOf(existing);
  const [wantedType, wantedSize] = partsOf(wanted);
  for (const ladder of LADDERS) {
    const [from, to] = [ladder.indexOf(had), ladder.indexOf(wantedType)];
    if (from >= 0 && to >= 0) return from < to;
  }
  if (had !== wantedType) return had === 'varchar' && wantedType.endsWith('text');
  if (had === 'enum') {
    const members = new Set(membersOf(existing));
    return members.isSubsetOf(new Set(membersOf(wanted))) && membersOf(wanted).length > members.size;
  }
  return (had === 'varchar' || had === 'char') && hadSize < wantedSize;
}

function partsOf(type: string): [word: string, size: number] {
  const [, word = '', size = '0'] = /^(\w+)(?:\((\d+)\))?/.exec(type.toLowerCase()) ?? [];
  return [word, Number(size)];
}

function membersOf(type: string): string[] {
  return type.slice(type.indexOf('(') + 1, -1).split(',');
}
