import { PlatformError } from '../errors.ts';
import { type Differences, findDifferences, type RowDifference } from './differences.ts';
import { readComparesIds } from './ids.ts';
import { isInPart, type Part, readPart } from './part.ts';
import { rowHash } from './row-text.ts';
import { readSchema, type Schema, schemaDifferences } from './schema.ts';
import { isControl, isLocal, type Selection, selectFrom } from './selection.ts';
import { type Coordinates, parseDatabaseUrl, quoted, Side } from './side.ts';

/** Options of a comparison. */
export interface CompareOptions {
  /** Compare only this table. */
  readonly table?: string;
  /** Differing rows listed per table; default 20. */
  readonly limit?: number;
  /**
   * Also require equality of tables with a height of their own (a decoder's `dispensers`), and of the order of rows
   * within a block or action.
   */
  readonly strict?: boolean;
  /** Whether the order of rows is looked at, which takes as long as the rows; default true. */
  readonly order?: boolean;
  /** Compare AUTO_INCREMENT ids in every table, even when the replica's marker says that its ids are its own. */
  readonly ids?: boolean;
  /** Further tables that are never replicated. */
  readonly local?: readonly string[];
}

/** A value of each side. */
interface Pair<T> {
  readonly source: T;
  readonly replica: T;
}

/** Result for one table. */
export interface TableVerdict {
  readonly table: string;
  readonly equal: boolean;
  /** The table has a height of its own. Unless strict, only its definition counts. */
  readonly asOf: boolean;
  /** The replica keeps its own AUTO_INCREMENT ids in this table, which were not compared. */
  readonly ownIds: boolean;
  readonly rows: Pair<number | null>;
  /** Sum of 64 bits per row, decimal; null when the table is missing. */
  readonly digest: Pair<string | null>;
  /** Whether rows of one block or action stand in the same order of ids, if that was looked at. Unless strict, it does not count. */
  readonly sameOrder: boolean;
  readonly schema: readonly string[];
  readonly differences: readonly RowDifference[];
  readonly more: boolean;
}

/** Result of a comparison. */
export interface Verdict {
  /** Whether every compared table is equal in definition and content, at the same height. */
  readonly equal: boolean;
  /** Highest `blocks.block_index`; null when there is none. */
  readonly heights: Pair<number | null>;
  /** The part of the source that the replica holds; only that is compared. Null when it holds all. */
  readonly part: Part | null;
  readonly tables: readonly TableVerdict[];
  readonly durationMs: number;
}

/**
 * Compares a source with its replica row by row, each in one consistent snapshot.
 *
 * It shares no code with the replication, so that it cannot share its faults.
 *
 * @throws {PlatformError} COMMAND_INVALID for a wrong URL or unknown table; DATABASE_UNAVAILABLE
 */
export async function compareDatabases(
  source: string | Coordinates,
  replica: string | Coordinates,
  options: CompareOptions = {}
): Promise<Verdict> {
  const startedAt = performance.now();
  const [from, to] = [source, replica].map((side) => (typeof side === 'string' ? parseDatabaseUrl(side) : side));
  const sourceSide = await Side.open('source', from!);
  try {
    const replicaSide = await Side.open('replica', to!);
    try {
      const verdict = await compareSides(sourceSide, replicaSide, options);
      return { ...verdict, durationMs: Math.round(performance.now() - startedAt) };
    } finally {
      replicaSide.close();
    }
  } finally {
    sourceSide.close();
  }
}

async function compareSides(
  source: Side,
  replica: Side,
  options: CompareOptions
): Promise<Omit<Verdict, 'durationMs'>> {
  const [sourceSchema, replicaSchema] = await Promise.all([readSchema(source), readSchema(replica)]);
  const part = await readPart(replica, replicaSchema);
  const comparesIds = options.ids ? () => true : await readComparesIds(replica, replicaSchema);
  const sourceHeight = await heightOf(source, sourceSchema);
  const replicaHeight = part?.infraOnly ? part.height : await heightOf(replica, replicaSchema);
  const tables: TableVerdict[] = [];
  for (const name of tableNames(sourceSchema, replicaSchema, part, options))
    tables.push(
      await compareTable(source, replica, sourceSchema, replicaSchema, part, name, comparesIds(name), options)
    );
  const isFine = ({ equal, asOf, sameOrder, schema }: TableVerdict) =>
    options.strict ? equal && sameOrder : equal || (asOf && schema.length === 0);
  return {
    equal: sourceHeight === replicaHeight && tables.every(isFine),
    heights: { source: sourceHeight, replica: replicaHeight },
    part,
    tables
  };
}

