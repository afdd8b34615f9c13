import type { Connection } from '../../../db/connection.ts';
import { hasCode, PlatformError } from '../../../errors.ts';
import { sameBlock } from '../../../wire/data/database.ts';
import {
  type DigestKey,
  type DigestRange,
  MAX_RANGE_ROWS,
  type RangeDigest,
  type RangeRows,
  type TableRanges
} from '../../../wire/data/digest.ts';
import type { WireRow } from '../../../wire/data/messages.ts';
import type { TypedTable } from '../../../wire/data/schema.ts';
import { type DigestPlan, dividable, readRangeRows, readRanges } from '../../tables/digest.ts';
import { differ } from '../database/row-difference.ts';
import { type CanonicalRow, canonicalRow, type ReplicaTable } from '../database/schema.ts';

/** Adjacent differing ranges are fetched together, up to this many rows. */
const FETCH_ROWS = 2_000;

/** Access to a source's rows; ranges that are too large are refused with RANGE_TOO_LARGE. */
export interface RangeSource {
  /** @param range null: the whole table @param settled whether the table must equal its broadcast state */
  digestRanges(
    table: string,
    range: DigestRange | null,
    key: string,
    signal?: AbortSignal,
    settled?: boolean,
    ids?: boolean
  ): Promise<TableRanges>;
  digestRows(table: string, range: DigestRange, key: string, signal?: AbortSignal, ids?: boolean): Promise<RangeRows>;
}

/** The snapshot that an answer was read in, and its key. */
type DigestHead = DigestKey;

/** The source answered from another block, schema or key than its first answer, so its answers cannot be compared. */
export class SourceMoved extends Error {
  readonly height: number;

  constructor(height: number) {
    super(`the source is at block ${height} by now`);
    this.height = height;
  }
}

/** Returns an answer that was read where the first one was, and made under its key. @throws {SourceMoved} */
export async function readAt<T extends DigestHead>(asked: Promise<T>, head: DigestHead): Promise<T> {
  const answer = await asked.catch((caught: unknown) => {
    throw hasCode(caught, 'DIGEST_KEY_UNKNOWN') ? new SourceMoved(head.block_height) : caught;
  });
  const isThere =
    answer.key === head.key &&
    answer.block_height === head.block_height &&
    sameBlock(answer, head) &&
    answer.fingerprint === head.fingerprint;
  if (!isThere) throw new SourceMoved(answer.block_height);
  return answer;
}

/** A range with the rows of the side that has more in it. */
interface Span extends DigestRange {
  readonly rows: number;
}

/** Returns the ranges in which two sides differ, joined where few rows lie between them. */
export function findSpans(
  source: readonly RangeDigest[],
  replica: readonly RangeDigest[],
  block: number | null
): Span[] {
  const all = new Map<number, { to: number; rows: number; differs: boolean }>();
  const own = new Map(replica.map((range) => [range.from, range]));
  for (const { from, to, rows, digest } of source) {
    const mine = own.get(from);
    const differs = mine?.rows !== rows || mine.digest !== digest || mine.to !== to;
    all.set(from, { to: Math.max(to, mine?.to ?? to), rows: Math.max(rows, mine?.rows ?? 0), differs });
  }
  for (const { from, to, rows } of replica) if (!all.has(from)) all.set(from, { to, rows, differs: true });
  const spans: Span[] = [];
  let between = 0;
  for (const [from, { to, rows, differs }] of [...all].sort(([a], [b]) => a - b)) {
    const last = spans.at(-1);
    if (!differs) between += rows;
    else if (last && last.rows + between + rows <= FETCH_ROWS) {
      spans[spans.length - 1] = { ...last, to, rows: last.rows + between + rows };
      between = 0;
    } else {
      spans.push({ from, to, block, rows });
      between = 0;
    }
  }
  return spans;
}

/** The rows of one table that only one side has, gathered span by span, all of one block of the source. */
export class RangeDifference {
  readonly #connection: Connection;
  readonly #typed: readonly TypedTable[];
  readonly #plan: DigestPlan;
  readonly #table: ReplicaTable;
  readonly #source: RangeSource;
  readonly #head: DigestHead;
  readonly #signal: AbortSignal | undefined;
  readonly #surplus: CanonicalRow[] = [];
  readonly #missing: CanonicalRow[] = [];
  bytes = 0;

