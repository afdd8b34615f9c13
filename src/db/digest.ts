import { PlatformError } from '../errors.ts';
import { type DigestRange, MAX_RANGE_BYTES, MAX_RANGE_ROWS, MAX_RANGES, type RangeDigest } from '../wire/digest.ts';
import type { TableClass, TypedColumn, TypedTable } from '../wire/schema.ts';
import { comparedColumns, type TablePlan } from './classify.ts';
import { type Connection, quoteName, rows, type SqlRow } from './connection.ts';
import { canonicalTextSql, selectList } from './row-codec.ts';
import { streamRows } from './row-stream.ts';
import { scopeSql } from './scope-sql.ts';
import type { SourceLayout } from './source-layout.ts';
import { readUnrecorded } from './transparency-log.ts';

/** The highest position by hash. */
const LAST_HASH = 2 ** 32 - 1;
const COMPARED_CLASSES: ReadonlySet<TableClass> = new Set(['scoped', 'lookup', 'mutable', 'derived']);
/** What the transparency log says of a block; its ids and times of logging are each side's own. */
const LOGGED = new Set(['block_index', 'block_time', 'ledger_hash', 'actions_hash', 'contract_hash']);

/** One table's digest with the ranges that it is the sum of. */
export interface TableFigures {
  readonly table: string;
  readonly class: TableClass;
  readonly rows: number;
  readonly digest: string;
  readonly ranges: readonly RangeDigest[];
}

/** The tables that two sides compare, and how: the transparency log counts as scoped by block. */
export function digestPlans(layout: SourceLayout): TablePlan[] {
  return layout.plans
    .map((plan) => (plan.name === 'sync_meta' && layout.dbType === 'indexer' ? logPlan(plan) : plan))
    .filter((plan) => COMPARED_CLASSES.has(plan.class));
}

function logPlan(plan: TablePlan): TablePlan {
  const columns = plan.columns.filter(({ name }) => LOGGED.has(name));
  const scope = { column: 'block_index', parent: null } as const;
  return { ...plan, class: 'scoped', columns, storedColumns: columns, scope, identity: ['block_index'] };
}

/** Rows and digests of all tables up to a height, each range by range. Run it in a consistent snapshot. */
export async function readDigests(
  connection: Connection,
  layout: SourceLayout,
  height: number,
  signal?: AbortSignal
): Promise<TableFigures[]> {
  const tables: TableFigures[] = [];
  for (const plan of digestPlans(layout)) {
    signal?.throwIfAborted();
    if (plan.name === 'sync_meta' && !(await reachesTip(connection, layout, height))) continue;
    const ranges = await readRanges(connection, layout.tables, plan, wholeTable(plan, height));
    tables.push({ table: plan.name, class: plan.class, ...sumOf(ranges), ranges });
  }
  return tables;
}

/**
 * A source's log follows its blocks by a poll, and after a reorg it may still tell of the other branch; until then, and where
 * it is not kept, it cannot be compared.
 */
async function reachesTip(connection: Connection, { heads }: SourceLayout, height: number): Promise<boolean> {
  return heads !== null && (await readUnrecorded(connection, heads, height, height)).length === 0;
}

/** Rows and digest of ranges together. */
export function sumOf(ranges: readonly RangeDigest[]): { readonly rows: number; readonly digest: string } {
  let [count, sum] = [0, 0n];
  for (const { rows: ofRange, digest } of ranges) {
    count += ofRange;
    sum += BigInt(digest);
  }
  return { rows: count, digest: String(sum) };
}

/** All positions that rows of a table can have. */
export function wholeTable({ class: tableClass }: TablePlan, height: number): DigestRange {
  return tableClass === 'scoped' ? { from: -1, to: height, block: null } : { from: 0, to: LAST_HASH, block: null };
}

/**
 * What to ask for when the rows of a range are too many.
 *
 * @returns null when it cannot be divided: its rows are equal, or as good as
 */
export function dividable(plan: TablePlan, { from, to, block }: DigestRange): DigestRange | null {
  if (to > from) return { from, to, block };
  return plan.class === 'scoped' && block === null && from >= 0 ? { from: 0, to: LAST_HASH, block: from } : null;
}

/** Digests of the at most 4096 equal parts of a range; parts without rows are left out. */
export async function readRanges(
  connection: Connection,
  tables: readonly TypedTable[],
  plan: TablePlan,
  range: DigestRange
): Promise<RangeDigest[]> {
  const width = Math.ceil((range.to - range.from + 1) / MAX_RANGES);
  const { from, position, where } = place(plan, tables, range);
  const found = await rows(
    connection,
    `SELECT (${position} - ${range.from}) DIV ${width} AS slot, COUNT(*) AS n, SUM(${rowHash(plan)}) AS digest FROM ${from} WHERE ${where} GROUP BY 1`
  );
  return found
    .map(({ slot, n, digest }) => {
      const start = range.from + Number(slot) * width;
      return { from: start, to: Math.min(range.to, start + width - 1), rows: Number(n), digest: String(digest) };
    })
    .sort((a, b) => a.from - b.from);
}

