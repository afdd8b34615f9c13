import { quoteName } from '../../db/connection.ts';
import { quoteText } from '../../db/sql-literal.ts';
import { PlatformError } from '../../errors.ts';
import type { TypedColumn, TypedForeignKey, TypedKey, TypedTable } from '../../wire/data/schema.ts';
import { reprintDefault, reprintExpression, reprintMoment, unescapeText } from './sql-expression.ts';

const NAME = /^[A-Za-z0-9_]{1,64}$/;
/** Rows and lists by name are objects, in which these mean something else; the driver refuses columns of these names, too. */
const NAMES_OF_OBJECTS = /^__(proto|defineGetter|defineSetter|lookupGetter|lookupSetter)__$/;
/** Character sets of MariaDB. A name of any other form would be printed as a word of SQL. */
const CHARSETS: ReadonlySet<string> = new Set(
  (
    'armscii8 ascii big5 binary cp1250 cp1251 cp1256 cp1257 cp850 cp852 cp866 cp932 dec8 eucjpms euckr gb2312 gbk geostd8 greek hebrew hp8 ' +
    'keybcs2 koi8r koi8u latin1 latin2 latin5 latin7 macce macroman sjis swe7 tis620 ucs2 ujis utf16 utf16le utf32 utf8 utf8mb3 utf8mb4'
  ).split(' ')
);
const COLLATION = /^[a-z0-9_]{1,64}$/;
const PLAIN_TYPE =
  /^((tiny|small|medium|big)?int(\(\d{1,3}\))?( unsigned)?( zerofill)?|decimal\(\d{1,2},\d{1,2}\)( unsigned)?( zerofill)?|(float|double)(\(\d{1,3},\d{1,2}\))?( unsigned)?( zerofill)?|bit\(\d{1,2}\)|date|(time|datetime|timestamp)(\([0-6]\))?|year(\(4\))?|(var)?(char|binary)\(\d{1,5}\)|(tiny|medium|long)?(text|blob)|uuid|inet[46])$/i;
const MEMBERS = /^(enum|set)\(('(?:[^'\\]|''|\\.)*'(?:,'(?:[^'\\]|''|\\.)*')*)\)$/isu;
const REFERENCE_RULES = new Set(['RESTRICT', 'CASCADE', 'SET NULL', 'NO ACTION']);

/** Marks a replica's own tables, so that foreign tables beside them are recognised. */
export const REPLICA_COMMENT = 'replicated by platform-node';

/** The statements that create one table, and those that are cheaper to run once its rows are in. */
export interface TableDdl {
  readonly create: string;
  /** ALTER TABLE statements: secondary indexes, then foreign keys. */
  readonly afterLoad: readonly string[];
}

/**
 * Prints the statements that create a table, from a description that a source sent. Nothing of it is executed as received:
 * each part is matched against what is allowed, and printed anew.
 *
 * @throws {PlatformError} SCHEMA_REFUSED naming table, column and reason
 */
export function printTable(table: TypedTable): TableDdl {
  const name = checkName(table.name, table.name);
  checkDistinct(table);
  const columns = table.columns.map((column) => printColumn(table, column));
  const early = table.keys.filter((key) => belongsInCreate(table, key)).map((key) => printKey(table, key));
  return {
    create: `CREATE TABLE ${name} (\n  ${[...columns, ...early].join(',\n  ')}\n) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci COMMENT='${REPLICA_COMMENT}'`,
    afterLoad: printFinish(table, { keys: [], foreignKeys: [] })
  };
}

/** Prints the statements that add to a loaded table what it lacks: secondary indexes, then foreign keys, each list whole or not at all. */
export function printFinish(table: TypedTable, made: Pick<TypedTable, 'keys' | 'foreignKeys'>): string[] {
  const [keys, references] = [made.keys, made.foreignKeys].map((list) => new Set(list.map(({ name }) => name)));
  const late = table.keys.filter((key) => !belongsInCreate(table, key) && !keys!.has(key.name));
  const adds = [
    late.map((key) => `ADD ${printKey(table, key)}`),
    table.foreignKeys.filter(({ name }) => !references!.has(name)).map((key) => `ADD ${printForeignKey(table, key)}`)
  ];
  return adds
    .filter((list) => list.length > 0)
    .map((list) => `ALTER TABLE ${checkName(table.name, table.name)} ${list.join(', ')}`);
}

/**
 * Prints the statement that adds to a table what a newer description has more: columns, then keys. Nothing is changed or dropped.
 *
 * @throws {PlatformError} SCHEMA_REFUSED, also when a column that exists differs
 */
