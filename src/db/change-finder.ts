import { comparedColumns, type TablePlan } from './classify.ts';
import { type Connection, quoteName, rows, type SqlRow } from './connection.ts';
import { BINARY_KEY, rowHashSql, selectList, toWireRows } from './row-codec.ts';
import { type Figure, figureCount, readTableFigure, rowOrder } from './scope-sql.ts';
import { planSignature, type SourceLayout } from './source-layout.ts';
import { inCharset } from './sql-literal.ts';

/** A larger table is not remembered row by row. */
const MUTABLE_MAX_ROWS = 2_000_000;
/** A larger table is not sent whole: no message could hold it. */
const WHOLE_MAX_ROWS = 500_000;
/** A derived table up to this size goes whole when its rows are not known; of a larger one, what the group's rows touch. */
export const DERIVED_WHOLE_ROWS = 20_000;
/** Keys of one SELECT. */
const KEYS_AT_ONCE = 500;

/** What was last broadcast of a table that replicates by content. */
export interface TableMemory {
  readonly signature: string;
  /** Null: not known. */
  readonly figure: Figure | null;
  /** Key text to row hash; without an identity the row hash stands for the key, and the value is how often it occurs. Null: not kept. */
  readonly rows: ReadonlyMap<string, number> | null;
  /** Highest AUTO_INCREMENT id, for tables without an identity. */
  readonly lastId: number;
}

/** Keys of rows, as JSON text of their identity columns. */
export type Keys = ReadonlySet<string>;

/** How a table's content differs from what was last broadcast. */
export interface TableChange {
  readonly updated: SqlRow[];
  /** Identity columns only. */
  readonly deleted: SqlRow[];
  /** `updated` holds every row there is. */
  readonly whole: boolean;
  /** Keys in `updated` and `deleted`; null when the table went whole. */
  readonly touched: Keys | null;
  readonly memory: TableMemory;
  /** A sentence when the change could not be carried. */
  readonly gap: string | null;
}

/** The key text of a row in wire form. */
export function keyText(row: SqlRow, identity: readonly string[]): string {
  return JSON.stringify(identity.map((name) => row[name]));
}

/** A table's content as it stands, to compare with later. @param known its figure, where it was just read */
export async function readTableMemory(
  connection: Connection,
  layout: SourceLayout,
  plan: TablePlan,
  known?: Figure
): Promise<TableMemory> {
  const figure = known ?? (await readTableFigure(connection, plan));
  const kept = figureCount(figure) <= MUTABLE_MAX_ROWS;
  const found = kept ? await readHashes(connection, layout, plan) : { hashes: null, lastId: 0 };
  return { signature: planSignature(plan), figure, rows: found.hashes, lastId: found.lastId };
}

/** A table of which nothing is known but perhaps its figure. */
export function unknownTable(plan: TablePlan, figure: Figure | null = null): TableMemory {
  return { signature: planSignature(plan), figure, rows: null, lastId: 0 };
}

/**
 * What a table's content has become since `known`.
 *
 * @param forced keys whose rows are sent whether they changed or not
 * @param touched derived tables: keys that the group's rows touched, which decide when the rows are not known
 * @returns null when there is nothing to send
 */
export async function findTableChange(
  connection: Connection,
  layout: SourceLayout,
  plan: TablePlan,
  known: TableMemory,
  forced: Keys,
  touched: Keys | null
): Promise<TableChange | null> {
  const figure = await readTableFigure(connection, plan);
  const moved = figure !== known.figure;
  if (!moved && forced.size === 0) return null;
  const current = moved ? await readTableMemory(connection, layout, plan, figure) : known;
  const change = { memory: current, gap: null, whole: false };
  if (current.rows === null || known.rows === null) {
    const isSmall = figureCount(figure) <= DERIVED_WHOLE_ROWS;
    if (touched && plan.identity && !isSmall) {
      return { ...change, ...(await readKeys(connection, plan, new Set([...touched, ...forced]))) };
    }
    return readWhole(connection, layout, plan, current);
  }
  if (plan.identity === null) return findAdditions(connection, layout, plan, known, current);
  const keys = new Set(forced);
  for (const [key, hash] of current.rows) if (known.rows.get(key) !== hash) keys.add(key);
  for (const key of known.rows.keys()) if (!current.rows.has(key)) keys.add(key);
  return { ...change, ...(await readKeys(connection, plan, inOrder(keys, current.rows))) };
}

/** Keys as the table orders them, vanished ones last. */
function inOrder(keys: Keys, order: ReadonlyMap<string, number>): Keys {
  if (keys.size < 2) return keys;
  const sorted = new Set<string>();
  for (const key of order.keys()) if (keys.has(key)) sorted.add(key);
  for (const key of keys) sorted.add(key);
  return sorted;
}