/** Rows of a range in wire form, with their digest. */
export interface RangeContent {
  readonly rows: SqlRow[];
  readonly digest: string;
}

/**
 * @param bounded refuses more than one answer may hold
 * @throws {PlatformError} RANGE_TOO_LARGE above 20,000 rows or 16 MiB; the connection is of no use then
 */
export async function readRangeRows(
  connection: Connection,
  tables: readonly TypedTable[],
  plan: TablePlan,
  range: DigestRange,
  { bounded }: { readonly bounded: boolean } = { bounded: true }
): Promise<RangeContent> {
  const { from, where } = place(plan, tables, range);
  const list = [
    ...plan.storedColumns.map((column) => selectList([column], 'r')),
    `${rowHash(plan)} AS ${quoteName(HASH_ALIAS)}`
  ];
  const sql = `SELECT ${list.join(', ')} FROM ${from} WHERE ${where}`;
  const found: SqlRow[] = [];
  let [sum, bytes] = [0n, 0];
  const take = (row: SqlRow): undefined => {
    sum += BigInt(String(row[HASH_ALIAS]));
    delete row[HASH_ALIAS];
    if (bounded) bytes += JSON.stringify(row).length;
    if (bounded && (found.length >= MAX_RANGE_ROWS || (found.length > 0 && bytes > MAX_RANGE_BYTES)))
      throw tooLarge(plan, range);
    found.push(row);
  };
  const read = { table: plan.name, columns: plan.storedColumns, sql, values: [] };
  await streamRows(connection, read, take, new AbortController().signal);
  return { rows: found, digest: String(sum) };
}

/** Of another form than the names that travel, so that no column has it. */
const HASH_ALIAS = '#hash';

function tooLarge({ name }: TablePlan, { from, to }: DigestRange): PlatformError {
  const reason = `positions ${from} to ${to} of ${name} hold more than ${MAX_RANGE_ROWS} rows or ${MAX_RANGE_BYTES} bytes: ask for the ranges within`;
  return new PlatformError('RANGE_TOO_LARGE', { reason, table: name });
}

/** Where the rows (alias `r`) of a range are, and what their positions are. */
function place(
  plan: TablePlan,
  tables: readonly TypedTable[],
  { from: first, to: last, block }: DigestRange
): { readonly from: string; readonly position: string; readonly where: string } {
  if (plan.class === 'scoped') {
    // Rows whose parent is not there have no block; where they are not asked for, an index can lead to the others.
    const source = scopeSql(plan, tables, first < 0);
    if (block === null) {
      // A number below 0 is no block either.
      const where = first < 0 ? `${source.block} <= ${last}` : `${source.block} BETWEEN ${first} AND ${last}`;
      return { from: source.from, position: `GREATEST(CAST(${source.block} AS SIGNED), -1)`, where };
    }
    const position = hashPosition(plan);
    return {
      from: source.from,
      position,
      where: `${source.block} = ${block} AND ${position} BETWEEN ${first} AND ${last}`
    };
  }
  const position = hashPosition(plan);
  const isWhole = first === 0 && last === LAST_HASH;
  return {
    from: `${quoteName(plan.name)} r`,
    position,
    where: isWhole ? 'TRUE' : `${position} BETWEEN ${first} AND ${last}`
  };
}

/** The same on both sides whatever the rest of the row says. */
function hashPosition(plan: TablePlan): string {
  const columns = plan.identity
    ? plan.storedColumns.filter(({ name }) => plan.identity!.includes(name))
    : comparedColumns(plan);
  return `CRC32(${rowText(columns)})`;
}

/**
 * The product of two CRCs with different polynomials: 64 bits, at half the cost of a cryptographic hash. A CRC alone is linear: rows
 * that swap a value would too often leave a sum as it was; products tell them.
 */
function rowHash(plan: TablePlan): string {
  const text = rowText(comparedColumns(plan));
  return `CRC32(${text}) * CRC32C(${text})`;
}

/** The canonical text of some columns, in the order of their names. */
function rowText(columns: readonly TypedColumn[]): string {
  if (columns.length === 0) return "''";
  const sorted = [...columns].sort((a, b) => (a.name < b.name ? -1 : 1));
  return canonicalTextSql(sorted, 'r');
}