  constructor(
    connection: Connection,
    typed: readonly TypedTable[],
    plan: DigestPlan,
    table: ReplicaTable,
    source: RangeSource,
    head: DigestHead,
    signal: AbortSignal | undefined
  ) {
    this.#connection = connection;
    this.#typed = typed;
    this.#plan = plan;
    this.#table = { ...table, plan: { ...table.plan, columns: table.plan.storedColumns } };
    this.#source = source;
    this.#head = head;
    this.#signal = signal;
  }

  get size(): number {
    return this.#surplus.length + this.#missing.length;
  }

  difference(): { readonly surplus: readonly CanonicalRow[]; readonly missing: readonly CanonicalRow[] } {
    return { surplus: this.#surplus, missing: this.#missing };
  }

  /** Compares the rows of one span; where they are too many for one answer, of the ranges within that differ. @throws {SourceMoved} */
  async take(span: Span): Promise<void> {
    if (span.rows > MAX_RANGE_ROWS) return this.#divide(span);
    const [sourceRows, own] = await Promise.all([
      this.#fetch(span),
      readRangeRows(this.#connection, this.#typed, this.#plan, span, this.#head.key, { bounded: false })
    ]);
    if (sourceRows === null) return this.#divide(span);
    this.#compare(own.rows, sourceRows);
  }

  /**
   * Compares all rows, for a table where source and replica place a row differently because the replica lacks its block column.
   *
   * @param own all positions on this side
   * @throws {SourceMoved}; {PlatformError} ROW_CONTRADICTION when they are too many for one answer
   */
  async takeAll(sourceRanges: readonly RangeDigest[], own: DigestRange): Promise<void> {
    const from = sourceRanges.reduce((least, range) => Math.min(least, range.from), Number.POSITIVE_INFINITY);
    const to = sourceRanges.reduce((most, range) => Math.max(most, range.to), Number.NEGATIVE_INFINITY);
    try {
      const wanted = sourceRanges.length > 0 ? await this.#rowsOfSource({ from, to, block: null }) : [];
      const held = await readRangeRows(this.#connection, this.#typed, this.#plan, own, this.#head.key);
      this.#compare(held.rows, wanted);
    } catch (caught) {
      if (!hasCode(caught, 'RANGE_TOO_LARGE')) throw caught;
      const reason = `table ${this.#plan.name} differs from its source's, and is too large to locate the difference`;
      throw new PlatformError('ROW_CONTRADICTION', { reason, table: this.#plan.name }, { cause: caught });
    }
  }

  /** @returns null when they are too large for one answer */
  async #fetch(range: DigestRange): Promise<readonly WireRow[] | null> {
    try {
      return await this.#rowsOfSource(range);
    } catch (caught) {
      if (hasCode(caught, 'RANGE_TOO_LARGE')) return null;
      throw caught;
    }
  }

  async #rowsOfSource(range: DigestRange): Promise<readonly WireRow[]> {
    const { key } = this.#head;
    const { name, withIds } = this.#plan;
    const { data } = await readAt(this.#source.digestRows(name, range, key, this.#signal, withIds), this.#head);
    this.bytes += JSON.stringify(data).length;
    return data;
  }

  async #divide(range: DigestRange): Promise<void> {
    const within = dividable(this.#plan, range);
    if (within === null) {
      const reason = `${this.#plan.name} has more identical rows than one answer may hold: they cannot be compared`;
      throw new PlatformError('RANGE_TOO_LARGE', { reason, table: this.#plan.name });
    }
    const { key } = this.#head;
    const { name, withIds } = this.#plan;
    const asked = this.#source.digestRanges(name, within, key, this.#signal, false, withIds);
    const source = await readAt(asked, this.#head);
    const replica = await readRanges(this.#connection, this.#typed, this.#plan, within, key);
    for (const span of findSpans(source.ranges, replica, within.block)) {
      // A source that repeats the same range would be asked without end.
      if (span.block === range.block && span.from <= range.from && span.to >= range.to) return this.#divideAlike(range);
      await this.take(span);
    }
  }

  #divideAlike(range: DigestRange): never {
    throw new PlatformError('SOURCE_INVALID', {
      reason: `the source did not split positions ${range.from} to ${range.to} of ${this.#plan.name}`
    });
  }

  #compare(own: readonly WireRow[], sourceRows: readonly WireRow[]): void {
    const wanted = sourceRows.map((row) => canonicalRow(this.#table, row));
    const held = own.map((row) => canonicalRow(this.#table, row));
    const found = differ(held, wanted, this.#plan.withIds ? this.#table.all : this.#table.compared);
    for (const row of found.surplus) this.#surplus.push(row);
    for (const row of found.missing) this.#missing.push(row);
  }
}
