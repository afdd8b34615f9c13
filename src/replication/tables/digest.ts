import { type Connection, quoteName, rows, type SqlRow } from '../../db/connection.ts';
import { keyLiteral } from '../../db/keys.ts';
import { positionHexSql, positionSql, selectList, wordSql } from '../../db/row-codec.ts';
import { streamRows } from '../../db/row-stream.ts';
import { areDoubtful } from '../../db/wire-rows.ts';
import { PlatformError } from '../../errors.ts';
import {
  type DigestRange,
  MAX_RANGE_BYTES,
  MAX_RANGE_ROWS,
  MAX_RANGES,
  type RangeDigest
} from '../../wire/data/digest.ts';
import type { TableClass, TypedColumn, TypedTable } from '../../wire/data/schema.ts';
import { comparedColumns, type TablePlan } from './classify.ts';
import { scopeSql } from './scope-sql.ts';
import type { SourceLayout } from './source-layout.ts';
import { readUnrecorded } from './transparency-log.ts';

/** The highest position by hash, and how many of them one of 4096 equal ranges has. */
const LAST_HASH = 2 ** 32 - 1;
const WHOLE_WIDTH = 2 ** 32 / MAX_RANGES;
/** The position of rows without a block. */
const NO_BLOCK = -1;
const INTEGER = /^(tiny|small|medium|big)?int\b/i;
const COMPARED_CLASSES: ReadonlySet<TableClass> = new Set(['scoped', 'lookup', 'mutable', 'derived']);
/** Columns of the transparency log that are compared; ids and times of logging are each side's own. */
const LOGGED = new Set(['block_index', 'block_time', 'ledger_hash', 'actions_hash', 'contract_hash']);

/** One table's digest with the ranges that it is the sum of. */
export interface TableDigests {
  readonly table: string;
  readonly class: TableClass;
  readonly rows: number;
  readonly digest: string;
  readonly ranges: readonly RangeDigest[];
}

/** Plan by which one table is compared at a height. */
export interface DigestPlan extends TablePlan {
  /** Rows of scoped tables that lie above it are ahead: together at the position above it. */
  readonly tip: number;
  /** AUTO_INCREMENT ids count. */
  readonly withIds: boolean;
}

/** Returns the tables that two sides compare, and how: the transparency log counts as scoped by block. */
export function digestPlans(layout: SourceLayout, height: number): DigestPlan[] {
  return layout.plans
    .map((plan) => (plan.name === 'sync_meta' && layout.dbType === 'indexer' ? logPlan(plan) : plan))
    .filter((plan) => COMPARED_CLASSES.has(plan.class))
    .map((plan) => ({ ...plan, tip: height, withIds: true }));
}

function logPlan(plan: TablePlan): TablePlan {
  const columns = plan.columns.filter(({ name }) => LOGGED.has(name));
  const scope = { column: 'block_index', parent: null } as const;
  return { ...plan, class: 'scoped', columns, storedColumns: columns, scope, identity: ['block_index'] };
}

/** Observes, and may delay, the statements that read ranges. */
interface Reading {
  /** Called with the number of rows that each statement read. */
  readonly onRead?: ((rows: number) => void) | undefined;
  /** Begins a statement when others that share MariaDB's time have had theirs. Default: at once. */
  readonly inTurn?: <T>(statement: () => Promise<T>) => Promise<T>;
}

/**
 * Reads rows and digests of all tables at a height, each range by range. Run it in a consistent snapshot.
 *
 * @param key 32 hex digits that nobody knew when the rows were written
 * @param covers false for tables that are left out
 */
export async function readDigests(
  connection: Connection,
  layout: SourceLayout,
  height: number,
  key: string,
  {
    signal,
    covers = () => true,
    ...reading
  }: Reading & { readonly signal?: AbortSignal; readonly covers?: (table: string) => boolean } = {}
): Promise<TableDigests[]> {
  const tables: TableDigests[] = [];
  for (const plan of digestPlans(layout, height)) {
    signal?.throwIfAborted();
    if (!covers(plan.name)) continue;
    if (plan.name === 'sync_meta' && !(await reachesTip(connection, layout, height))) continue;
    const ranges = await readRanges(connection, layout.tables, plan, wholeTable(plan), key, reading);
    tables.push({ table: plan.name, class: plan.class, ...sumOf(ranges), ranges });
  }
  return tables;
}

/**
 * Returns whether a source's log reaches the tip. It follows the blocks by a poll, and after a reorg it may still tell
 * of the other branch; until then, and where it is not kept, it cannot be compared.
 */
async function reachesTip(connection: Connection, { heads }: SourceLayout, height: number): Promise<boolean> {
  return heads !== null && (await readUnrecorded(connection, heads, height, height)).length === 0;
}

