import { columnText, readable, rowBucket, rowHash } from './row-text.ts';
import type { Column } from './schema.ts';
import type { Selection } from './selection.ts';
import type { Side } from './side.ts';

/** A row that differs between the sides. Values are readable text, null for NULL. */
export interface RowDifference {
  readonly kind: 'onlyInSource' | 'onlyInReplica' | 'changed';
  /** Columns that identify the row; all columns when the table has no key. */
  readonly key: Readonly<Record<string, string | null>>;
  /** Changed rows only: the columns that differ. */
  readonly columns?: Readonly<Record<string, { readonly source: string | null; readonly replica: string | null }>>;
  /** Rows on one side only: how many more equal rows than on the other side. */
  readonly count?: number;
}

/** Differing rows of one table. */
export interface Differences {
  readonly rows: readonly RowDifference[];
  /** Whether the limit may have cut the list. */
  readonly more: boolean;
}

/** Most rows of one query. A single bucket is always read whole. */
const ROWS_AT_ONCE = 20_000;

/** Finds the rows that make two digests differ. Memory is bounded by a small part of the table. */
export async function findDifferences(
  source: Side,
  replica: Side,
  selection: Selection,
  limit: number
): Promise<Differences> {
  const identity =
    selection.identity?.map((name) => selection.columns.find((column) => column.name === name)!) ?? selection.columns;
  const buckets = await differingBuckets(source, replica, selection, identity);
  const found: RowDifference[] = [];
  for (let at = 0; at < buckets.length; ) {
    if (found.length >= limit) return { rows: found.slice(0, limit), more: true };
    const names: string[] = [];
    for (let size = 0; at < buckets.length && (names.length === 0 || size + buckets[at]!.rows <= ROWS_AT_ONCE); at++) {
      names.push(buckets[at]!.name);
      size += buckets[at]!.rows;
    }
    const [inSource, inReplica] = await Promise.all(
      [source, replica].map((side) => readRows(side, selection, identity, names))
    );
    for (const each of compareRows(inSource!, inReplica!, selection, identity)) found.push(each);
  }
  return { rows: found.slice(0, limit), more: found.length > limit };
}

async function differingBuckets(
  source: Side,
  replica: Side,
  { from, columns }: Selection,
  identity: readonly Column[]
): Promise<{ readonly name: string; readonly rows: number }[]> {
  const sql = `SELECT ${rowBucket(identity)} AS bucket, COUNT(*), CAST(SUM(${rowHash(columns)}) AS CHAR) FROM ${from} GROUP BY 1`;
  const [inSource, inReplica] = await Promise.all(
    [source, replica].map(async (side) => {
      const rows = await side.select<[string, number, string]>(sql);
      return new Map(rows.map(([bucket, count, sum]) => [bucket, { count: Number(count), sum }]));
    })
  );
  const all = [...new Set([...inSource!.keys(), ...inReplica!.keys()])].sort();
  return all
    .map((bucket) => ({ bucket, a: inSource!.get(bucket), b: inReplica!.get(bucket) }))
    .filter(({ a, b }) => a?.count !== b?.count || a?.sum !== b?.sum)
    .map(({ bucket, a, b }) => ({ name: bucket, rows: (a?.count ?? 0) + (b?.count ?? 0) }));
}

/** Distinct rows by the text of their identity, with their number. */
type RowsByIdentity = Map<string, Map<string, { readonly texts: readonly string[]; count: number }>>;

async function readRows(
  side: Side,
  { from, columns }: Selection,
  identity: readonly Column[],
  buckets: readonly string[]
): Promise<RowsByIdentity> {
  const places = columns.map((_, index) => String(index + 1)).join(', ');
  const rows = await side.select<string[]>(
    `SELECT ${columns.map(columnText).join(', ')}, CAST(COUNT(*) AS CHAR) FROM ${from}
     WHERE ${rowBucket(identity)} IN (${buckets.map((bucket) => `'${bucket}'`).join(', ')}) GROUP BY ${places}`
  );
  const positions = identity.map((column) => columns.indexOf(column));
  const found: RowsByIdentity = new Map();
  for (const row of rows) {
    const texts = row.slice(0, -1);
    const key = positions.map((position) => texts[position]).join('|');
    const sameKey = found.get(key) ?? new Map();
    found.set(key, sameKey);
    const same = sameKey.get(texts.join('|')) ?? { texts, count: 0 };
    same.count += Number(row.at(-1));
    sameKey.set(texts.join('|'), same);
  }
  return found;
}

function compareRows(
  inSource: RowsByIdentity,
  inReplica: RowsByIdentity,
  { columns }: Selection,
  identity: readonly Column[]
): RowDifference[] {
  const found: RowDifference[] = [];
  const keyOf = (texts: readonly string[]) =>
    Object.fromEntries(identity.map((column) => [column.name, readable(column, texts[columns.indexOf(column)]!)]));
  for (const key of new Set([...inSource.keys(), ...inReplica.keys()])) {
    const a = surplus(inSource.get(key), inReplica.get(key));
    const b = surplus(inReplica.get(key), inSource.get(key));
    if (a.length === 1 && b.length === 1) {
      const [left, right] = [a[0]!.texts, b[0]!.texts];
      const changed = columns
        .map((column, index) => [column, left[index]!, right[index]!] as const)
        .filter(([, source, replica]) => source !== replica)
        .map(([column, source, replica]) => [
          column.name,
          { source: readable(column, source), replica: readable(column, replica) }
        ]);
      found.push({ kind: 'changed', key: keyOf(left), columns: Object.fromEntries(changed) });
      continue;
    }
    for (const { texts, count } of a) found.push({ kind: 'onlyInSource', key: keyOf(texts), count });
    for (const { texts, count } of b) found.push({ kind: 'onlyInReplica', key: keyOf(texts), count });
  }
  return found;
}

type Rows = Map<string, { readonly texts: readonly string[]; count: number }>;

/** Returns the rows that occur more often here than there. */
function surplus(here: Rows | undefined, there: Rows | undefined): { texts: readonly string[]; count: number }[] {
  return [...(here ?? [])]
    .map(([text, { texts, count }]) => ({ texts, count: count - (there?.get(text)?.count ?? 0) }))
    .filter(({ count }) => count > 0);
}
