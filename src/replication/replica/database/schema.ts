import { hash } from 'node:crypto';
import type { Connection } from '../../../db/connection.ts';
import { type ColumnCodec, canonicalValue, columnCodec } from '../../../db/sql-literal.ts';
import { PlatformError } from '../../../errors.ts';
import type { DbType } from '../../../wire/data/database.ts';
import type { WireRow, WireRows } from '../../../wire/data/messages.ts';
import type { TypedTable } from '../../../wire/data/schema.ts';
import type { HeadLayout } from '../../tables/block-hashes.ts';
import { classByName, type TablePlan, UNSEEN } from '../../tables/classify.ts';
import { readLayout } from '../../tables/source-layout.ts';

/** One row in canonical form: the values of its stored columns, in table order. */
export type CanonicalRow = readonly (string | null)[];

/** A replicated table as its writer sees it. */
export interface ReplicaTable {
  readonly name: string;
  readonly plan: TablePlan;
  /** Stored columns, in table order; a canonical row has a value for each. */
  readonly codecs: readonly ColumnCodec[];
  /** Positions of all stored columns. */
  readonly all: readonly number[];
  /** Positions of all stored columns but the surrogate: what equal rows have in common where ids are the replica's own. */
  readonly compared: readonly number[];
  readonly surrogate: number | null;
  /**
   * Positions of the columns that name a row, unless one of them is NULL, to the source and to us: a unique key, if only the
   * surrogate; null: the whole row.
   */
  readonly identity: readonly number[] | null;
  /** Positions of the columns by which exactly one row of this database is found; null: there is no such key. */
  readonly rowKey: readonly number[] | null;
  /** A digest of what decides which rows it can hold: columns and unique keys. */
  readonly shape: string;
}

export interface ReplicaSchema {
  /** Parents before children. */
  readonly tables: readonly ReplicaTable[];
  readonly byName: ReadonlyMap<string, ReplicaTable>;
  readonly typed: ReadonlyMap<string, TypedTable>;
  /** Returns whether a table never travels, or this replica does not keep it, whether it is here or not. */
  readonly isLocal: (name: string) => boolean;
  /** Layout of the hashes in the replica's own `blocks` table; null before there is one. */
  readonly heads: HeadLayout | null;
  /** The replica keeps these tables alone, without blocks; null: all. */
  readonly only: ReadonlySet<string> | null;
}

/** Reads the replica's own schema, which decides how each table is written. */
export async function readReplicaSchema(
  connection: Connection,
  dbType: DbType,
  localTables: readonly string[],
  only: ReadonlySet<string> | null = null
): Promise<ReplicaSchema> {
  const layout = await readLayout(connection, dbType, localTables);
  const typed = new Map(layout.tables.map((table) => [table.name, table]));
  const tables = layout.plans.map((plan) => replicaTable(plan, typed.get(plan.name)!));
  const byName = new Map(tables.map((table) => [table.name, table]));
  const isLocal = (name: string) =>
    UNSEEN.has(classByName(name, dbType, localTables) ?? '') || (only !== null && !only.has(name));
  return { tables, byName, typed, isLocal, heads: layout.heads, only };
}

/** Returns whether a table is replicated. */
export function travels({ plan }: ReplicaTable): boolean {
  return !UNSEEN.has(plan.class);
}

/** Returns the table when its rows are ours to write. @throws {PlatformError} SOURCE_INVALID when it is unknown */
export function findTable(schema: ReplicaSchema, name: string): ReplicaTable | null {
  const table = schema.byName.get(name);
  if (!table && schema.isLocal(name)) return null;
  if (!table)
    throw new PlatformError('SOURCE_INVALID', { reason: `the source sent rows of unknown table ${name.slice(0, 64)}` });
  return travels(table) && table.plan.class !== 'snapshotOnly' ? table : null;
}