/** Returns rows and digest of ranges together. */
export function sumOf(ranges: readonly RangeDigest[]): { readonly rows: number; readonly digest: string } {
  let [count, sum] = [0, 0n];
  for (const { rows: ofRange, digest } of ranges) {
    count += ofRange;
    sum += BigInt(digest);
  }
  return { rows: count, digest: String(sum) };
}

/** Returns all positions that rows of a table can have; the log has only blocks that exist. */
export function wholeTable({ name, class: tableClass, tip }: DigestPlan): DigestRange {
  if (tableClass !== 'scoped') return { from: 0, to: LAST_HASH, block: null };
  return { from: NO_BLOCK, to: name === 'sync_meta' ? tip : tip + 1, block: null };
}

/**
 * Returns the range to ask for in parts when its rows are too many.
 *
 * @returns null when it cannot be divided: its rows are equal, or as good as
 */
export function dividable(plan: DigestPlan, { from, to, block }: DigestRange): DigestRange | null {
  if (to > from) return { from, to, block };
  return plan.class === 'scoped' && block === null ? { from: 0, to: LAST_HASH, block: from } : null;
}

/** Digests of the at most 4096 equal parts of a range; parts without rows are left out. */
export async function readRanges(
  connection: Connection,
  tables: readonly TypedTable[],
  plan: DigestPlan,
  range: DigestRange,
  key: string,
  { onRead = () => undefined, inTurn = (statement) => statement() }: Reading = {}
): Promise<RangeDigest[]> {
  const width = Math.ceil((range.to - range.from + 1) / MAX_RANGES);
  const { from, position, where, isByHash } = place(plan, tables, range, key);
  // The first digits of the hash are the range: no arithmetic for each row of a whole table.
  const inHex = isByHash && width === WHOLE_WIDTH;
  const slotOf = inHex ? hexPosition(plan, key, 3) : `(${position} - ${range.from}) DIV ${width}`;
  const found = new Map<number, RangeDigest>();
  for (const stretch of await stretchesOf(connection, tables, plan, range)) {
    const select = `SELECT ${slotOf} AS slot, COUNT(*) AS n, SUM(${word(plan, key)}) AS digest`;
    const sums = await inTurn(() => rows(connection, `${select} FROM ${from} WHERE ${where}${stretch} GROUP BY 1`));
    for (const { slot, n, digest } of sums) {
      const start = range.from + (inHex ? Number.parseInt(String(slot), 16) : Number(slot)) * width;
      const known = found.get(start);
      const sum = { rows: Number(n), digest: String(digest) };
      const all = known ? sumOf([known, { ...known, ...sum }]) : sum;
      found.set(start, { from: start, to: Math.min(range.to, start + width - 1), ...all });
    }
    onRead(sums.reduce((count, { n }) => count + Number(n), 0));
  }
  return [...found.values()].sort((a, b) => a.from - b.from);
}

/** Values of one statement, so that none takes a minute, and the most statements for one table. */
const STRETCH_VALUES = 500_000n;
const MOST_STRETCHES = 100n;

/**
 * Conditions that divide what is read of a table, each behind another condition: stretches of the number by which the table is stored,
 * so that all of them together read it once.
 */
async function stretchesOf(
  connection: Connection,
  tables: readonly TypedTable[],
  plan: DigestPlan,
  { from, to, block }: DigestRange
): Promise<readonly string[]> {
  const whole = wholeTable(plan);
  const [column] =
    tables.find(({ name }) => name === plan.name)?.keys.find(({ name }) => name === 'PRIMARY')?.columns ?? [];
  const type = plan.columns.find(({ name }) => name === column?.name)?.type ?? '';
  // An index leads to the blocks of a range; positions by hash are read from all rows.
  const readsAll = block === null && (plan.class !== 'scoped' || (from <= whole.from && to >= whole.to));
  if (!readsAll || !column || !INTEGER.test(type)) return [''];
  const value = `r.${quoteName(column.name)}`;
  const [ends] = await rows(
    connection,
    `SELECT MIN(${value}) AS low, MAX(${value}) AS high FROM ${quoteName(plan.name)} r`
  );
  if (ends?.['low'] == null) return [''];
  const [low, high] = [BigInt(String(ends['low'])), BigInt(String(ends['high']))];
  const least = (high - low) / MOST_STRETCHES + 1n;
  const width = least > STRETCH_VALUES ? least : STRETCH_VALUES;
  const stretches: string[] = [];
  for (let first = low; first <= high; first += width)
    stretches.push(` AND ${value} BETWEEN ${first} AND ${first + width - 1n}`);
  return stretches;
}