/** Without an identity only new rows can be told from changed ones, and only when nothing else happened. */
async function findAdditions(
  connection: Connection,
  layout: SourceLayout,
  plan: TablePlan,
  known: TableMemory,
  current: TableMemory
): Promise<TableChange> {
  const before = known.rows ?? new Map<string, number>();
  let added = 0;
  let distinct = plan.surrogate !== null;
  for (const [hash, count] of current.rows ?? []) {
    const old = before.get(hash) ?? 0;
    if (count === old) continue;
    added += count - old;
    // An equal row may be there already: a reader that knows rows by their content could not count it.
    if (old > 0 || count > 1) distinct = false;
  }
  const kept = [...before].every(([hash, count]) => current.rows?.get(hash) === count);
  if (!distinct || !kept) return readWhole(connection, layout, plan, current);
  const counter = quoteName(plan.surrogate!);
  const found = await rows(
    connection,
    `SELECT ${selectList(plan.columns)} FROM ${quoteName(plan.name)} WHERE ${counter} > ? ORDER BY ${counter}`,
    [known.lastId]
  );
  if (found.length !== added) return readWhole(connection, layout, plan, current);
  const updated = toWireRows(found, plan.columns);
  return { updated, deleted: [], whole: false, touched: null, memory: current, gap: null };
}

async function readWhole(
  connection: Connection,
  layout: SourceLayout,
  plan: TablePlan,
  memory: TableMemory
): Promise<TableChange> {
  const count = figureCount(memory.figure ?? '0');
  const change = { deleted: [], touched: null, memory };
  if (memory.rows === null || count > WHOLE_MAX_ROWS) {
    const gap = `table ${plan.name} changed, and with ${count} rows it is too large to be sent: replicas find the difference by digest`;
    return { ...change, updated: [], whole: false, gap };
  }
  const order = rowOrder(plan, layout.tables);
  const found = await rows(
    connection,
    `SELECT ${selectList(plan.columns, 'r')} FROM ${quoteName(plan.name)} r${order && ` ORDER BY ${order}`}`
  );
  return { ...change, updated: toWireRows(found, plan.columns), whole: true, gap: null };
}

/** The rows that these keys name now, in the keys' order; those that name none are deleted ones. */
async function readKeys(
  connection: Connection,
  plan: TablePlan,
  keys: Keys
): Promise<Pick<TableChange, 'updated' | 'deleted' | 'touched'>> {
  const identity = plan.identity!;
  const names = identity.map(quoteName).join(', ');
  const charsets = new Map(plan.columns.map(({ name, charset }) => [name, charset]));
  const tuple = `(${identity.map((name) => inCharset('?', charsets.get(name) ?? null)).join(', ')})`;
  const list = [...keys];
  const found = new Map<string, SqlRow>();
  for (let start = 0; start < list.length; start += KEYS_AT_ONCE) {
    const part = list.slice(start, start + KEYS_AT_ONCE);
    const page = await rows(
      connection,
      `SELECT ${selectList(plan.columns)} FROM ${quoteName(plan.name)} WHERE (${names}) IN (${part.map(() => tuple).join(', ')})`,
      part.flatMap(keyValues)
    );
    for (const row of toWireRows(page, plan.columns)) found.set(keyText(row, identity), row);
  }
  const updated: SqlRow[] = [];
  const deleted: SqlRow[] = [];
  for (const key of list) {
    const row = found.get(key);
    if (row) updated.push(row);
    else
      deleted.push(Object.fromEntries((JSON.parse(key) as unknown[]).map((value, index) => [identity[index], value])));
  }
  return { updated, deleted, touched: keys };
}

/** The SQL values of a key text. */
function keyValues(key: string): unknown[] {
  return (JSON.parse(key) as unknown[]).map((value) => {
    const binary = (value as Record<string, unknown> | null)?.[BINARY_KEY];
    return typeof binary === 'string' ? Buffer.from(binary, 'base64') : value;
  });
}

/** Of another form than the names that travel, so that no column has it. */
const HASH_ALIAS = '#hash';

/** Every row's key and hash, in the table's order; without an identity, how often each hash occurs. */
async function readHashes(
  connection: Connection,
  layout: SourceLayout,
  plan: TablePlan
): Promise<{ hashes: Map<string, number>; lastId: number }> {
  const { identity, surrogate } = plan;
  const named = identity ?? (surrogate === null ? [] : [surrogate]);
  const columns = plan.columns.filter(({ name }) => named.includes(name));
  const list = [
    ...(columns.length === 0 ? [] : [selectList(columns, 'r')]),
    `${hashSql(plan)} AS ${quoteName(HASH_ALIAS)}`
  ];
  const order = rowOrder(plan, layout.tables);
  const found = await rows(
    connection,
    `SELECT ${list.join(', ')} FROM ${quoteName(plan.name)} r${order && ` ORDER BY ${order}`}`
  );
  const hashes = new Map<string, number>();
  let lastId = 0;
  for (const row of toWireRows(found, columns)) {
    const hash = Number(row[HASH_ALIAS]);
    if (identity) hashes.set(keyText(row, identity), hash);
    else hashes.set(String(hash), (hashes.get(String(hash)) ?? 0) + 1);
    if (surrogate !== null) lastId = Math.max(lastId, Number(row[surrogate] ?? 0));
  }
  return { hashes, lastId };
}

function hashSql(plan: TablePlan): string {
  const columns = comparedColumns(plan);
  return columns.length === 0 ? '0' : rowHashSql(columns, 'r');
}
