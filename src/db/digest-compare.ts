import { PlatformError } from '../errors.ts';
import { type BlockHashes, sameBlock } from '../wire/database.ts';
import type { DatabaseDigest, DigestRange, RangeDigest, RangeRows, TableDigest, TableRanges } from '../wire/digest.ts';
import type { TablePlan } from './classify.ts';
import type { Connection } from './connection.ts';
import { digestPlans, readDigests, readRanges, sumOf, type TableFigures, wholeTable } from './digest.ts';
import { findSpans, RangeDifference, readAt, SourceMoved } from './range-difference.ts';
import { type CanonicalRow, type ReplicaSchema, travels } from './replica-schema.ts';
import { type ReplicaState, readReplicaState } from './replica-state.ts';
import type { SourceLayout } from './source-layout.ts';

/** Differing rows of one comparison; what is left is found by the next. */
const MAX_DIFFERING_ROWS = 100_000;

/** What a comparison asks of the source; ranges that are too large are refused with RANGE_TOO_LARGE. */
export interface DigestSource {
  digest(signal?: AbortSignal): Promise<DatabaseDigest>;
  /** @param settled asks whether the table is still what was broadcast */
  digestRanges(table: string, range: DigestRange | null, signal?: AbortSignal, settled?: boolean): Promise<TableRanges>;
  digestRows(table: string, range: DigestRange, signal?: AbortSignal): Promise<RangeRows>;
}

/** What differs in one table. */
export interface TableDifference {
  readonly table: string;
  /** Rows of the replica that the source does not have. */
  readonly surplus: readonly CanonicalRow[];
  /** Rows of the source that the replica does not have. */
  readonly missing: readonly CanonicalRow[];
  /** Where they are. */
  readonly spans: readonly DigestRange[];
  /** What the source says of the whole table, and what the replica has outside of the spans. */
  readonly claimed: Pick<TableDigest, 'rows' | 'digest'>;
  readonly outside: Pick<TableDigest, 'rows' | 'digest'>;
  /** Size of the rows that were fetched. */
  readonly bytes: number;
}

/** What comparing a replica with its source found. */
export type Comparison =
  /** They stand at different blocks or schemas, or the source is on its way to the next: nothing can be said. */
  | {
      readonly kind: 'elsewhere';
      readonly height: number;
      readonly sourceHeight: number;
      /** Tables that differ, and that the source has changed since its block. */
      readonly unsettled?: readonly string[];
    }
  | { readonly kind: 'equal'; readonly height: number; readonly said: DatabaseDigest }
  | {
      readonly kind: 'different';
      readonly height: number;
      readonly said: DatabaseDigest;
      readonly tables: readonly TableDifference[];
      /** Further tables that differ, or may: what they lack is found once the others are repaired. */
      readonly more: readonly string[];
    };

export interface CompareOptions {
  /** Compares this table and no other. */
  readonly only?: string | undefined;
  /** A table that the source has changed since its last block is not compared: the next block carries that. */
  readonly patient?: boolean;
}

/** Compares one replica with one source. All reads of one call are of one snapshot. */
export class DigestComparison {
  readonly #connection: Connection;
  readonly #schema: ReplicaSchema;
  readonly #source: DigestSource;
  readonly #options: CompareOptions;

  constructor(connection: Connection, schema: ReplicaSchema, source: DigestSource, options: CompareOptions = {}) {
    this.#connection = connection;
    this.#schema = schema;
    this.#source = source;
    this.#options = options;
  }