/** Rows of a range in wire form, with their digest. */
interface RangeContent {
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
  plan: DigestPlan,
  range: DigestRange,
  key: string,
  { bounded }: { readonly bounded: boolean } = { bounded: true }
): Promise<RangeContent> {
  const { from, where } = place(plan, tables, range, key);
  const columns = plan.storedColumns;
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
  for (const texts of ['plain', 'marked'] as const) {
    [sum, bytes, found.length] = [0n, 0, 0];
    const sql = `SELECT ${selectList(columns, 'r', texts)}, ${word(plan, key)} AS ${quoteName(HASH_ALIAS)} FROM ${from} WHERE ${where}`;
    await streamRows(
      connection,
      { table: plan.name, columns, sql, values: [] },
      take,
      new AbortController().signal,
      texts
    );
    if (!areDoubtful(found, columns)) break;
  }
  return { rows: found, digest: String(sum) };
}

/** Alias of a form that no column's name can have. */
const HASH_ALIAS = '#hash';

function tooLarge({ name }: TablePlan, { from, to }: DigestRange): PlatformError {
  const reason = `positions ${from} to ${to} of ${name} hold more than ${MAX_RANGE_ROWS} rows or ${MAX_RANGE_BYTES} bytes: ask for the ranges within`;
  return new PlatformError('RANGE_TOO_LARGE', { reason, table: name });
}

interface Place {
  readonly from: string;
  readonly position: string;
  readonly where: string;
  /** Positions are hashes, not blocks. */
  readonly isByHash: boolean;
}

/** Returns SQL for the rows (alias `r`) of a range, and for their positions. */
function place(
  plan: DigestPlan,
  tables: readonly TypedTable[],
  { from: first, to: last, block }: DigestRange,
  key: string
): Place {
  const position = hashPosition(plan, key);
  const within = hashCondition(hexPosition(plan, key, 8), first, last);
  if (plan.class !== 'scoped') return { from: `${quoteName(plan.name)} r`, position, where: within, isByHash: true };
  // Rows without a block, or without the parent that says it: where they are not asked for, an index can lead to the others.
  const source = scopeSql(plan, tables, (block ?? first) === NO_BLOCK);
  const inBlocks = (from: number, to: number) => blockCondition(source.block, plan.tip, from, to);
  if (block !== null)
    return { from: source.from, position, where: `${inBlocks(block, block)} AND ${within}`, isByHash: true };
  const clipped = `LEAST(GREATEST(CAST(${source.block} AS SIGNED), ${NO_BLOCK}), ${plan.tip + 1})`;
  return { from: source.from, position: clipped, where: inBlocks(first, last), isByHash: false };
}

/** Returns the condition for positions by hash between two numbers, compared by their eight hex digits. */
function hashCondition(hex: string, first: number, last: number): string {
  if (first <= 0 && last >= LAST_HASH) return 'TRUE';
  if (first > LAST_HASH || last < 0) return 'FALSE';
  const digits = (of: number) => of.toString(16).padStart(8, '0');
  return `${hex} BETWEEN '${digits(Math.max(first, 0))}' AND '${digits(Math.min(last, LAST_HASH))}'`;
}

/** Returns the condition for blocks between two numbers. One below 0 is no block, and those above the tip are one position. */
function blockCondition(block: string, tip: number, first: number, last: number): string {
  const parts = [
    ...(first === NO_BLOCK ? [] : [`${block} >= ${first}`]),
    ...(last > tip ? [] : [last === NO_BLOCK ? `${block} < 0` : `${block} <= ${last}`])
  ];
  return parts.length === 0 ? 'TRUE' : parts.join(' AND ');
}

/** Returns SQL for the position of a row: the same on both sides whatever the rest of the row says. */
function hashPosition(plan: DigestPlan, key: string): string {
  return positionSql(keyLiteral(key), identityOf(plan), 'r');
}

function hexPosition(plan: DigestPlan, key: string, digits: 3 | 8): string {
  return positionHexSql(keyLiteral(key), identityOf(plan), digits, 'r');
}

function word(plan: DigestPlan, key: string): string {
  return wordSql(keyLiteral(key), byName(countedColumns(plan)), 'r');
}

function countedColumns(plan: DigestPlan): readonly TypedColumn[] {
  return plan.withIds ? plan.storedColumns : comparedColumns(plan);
}

/** Returns the columns that decide a row's position; the id alone, if nothing else names a row. */
function identityOf(plan: DigestPlan): readonly TypedColumn[] {
  const names = plan.identity ?? (plan.withIds && plan.surrogate !== null ? [plan.surrogate] : null);
  return byName(names ? plan.storedColumns.filter(({ name }) => names.includes(name)) : countedColumns(plan));
}

/** Sorts columns by name: two servers may have them in another order. */
function byName(columns: readonly TypedColumn[]): readonly TypedColumn[] {
  return [...columns].sort((a, b) => (a.name < b.name ? -1 : 1));
}
