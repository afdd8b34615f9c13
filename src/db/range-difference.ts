import { hasCode, PlatformError } from '../errors.ts';
import { type BlockHashes, sameBlock } from '../wire/database.ts';
import {
  type DatabaseDigest,
  type DigestRange,
  MAX_RANGE_ROWS,
  type RangeDigest,
  type RangeRows,
  type TableRanges
} from '../wire/digest.ts';
import type { WireRow } from '../wire/messages.ts';
import type { TypedTable } from '../wire/schema.ts';
import type { TablePlan } from './classify.ts';
import type { Connection } from './connection.ts';
import { dividable, readRangeRows, readRanges } from './digest.ts';
import { type CanonicalRow, canonicalRow, keyText, type ReplicaTable } from './replica-schema.ts';

/** Differing ranges that lie near each other are fetched together, up to so many rows. */
const FETCH_ROWS = 2_000;

/** Where the rows of a source come from. */
export interface RangeSource {
  digestRanges(table: string, range: DigestRange, signal?: AbortSignal): Promise<TableRanges>;
  digestRows(table: string, range: DigestRange, signal?: AbortSignal): Promise<RangeRows>;
}

/** The snapshot that an answer was read in. */
export type DigestHead = Omit<DatabaseDigest, 'tables'>;

/** The source answered from another block or schema than its first answer: what it says now is no difference. */
export class SourceMoved extends Error {
  readonly height: number;

  constructor(height: number) {
    super(`the source is at block ${height} by now`);
    this.height = height;
  }
}

/** An answer that was read where the first one was. @throws {SourceMoved} */
export function readAt<T extends DigestHead>(answer: T, head: DigestHead): T {
  const isThere =
    answer.block_height === head.block_height &&
    sameBlock(answer as BlockHashes, head as BlockHashes) &&
    answer.fingerprint === head.fingerprint;
  if (!isThere) throw new SourceMoved(answer.block_height);
  return answer;
}

/** A range with the rows of the side that has more in it. */
interface Span extends DigestRange {
  readonly rows: number;
}

/** The ranges in which two sides differ, joined where few rows lie between them. */
export function findSpans(theirs: readonly RangeDigest[], ours: readonly RangeDigest[], block: number | null): Span[] {
  const all = new Map<number, { to: number; rows: number; differs: boolean }>();
  const own = new Map(ours.map((range) => [range.from, range]));
  for (const { from, to, rows, digest } of theirs) {
    const mine = own.get(from);
    const differs = mine?.rows !== rows || mine.digest !== digest || mine.to !== to;
    all.set(from, { to: Math.max(to, mine?.to ?? to), rows: Math.max(rows, mine?.rows ?? 0), differs });
  }
  for (const { from, to, rows } of ours) if (!all.has(from)) all.set(from, { to, rows, differs: true });
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
  readonly #plan: TablePlan;
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
    plan: TablePlan,
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
    const [theirs, own] = await Promise.all([
      this.#fetch(span),
      readRangeRows(this.#connection, this.#typed, this.#plan, span, { bounded: false })
    ]);
    if (theirs === null) return this.#divide(span);
    this.#compare(own.rows, theirs);
  }

  /**
   * Compares all rows, where the source looks for a row elsewhere than a replica that does not keep what says its block.
   *
   * @param own all positions on this side
   * @throws {SourceMoved}; {PlatformError} ROW_CONTRADICTION when they are too many for one answer
   */
  async takeAll(theirs: readonly RangeDigest[], own: DigestRange): Promise<void> {
    const [from, to] = [Math.min(...theirs.map((range) => range.from)), Math.max(...theirs.map((range) => range.to))];
    try {
      const wanted = theirs.length > 0 ? await this.#rowsOfSource({ from, to, block: null }) : [];
      const held = await readRangeRows(this.#connection, this.#typed, this.#plan, own);
      this.#compare(held.rows, wanted);
    } catch (caught) {
      if (!hasCode(caught, 'RANGE_TOO_LARGE')) throw caught;
      const reason = `table ${this.#plan.name} differs from its source's, and is too large to find where`;
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
    const { data } = readAt(await this.#source.digestRows(this.#plan.name, range, this.#signal), this.#head);
    this.bytes += JSON.stringify(data).length;
    return data;
  }

  async #divide(range: DigestRange): Promise<void> {
    const within = dividable(this.#plan, range);
    if (within === null) {
      const reason = `more rows of ${this.#plan.name} are alike than one answer may hold: they cannot be compared`;
      throw new PlatformError('RANGE_TOO_LARGE', { reason, table: this.#plan.name });
    }
    const theirs = readAt(await this.#source.digestRanges(this.#plan.name, within, this.#signal), this.#head);
    const ours = await readRanges(this.#connection, this.#typed, this.#plan, within);
    for (const span of findSpans(theirs.ranges, ours, within.block)) {
      // A source that names the same range again would be asked for ever.
      if (span.block === range.block && span.from <= range.from && span.to >= range.to) return this.#divideAlike(range);
      await this.take(span);
    }
  }

  #divideAlike(range: DigestRange): never {
    throw new PlatformError('SOURCE_INVALID', {
      reason: `the source does not divide positions ${range.from} to ${range.to} of ${this.#plan.name}`
    });
  }

  #compare(own: readonly WireRow[], theirs: readonly WireRow[]): void {
    const counts = new Map<string, number>();
    const text = (row: CanonicalRow) => keyText(row, this.#table.compared);
    const wanted = theirs.map((row) => canonicalRow(this.#table, row));
    const held = own.map((row) => canonicalRow(this.#table, row));
    const take = (row: CanonicalRow): boolean => {
      const count = counts.get(text(row)) ?? 0;
      counts.set(text(row), count - 1);
      return count > 0;
    };
    for (const row of wanted) counts.set(text(row), (counts.get(text(row)) ?? 0) + 1);
    for (const row of held) if (!take(row)) this.#surplus.push(row);
    for (const row of wanted) if (take(row)) this.#missing.push(row);
  }
}