  /** @throws {PlatformError} as the source, RANGE_TOO_LARGE where rows cannot be told apart, DATABASE_UNAVAILABLE */
  async compare(signal?: AbortSignal): Promise<Comparison> {
    await this.#snapshot();
    const own = await readReplicaState(this.#connection);
    try {
      return await this.#compareAt(own, own.height ?? -1, signal);
    } catch (caught) {
      if (!(caught instanceof SourceMoved)) throw caught;
      return { kind: 'elsewhere', height: own.height ?? -1, sourceHeight: caught.height };
    }
  }

  async #compareAt(own: ReplicaState, height: number, signal: AbortSignal | undefined): Promise<Comparison> {
    const useless = new AbortController();
    const asking = this.#source.digest(signal).then((said) => {
      if (!isAt(said, own.height, own.hashes, own.schemaFingerprint)) useless.abort();
      return said;
    });
    const either = AbortSignal.any([useless.signal, ...(signal ? [signal] : [])]);
    const reading = readDigests(this.#connection, this.#layout, height, either);
    reading.catch(() => undefined);
    const said = await asking;
    if (useless.signal.aborted) throw new SourceMoved(said.block_height);
    const claims = said.tables.filter((table) => this.covers(table));
    const here = new Map((await reading).map((figures) => [figures.table, figures]));
    const pairs = claims.map((claimed) => ({ claimed, theirs: null, ours: here.get(claimed.table) ?? NOTHING }));
    if (own.floor === null) return this.#differences(said, height, pairs, signal);
    const above = await this.#aboveFloor(said, pairs, { from: own.floor, to: height, block: null }, signal);
    return this.#differences(said, height, above, signal);
  }

  /**
   * A truncated replica has the rows of the newest blocks, of which the source is asked alone; balances that these do not
   * touch it has not.
   */
  async #aboveFloor(
    said: DatabaseDigest,
    pairs: readonly Pair[],
    range: DigestRange,
    signal: AbortSignal | undefined
  ): Promise<readonly Pair[]> {
    const found: Pair[] = [];
    for (const pair of pairs) {
      const { table, class: tableClass } = pair.claimed;
      const plan = this.#planOf(table);
      if (tableClass === 'derived') continue;
      if (tableClass === 'scoped' && plan) {
        const theirs = readAt(await this.#source.digestRanges(table, range, signal), said);
        const ranges = await readRanges(this.#connection, this.#typed, plan, range);
        const claimed = { ...pair.claimed, ...sumOf(theirs.ranges) };
        found.push({ claimed, theirs, ours: { ...sumOf(ranges), ranges } });
      } else found.push(pair);
    }
    return found;
  }

  /** Compares again after a repair: only what was repaired is read anew, as long as the source says the same as before. */
  async recheck(before: Extract<Comparison, { kind: 'different' }>, signal?: AbortSignal): Promise<Comparison> {
    const said = await this.#source.digest(signal);
    if (before.more.length > 0 || JSON.stringify(said) !== JSON.stringify(before.said)) return this.compare(signal);
    await this.#snapshot();
    for (const { table, spans, claimed, outside } of before.tables) {
      const inside: RangeDigest[] = [];
      for (const span of spans)
        inside.push(...(await readRanges(this.#connection, this.#typed, this.#planOf(table)!, span)));
      const now = sumOf([...inside, { from: 0, to: 0, ...outside }]);
      if (!isSame(now, claimed)) return this.compare(signal);
    }
    return { kind: 'equal', height: before.height, said };
  }

  async #snapshot(): Promise<void> {
    await this.#connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
  }

  get #typed(): SourceLayout['tables'] {
    return [...this.#schema.typed.values()];
  }

  get #layout(): SourceLayout {
    const { tables, heads } = this.#schema;
    const dbType = heads?.dbType ?? 'decoder';
    return { dbType, tables: this.#typed, plans: tables.map(({ plan }) => plan), heads, fingerprint: '' };
  }

  #planOf(table: string): TablePlan | undefined {
    return digestPlans(this.#layout).find(({ name }) => name === table);
  }

  async #differences(
    said: DatabaseDigest,
    height: number,
    pairs: readonly Pair[],
    signal: AbortSignal | undefined
  ): Promise<Comparison> {
    const differing = pairs.filter(({ claimed, ours }) => !isSame(ours, claimed));
    if (differing.length === 0) return { kind: 'equal', height, said };
    const names = new Set(differing.map(({ claimed }) => claimed.table));
    const tables: TableDifference[] = [];
    let found = 0;
    const more = new Set<string>();
    for (const { claimed, theirs: known, ours } of differing) {
      const plan = this.#planOf(claimed.table);
      if (!plan)
        throw new PlatformError('SOURCE_INVALID', {
          reason: `the replica has no table ${claimed.table}`,
          table: claimed.table
        });
      const waits = plan.scope?.parent != null && names.has(plan.scope.parent);
      // A row's block is its parent's to say, and the log is made of the blocks.
      if (waits || found >= MAX_DIFFERING_ROWS || (plan.name === 'sync_meta' && names.size > 1)) {
        more.add(plan.name);
        continue;
      }
      const asked = known ?? (await this.#source.digestRanges(claimed.table, null, signal, this.#options.patient));
      const theirs = readAt(asked, said);
      if (this.#options.patient && theirs.settled === false) {
        more.add(plan.name);
        continue;
      }
      const room = MAX_DIFFERING_ROWS - found;
      const { isCut, difference, rows } = await this.#differenceOf(plan, { claimed, theirs, ours }, said, room, signal);
      if (isCut) more.add(plan.name);
      found += rows;
      tables.push(difference);
    }
    if (tables.length === 0 && this.#options.patient)
      return { kind: 'elsewhere', height, sourceHeight: said.block_height, unsettled: [...more] };
    return { kind: 'different', height, said, tables, more: [...more] };
  }

  /** @param room rows after which no other span is taken: then `isCut` */
  async #differenceOf(
    plan: TablePlan,
    { claimed, theirs, ours }: Pair & { readonly theirs: TableRanges },
    said: DatabaseDigest,
    room: number,
    signal: AbortSignal | undefined
  ): Promise<{ difference: TableDifference; rows: number; isCut: boolean }> {
    const table = this.#schema.byName.get(plan.name)!;
    const found = new RangeDifference(this.#connection, this.#typed, plan, table, this.#source, said, signal);
    const taken: DigestRange[] = [];
    let isCut = false;
    if (plan.class !== claimed.class) {
      const whole = wholeTable(plan, said.block_height);
      await found.takeAll(theirs.ranges, whole);
      taken.push(whole);
    } else {
      for (const span of findSpans(theirs.ranges, ours.ranges, null)) {
        isCut = found.size >= room;
        if (isCut) break;
        // The replica's log is made of its own blocks: where it differs is all that needs to be known.
        if (plan.name !== 'sync_meta') await found.take(span);
        taken.push(span);
      }
    }
    const isOutside = ({ from, to }: RangeDigest) => !taken.some((span) => from >= span.from && to <= span.to);
    const outside = sumOf(ours.ranges.filter(isOutside));
    const difference = { table: plan.name, ...found.difference(), spans: taken, claimed, outside, bytes: found.bytes };
    return { difference, rows: found.size, isCut };
  }

  /** False for tables that are not compared: this replica's operator keeps them local, or it does not keep them at all. */
  covers({ table }: Pick<TableDigest, 'table'>): boolean {
    const { only } = this.#options;
    if (only !== undefined && table !== only) return false;
    const own = this.#schema.byName.get(table);
    if (table === 'sync_meta') return this.#schema.only === null;
    return own === undefined ? !this.#schema.isLocal(table) : travels(own);
  }
}

const NOTHING: Pick<TableFigures, 'rows' | 'digest' | 'ranges'> = { rows: 0, digest: '0', ranges: [] };

/** One table as both sides have it. */
interface Pair {
  readonly claimed: TableDigest;
  /** The source's ranges where they were asked for already. */
  readonly theirs: TableRanges | null;
  readonly ours: Pick<TableFigures, 'rows' | 'digest' | 'ranges'>;
}

type Figures = Pick<TableDigest, 'rows' | 'digest'>;

function isSame(a: Figures, b: Figures): boolean {
  return a.rows === b.rows && BigInt(a.digest) === BigInt(b.digest);
}

function isAt(
  said: DatabaseDigest,
  height: number | null,
  hashes: BlockHashes | null,
  fingerprint: string | null
): boolean {
  if (said.block_height !== height || hashes === null || !sameBlock(said as BlockHashes, hashes)) return false;
  return fingerprint === null || said.fingerprint === fingerprint;
}