export function printAdditions(from: TypedTable, to: TypedTable): string[] {
  checkDistinct(to);
  const own = new Map(from.columns.map((column) => [column.name, column]));
  for (const column of to.columns) checkSame(to, own.get(column.name) ?? column, column);
  const keys = new Set(from.keys.map(({ name }) => name));
  const missing = to.keys.filter(({ name }) => !keys.has(name));
  return printAlter(to, [
    ...printNewColumns(to, new Set(own.keys())),
    ...missing.map((key) => `ADD ${printKey(to, key)}`)
  ]);
}

/**
 * Prints the statements that change a table into a newer description of it. MariaDB chooses the values of its rows in columns that
 * are new or have another type.
 *
 * @throws {PlatformError} SCHEMA_REFUSED
 */
export function printChanges(from: TypedTable, to: TypedTable): string[] {
  checkDistinct(to);
  const own = new Map(from.columns.map((column) => [column.name, column]));
  const wanted = new Map(to.columns.map((column) => [column.name, column]));
  const differs = ({ name }: TypedColumn) => factsOf(own.get(name)) !== factsOf(wanted.get(name));
  // What is made by an expression cannot become a column of values, nor the other way round.
  const isRemade = ({ name }: TypedColumn) =>
    (own.get(name)?.generated ?? wanted.get(name)?.generated ?? null) !== null;
  const gone = from.columns.filter((column) => !wanted.has(column.name) || (differs(column) && isRemade(column)));
  const kept = new Set(from.columns.filter((column) => !gone.includes(column)).map(({ name }) => name));
  const changed = to.columns.filter((column) => kept.has(column.name) && differs(column));
  const stays = (key: TypedKey) => key.columns.every(({ name }) => kept.has(name));
  const [oldKeys, newKeys] = differing(from.keys.filter(stays), to.keys, keyFacts);
  const [oldReferences, newReferences] = differing(from.foreignKeys, to.foreignKeys, referenceFacts);
  const lostKeys = [...oldKeys, ...from.keys.filter((key) => !stays(key))];
  return [
    ...printAlter(
      to,
      oldReferences.map(({ name }) => `DROP FOREIGN KEY ${quoteName(name)}`)
    ),
    ...printAlter(to, [
      ...lostKeys.map(({ name }) => (name === 'PRIMARY' ? 'DROP PRIMARY KEY' : `DROP KEY ${quoteName(name)}`)),
      ...gone.map(({ name }) => `DROP COLUMN ${quoteName(name)}`),
      ...changed.map((column) => `MODIFY COLUMN ${printColumn(to, column)}`),
      ...printNewColumns(to, kept),
      ...newKeys.map((key) => `ADD ${printKey(to, key)}`)
    ]),
    ...printAlter(
      to,
      newReferences.map((key) => `ADD ${printForeignKey(to, key)}`)
    )
  ];
}

function printAlter({ name }: TypedTable, parts: readonly string[]): string[] {
  return parts.length === 0 ? [] : [`ALTER TABLE ${checkName(name, name)} ${parts.join(', ')}`];
}

function printNewColumns(table: TypedTable, known: ReadonlySet<string>): string[] {
  return table.columns.flatMap((column, position) => {
    if (known.has(column.name)) return [];
    const before = table.columns[position - 1]?.name;
    return [
      `ADD COLUMN ${printColumn(table, column)} ${before === undefined ? 'FIRST' : `AFTER ${quoteName(before)}`}`
    ];
  });
}

/** Returns the items that only the first list has, and those that only the second has. */
function differing<T>(from: readonly T[], to: readonly T[], facts: (item: T) => string): [T[], T[]] {
  const without = (list: readonly T[], others: readonly T[]) => {
    const known = new Set(others.map(facts));
    return list.filter((item) => !known.has(facts(item)));
  };
  return [without(from, to), without(to, from)];
}

/** Returns the facts of a key that a replica shares; kinds of storage are its own. */
function keyFacts({ name, unique, kind, columns }: TypedKey): string {
  const isFullText = /^FULLTEXT$/i.test(kind);
  return JSON.stringify([name, unique, isFullText, isFullText ? columns.map((column) => column.name) : columns]);
}

/** Returns the facts of a reference that decide something: to InnoDB no action is a restriction, and it tells one as the other. */
function referenceFacts({
  name,
  columns,
  referencedTable,
  referencedColumns,
  onDelete,
  onUpdate
}: TypedForeignKey): string {
  const rules = [onDelete, onUpdate].map((rule) => (rule === 'NO ACTION' ? 'RESTRICT' : rule));
  return JSON.stringify([name, columns, referencedTable, referencedColumns, rules]);
}