/** Returns whether the replica has every table and column that these rows name; it need not have local ones. */
export function describes(schema: ReplicaSchema, given: WireRows | undefined): boolean {
  return Object.entries(given ?? {}).every(([name, list]) => {
    const table = schema.byName.get(name);
    if (!table || !travels(table)) return schema.isLocal(name);
    const known = new Set(table.plan.columns.map((column) => column.name));
    return Object.keys(list[0] ?? {}).every((column) => known.has(column));
  });
}

function replicaTable(plan: TablePlan, table: TypedTable): ReplicaTable {
  const keyColumns = new Set(table.keys.flatMap((key) => key.columns.map(({ name }) => name)));
  const codecs = plan.storedColumns.map((column) => columnCodec(column, keyColumns));
  const position = new Map(codecs.map(({ name }, index) => [name, index]));
  const positions = (names: readonly string[]) => names.map((name) => position.get(name)!);
  const surrogate = plan.surrogate === null ? null : position.get(plan.surrogate)!;
  const isKey = table.keys.some(
    ({ unique, columns }) => unique && columns.length === 1 && columns[0]!.name === plan.surrogate
  );
  const named = plan.identity ?? (isKey ? [plan.surrogate!] : null);
  return {
    name: plan.name,
    plan,
    codecs,
    all: codecs.map((_, index) => index),
    compared: positions(plan.storedColumns.map(({ name }) => name).filter((name) => name !== plan.surrogate)),
    surrogate,
    identity: named === null ? null : positions(named),
    rowKey: findRowKey(table, position),
    shape: shapeOf(table)
  };
}

function shapeOf({ columns, keys }: TypedTable): string {
  // A server lists keys in an order of its own.
  const unique = keys.flatMap((key) => (key.unique ? [JSON.stringify(key.columns)] : [])).sort();
  const facts = columns.map(({ name, type, nullable, collation, generated }) => [
    name,
    type,
    nullable,
    collation,
    generated
  ]);
  return hash('sha256', JSON.stringify([facts, unique]), 'hex').slice(0, 16);
}

function findRowKey(table: TypedTable, position: ReadonlyMap<string, number>): readonly number[] | null {
  const nullable = new Set(table.columns.filter((column) => column.nullable).map(({ name }) => name));
  const usable = table.keys.filter(
    (key) =>
      key.unique &&
      key.columns.every(({ name, prefix }) => prefix === null && !nullable.has(name) && position.has(name))
  );
  const key = usable.find(({ name }) => name === 'PRIMARY') ?? usable[0];
  return key ? key.columns.map(({ name }) => position.get(name)!) : null;
}

/**
 * Returns a row of the wire in its table's canonical form.
 *
 * @throws {PlatformError} SOURCE_INVALID when a column is missing, unknown, or of the wrong shape
 */
export function canonicalRow(table: ReplicaTable, row: WireRow): CanonicalRow {
  if (typeof row !== 'object' || row === null) throw wrongRow(table, 'is no object');
  const values = table.codecs.map((codec) => {
    const value = row[codec.name];
    if (value === undefined || (codec.name in Object.prototype && !Object.hasOwn(row, codec.name)))
      throw wrongRow(table, `lacks column ${codec.name}`);
    return canonicalValue(codec, value);
  });
  const { columns } = table.plan;
  if (Object.keys(row).length > columns.length) {
    const known = new Set(columns.map(({ name }) => name));
    const unknown = Object.keys(row).find((name) => !known.has(name)) ?? '';
    throw wrongRow(table, `has column ${unknown.slice(0, 64)}, which the replica does not have`);
  }
  return values;
}

function wrongRow(table: ReplicaTable, what: string): PlatformError {
  return new PlatformError('SOURCE_INVALID', { reason: `a row of ${table.name} ${what}`, table: table.name });
}

/** Joins the values at some positions into one text, different for different values. */
export function keyText(row: CanonicalRow, positions: readonly number[]): string {
  let text = '';
  for (const position of positions) {
    const value = row[position]!;
    text += value === null ? 'n' : `${value.length}:${value}`;
  }
  return text;
}