async function heightOf(side: Side, { tables }: Schema): Promise<number | null> {
  if (!tables.get('blocks')?.columns.some(({ name }) => name === 'block_index')) return null;
  const [row] = await side.select<[number | null]>('SELECT MAX(block_index) FROM blocks');
  return row?.[0] ?? null;
}

/** Returns the tables of either side that should be equal. */
function tableNames(
  source: Schema,
  replica: Schema,
  part: Part | null,
  { table, local = [] }: CompareOptions
): string[] {
  if (table !== undefined && !source.tables.has(table) && !replica.tables.has(table))
    throw new PlatformError('COMMAND_INVALID', { reason: `neither database has a table ${table}` });
  const further = new Set(local);
  const extra = [...replica.tables.keys()].filter((name) => !source.tables.has(name) && !isControl(name));
  return [...source.tables.keys(), ...extra]
    .filter((name) => (table === undefined ? !isLocal(name, further) && isInPart(part, name) : name === table))
    .sort();
}

async function compareTable(
  source: Side,
  replica: Side,
  sourceSchema: Schema,
  replicaSchema: Schema,
  part: Part | null,
  name: string,
  ids: boolean,
  { limit = 20, local = [], order = true }: CompareOptions
): Promise<TableVerdict> {
  const [a, b] = [sourceSchema.tables.get(name), replicaSchema.tables.get(name)];
  if (!a || !b) {
    const rows = a
      ? { source: await countRows(source, name), replica: null }
      : { source: null, replica: await countRows(replica, name) };
    const schema = [`the table is ${a ? 'missing in' : 'only in'} the replica`];
    return {
      table: name,
      equal: false,
      asOf: false,
      ownIds: false,
      rows,
      digest: { source: null, replica: null },
      sameOrder: false,
      schema,
      differences: [],
      more: false
    };
  }
  // Each side makes the control tables itself, with the definitions of its own release or program.
  const schema = isControl(name) ? [] : schemaDifferences(a, b);
  const selection = selectFrom(a, b, sourceSchema, part, { local: new Set(local), ids });
  const [left, right] = await Promise.all([digestOf(source, selection), digestOf(replica, selection)]);
  const same = left.rows === right.rows && left.digest === right.digest;
  const found: Differences = same
    ? { rows: [], more: false }
    : await findDifferences(source, replica, selection, limit);
  return {
    table: name,
    equal: same && schema.length === 0,
    asOf: selection.asOf,
    ownIds: selection.ownIds,
    rows: { source: left.rows, replica: right.rows },
    digest: { source: left.digest, replica: right.digest },
    sameOrder: same && (!order || (await orderDigest(source, selection)) === (await orderDigest(replica, selection))),
    schema,
    differences: found.rows,
    more: found.more
  };
}

async function digestOf(side: Side, { from, columns }: Selection): Promise<{ rows: number; digest: string }> {
  const [row] = await side.select<[number, string]>(
    `SELECT COUNT(*), CAST(COALESCE(SUM(${rowHash(columns)}), 0) AS CHAR) FROM ${from}`
  );
  return { rows: Number(row![0]), digest: row![1] };
}

/** Returns a digest of the rows with each row's position within its block or action. */
async function orderDigest(side: Side, { from, columns, order }: Selection): Promise<string> {
  if (order === null) return '';
  const place = `ROW_NUMBER() OVER (PARTITION BY ${quoted(order.scope)} ORDER BY ${quoted(order.by)})`;
  const [row] = await side.select<[string]>(
    `SELECT CAST(COALESCE(SUM(CRC32(CONCAT(hash, ' ', place))), 0) AS CHAR)
     FROM (SELECT ${rowHash(columns)} AS hash, ${place} AS place FROM ${from}) placed`
  );
  return row![0];
}

async function countRows(side: Side, name: string): Promise<number> {
  const [row] = await side.select<[number]>(`SELECT COUNT(*) FROM ${quoted(name)}`);
  return Number(row![0]);
}