/**
 * Returns a text of the facts that decide which rows a table can hold, and the values that it makes itself: no comparison covers those.
 * Servers of several versions give the same text.
 */
export function holdingOf({ columns, keys }: TypedTable): string {
  const unique = keys.filter((key) => key.unique);
  const inUnique = new Set(unique.flatMap((key) => key.columns.map(({ name }) => name)));
  const names = columns.map((column) => [
    column.name,
    plainType(column),
    column.charset,
    column.nullable,
    column.autoIncrement,
    madeBy(column),
    inUnique.has(column.name) ? equalityOf(column) : null
  ]);
  const keyed = unique.map((key) => key.columns.map(({ name, prefix }) => [name, prefix]));
  const sorted = (list: readonly unknown[]) => list.map((item) => JSON.stringify(item)).sort();
  return JSON.stringify([sorted(names), sorted(keyed)]);
}

/** Returns how a generated column's values are made; null for a column of values that are stored as they come. */
function madeBy({ generated }: TypedColumn): readonly unknown[] | null {
  return generated && [reprintExpression(generated.expression, null), generated.stored];
}

/** Returns which texts a unique key takes for the same; the usual collation differs between versions, and whether it knows case does not. */
function equalityOf({ collation }: TypedColumn): readonly boolean[] | null {
  return collation === null ? null : [/_(bin|cs)$/.test(collation), /_nopad_/.test(collation)];
}

function refuse(table: string, part: string, reason: string): never {
  throw new PlatformError('SCHEMA_REFUSED', { reason: `table ${table}, ${part}: ${reason}`, table });
}

function checkName(name: string, table: string): string {
  if (!NAME.test(name))
    refuse(
      table,
      'a name',
      `${JSON.stringify(name.slice(0, 80))} holds other characters than [A-Za-z0-9_]: rename it, or name the table in SYNC_LOCAL_TABLES of the server`
    );
  if (NAMES_OF_OBJECTS.test(name))
    refuse(
      table,
      'a name',
      `${name} cannot be carried: rename it, or name the table in SYNC_LOCAL_TABLES of the server`
    );
  return quoteName(name);
}

function checkDistinct(table: TypedTable): void {
  const lower = table.columns.map(({ name }) => name.toLowerCase());
  if (new Set(lower).size !== lower.length) refuse(table.name, 'columns', 'a name comes twice');
  const automatic = table.columns.filter(({ autoIncrement }) => autoIncrement);
  if (automatic.length > 1) refuse(table.name, 'columns', 'more than one AUTO_INCREMENT');
  for (const { name } of automatic) {
    if (!table.keys.some((key) => key.columns[0]?.name === name))
      refuse(table.name, `column ${name}`, 'AUTO_INCREMENT that is not first in a key');
  }
}

function printColumn(table: TypedTable, column: TypedColumn): string {
  const where = `column ${column.name}`;
  const parts = [checkName(column.name, table.name), printType(table, column)];
  if (column.charset !== null) {
    const collation = column.collation ?? `${column.charset}_general_ci`;
    // Every collation bears the name of its set; one set has two.
    const named = (charset: string) => charset.replace(/^utf8mb3$/, 'utf8');
    const isOfSet = named(collation.split('_', 1)[0]!) === named(column.charset);
    if (!CHARSETS.has(column.charset) || !COLLATION.test(collation) || !isOfSet)
      refuse(table.name, where, 'unknown character set');
    parts.push(`CHARACTER SET ${column.charset} COLLATE ${collation}`);
  }
  if (column.generated) {
    const others = new Set(table.columns.filter(({ generated }) => generated === null).map(({ name }) => name));
    const expression = reprintExpression(column.generated.expression, others);
    // So MariaDB tells a character beyond the basic plane.
    if (column.generated.expression.includes('????'))
      refuse(table.name, where, 'its expression holds a character that MariaDB does not tell');
    if (expression === null) refuse(table.name, where, 'its expression is not of an allowed form');
    parts.push(`GENERATED ALWAYS AS (${expression}) ${column.generated.stored ? 'STORED' : 'VIRTUAL'}`);
    if (column.invisible) parts.push('INVISIBLE');
    return parts.join(' ');
  }
  parts.push(column.nullable ? 'NULL' : 'NOT NULL');
  if (column.invisible) parts.push('INVISIBLE');
  if (column.default !== null) {
    const printed = reprintDefault(column.default);
    if (printed === null) refuse(table.name, where, 'its default is not of an allowed form');
    parts.push(`DEFAULT ${printed}`);
  }
  if (column.autoIncrement) parts.push('AUTO_INCREMENT');
  if (column.onUpdate !== null) {
    const moment = reprintMoment(column.onUpdate);
    if (moment === null) refuse(table.name, where, 'its ON UPDATE is not current_timestamp');
    parts.push(`ON UPDATE ${moment}`);
  }
  if (column.json) parts.push(`CHECK (json_valid(${quoteName(column.name)}))`);
  return parts.join(' ');
}

function printType(table: TypedTable, column: TypedColumn): string {
  if (PLAIN_TYPE.test(column.type)) return column.type;
  const [, kind, members] = MEMBERS.exec(column.type) ?? [];
  if (kind === undefined || members === undefined)
    return refuse(table.name, `column ${column.name}`, `type ${column.type.slice(0, 80)} is not allowed`);
  const texts = [...members.matchAll(/'((?:[^'\\]|''|\\.)*)'/gsu)].map(([, inside = '']) =>
    quoteText(unescapeText(inside))
  );
  return `${kind.toLowerCase()}(${texts.join(',')})`;
}

/** Returns whether rows must meet a key while they arrive: a unique one, or the one that AUTO_INCREMENT needs. */
function belongsInCreate(table: TypedTable, key: TypedKey): boolean {
  const automatic = table.columns.find(({ autoIncrement }) => autoIncrement)?.name;
  return key.unique || key.columns[0]?.name === automatic;
}

function printKey(table: TypedTable, key: TypedKey): string {
  const where = `key ${key.name.slice(0, 80)}`;
  if (!/^(BTREE|HASH|FULLTEXT)$/i.test(key.kind)) refuse(table.name, where, `kind ${key.kind} is not allowed`);
  const fullText = /^FULLTEXT$/i.test(key.kind);
  const columns = key.columns.map(({ name, prefix, descending }) => {
    if (!table.columns.some((column) => column.name === name)) refuse(table.name, where, `column ${name} is not there`);
    const length = prefix !== null && !fullText ? `(${checkPrefix(table, where, prefix)})` : '';
    return `${quoteName(name)}${length}${descending ? ' DESC' : ''}`;
  });
  const list = `(${columns.join(', ')})`;
  if (key.name === 'PRIMARY') return `PRIMARY KEY ${list}`;
  return `${fullText ? 'FULLTEXT ' : key.unique ? 'UNIQUE ' : ''}KEY ${checkName(key.name, table.name)} ${list}`;
}

function checkPrefix(table: TypedTable, where: string, prefix: number): number {
  return Number.isInteger(prefix) && prefix > 0 && prefix <= 3072
    ? prefix
    : refuse(table.name, where, 'prefix out of bounds');
}

function printForeignKey(table: TypedTable, key: TypedForeignKey): string {
  const where = `foreign key ${key.name.slice(0, 80)}`;
  for (const rule of [key.onDelete, key.onUpdate]) {
    if (!REFERENCE_RULES.has(rule)) refuse(table.name, where, `rule ${rule} is not allowed`);
  }
  const list = (names: readonly string[]) => names.map((name) => checkName(name, table.name)).join(', ');
  return `CONSTRAINT ${checkName(key.name, table.name)} FOREIGN KEY (${list(key.columns)}) REFERENCES ${checkName(key.referencedTable, table.name)} (${list(key.referencedColumns)}) ON DELETE ${key.onDelete} ON UPDATE ${key.onUpdate}`;
}

function checkSame(table: TypedTable, own: TypedColumn, source: TypedColumn): void {
  const facts = ({ nullable, collation, generated, ...column }: TypedColumn) =>
    JSON.stringify([plainType(column), nullable, collation, generated !== null]);
  const [mine, other] = [facts(own), facts(source)];
  if (mine !== other) {
    refuse(
      table.name,
      `column ${own.name}`,
      `the replica has ${mine}, the source ${other}: bootstrap this replica anew into an empty database`
    );
  }
}

/** Returns a type without the width at which a number is shown, which only some servers print; it stays where zeros fill it. */
function plainType({ type }: Pick<TypedColumn, 'type'>): string {
  const lower = type.toLowerCase();
  return lower.endsWith('zerofill') ? lower : lower.replace(/^((?:tiny|small|medium|big)?int|year)\(\d+\)/, '$1');
}

/** Returns everything of a column that decides what rows it holds. */
function factsOf(column: TypedColumn | undefined): string {
  if (!column) return '';
  const { nullable, collation, autoIncrement, invisible = false } = column;
  return JSON.stringify([plainType(column), nullable, collation, autoIncrement, madeBy(column), invisible]);
}
