import { PlatformError } from '../../../errors.ts';
import { type BlockHashes, sameBlock } from '../../../wire/database.ts';
import type {
  DatabaseDigest,
  DigestKey,
  DigestRange,
  RangeDigest,
  TableDigest,
  TableRanges
} from '../../../wire/digest.ts';
import type { Connection } from '../../core/connection.ts';
import {
  type DigestPlan,
  digestPlans,
  readDigests,
  readRanges,
  sumOf,
  type TableDigests,
  wholeTable
} from '../../tables/digest.ts';
import type { SourceLayout } from '../../tables/source-layout.ts';
import { mayOwnIds } from '../carried-ids.ts';
import { type CanonicalRow, type ReplicaSchema, travels } from '../schema.ts';
import { type ReplicaState, readReplicaState } from '../state.ts';
import { findSpans, RangeDifference, type RangeSource, readAt, SourceMoved } from './range-difference.ts';

/** Differing rows of one comparison; the next comparison finds the rest. */
const MAX_DIFFERING_ROWS = 100_000;

/** The source's answers that a comparison needs. */
export interface DigestSource extends RangeSource {
  /** The key of the digests of its tip, at once: both sides make them at the same time. */
  digestKey(signal?: AbortSignal): Promise<DigestKey>;
  digest(key: string, signal?: AbortSignal): Promise<DatabaseDigest>;
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
  /** The source's digest of the whole table, and the replica's rows outside of the spans. */
  readonly claimed: Pick<TableDigest, 'rows' | 'digest'>;
  readonly outside: Pick<TableDigest, 'rows' | 'digest'>;
  /** Size of the rows that were fetched. */
  readonly bytes: number;
  /** AUTO_INCREMENT ids were compared. */
  readonly withIds: boolean;
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
  | {
      readonly kind: 'equal';
      readonly height: number;
      readonly said: DatabaseDigest;
      /** Tables that are equal but for their ids. */
      readonly ownIds: readonly string[];
    }
  | {
      readonly kind: 'different';
      readonly height: number;
      readonly said: DatabaseDigest;
      readonly tables: readonly TableDifference[];
      /** Further tables that differ, or may differ: their missing rows are found once the others are repaired. */
      readonly more: readonly string[];
      /** Tables that are compared without their ids. */
      readonly ownIds: readonly string[];
    };

/** The comparison of a source that is not followed with the replica's tables. */
export type Attestation =
  | { readonly kind: 'elsewhere'; readonly sourceHeight: number }
  | {
      readonly kind: 'told';
      readonly equal: readonly string[];
      readonly different: readonly string[];
      /** Tables that differ, and that the source has changed since its block: nothing can be said of them. */
      readonly unsettled: readonly string[];
    };

export interface CompareOptions {
  /** Compares this table and no other. */
  readonly only?: string | undefined;
  /** A table that the source has changed since its last block is not compared: the next block carries that. */
  readonly patient?: boolean;
  /**
   * Its name. Where the replica has the ids of another one, tables in which they differ are compared without them. Absent: of
   * such tables only those that the replica's marker names.
   */
  readonly source?: string;
  /** Ids count in every table. */
  readonly allIds?: boolean;
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
      const { said, pairs } = await this.#pairs(own, own.schemaFingerprint, signal);
      const settled = await this.#leaveOutOwnIds(own, said, pairs, signal);
      return await this.#differences(said, own.height!, settled, signal);
    } catch (caught) {
      if (!(caught instanceof SourceMoved)) throw caught;
      return { kind: 'elsewhere', height: own.height ?? -1, sourceHeight: caught.height };
    }
  }

  /**
   * Finds the tables that are equal at source and replica, and fetches no rows of the others. Definitions may differ where rows
   * do not.
   *
   * @throws {PlatformError} as `compare`
   */
  async attest(signal?: AbortSignal): Promise<Attestation> {
    await this.#snapshot();
    const own = await readReplicaState(this.#connection);
    const { equal, different, unsettled } = {
      equal: [] as string[],
      different: [] as string[],
      unsettled: [] as string[]
    };
    try {
      const { said, pairs } = await this.#pairs(own, null, signal);
      for (const pair of pairs) {
        const { table } = pair.claimed;
        if (isSame(pair.ours, pair.claimed)) equal.push(table);
        else {
          // Each source deals ids of its own; the followed one's are those of the replica.
          const { claimed, ours, theirs } = await this.#reread(pair, own, said, true, signal);
          if (isSame(ours, claimed)) equal.push(table);
          else (theirs?.settled === false ? unsettled : different).push(table);
        }
      }
    } catch (caught) {
      if (!(caught instanceof SourceMoved)) throw caught;
      return { kind: 'elsewhere', sourceHeight: caught.height };
    }
    return { kind: 'told', equal, different, unsettled };
  }

  /** The source's and the replica's digests of each table. @param fingerprint required schema; null: any @throws {SourceMoved} */
  async #pairs(
    own: ReplicaState,
    fingerprint: string | null,
    signal: AbortSignal | undefined
  ): Promise<{ readonly said: DatabaseDigest; readonly pairs: readonly Pair[] }> {
    const height = own.height ?? -1;
    const head = await this.#source.digestKey(signal);
    if (!isAt(head, own.height, own.hashes, fingerprint)) throw new SourceMoved(head.block_height);
    const useless = new AbortController();
    const either = AbortSignal.any([useless.signal, ...(signal ? [signal] : [])]);
    const reading = readDigests(this.#connection, this.#layout, height, head.key, either);
    reading.catch(() => undefined);
    const said = await readAt(this.#source.digest(head.key, signal), head).catch((caught: unknown) => {
      useless.abort();
      throw caught;
    });
    const claims = said.tables.filter((table) => this.covers(table));
    const here = new Map((await reading).map((figures) => [figures.table, figures]));
    const plans = new Map(digestPlans(this.#layout, height).map((plan) => [plan.name, plan]));
    const pairs = claims.map((claimed) => {
      const plan = plans.get(claimed.table) ?? null;
      return { claimed, plan, theirs: null, ours: here.get(claimed.table) ?? NOTHING };
    });
    if (own.floor === null) return { said, pairs };
    return { said, pairs: await this.#aboveFloor(said, pairs, own.floor, signal) };
  }

  /** Where the replica may have ids of its own, and has others than the source, equal rows have no ids. */
  async #leaveOutOwnIds(
    own: ReplicaState,
    said: DatabaseDigest,
    pairs: readonly Pair[],
    signal: AbortSignal | undefined
  ): Promise<readonly Pair[]> {
    const { source, allIds = false } = this.#options;
    const isOther = source !== undefined && source !== own.ids.source;
    const found: Pair[] = [];
    for (const pair of pairs) {
      const table = this.#schema.byName.get(pair.claimed.table);
      const mayDiffer = table && mayOwnIds(table) && (isOther || own.ids.own.includes(table.name)) && !allIds;
      const isEqual = isSame(pair.ours, pair.claimed);
      found.push(mayDiffer && !isEqual ? await this.#reread(pair, own, said, this.#options.patient, signal) : pair);
    }
    return found;
  }

  /** Asks again of a table, without its ids if it has any, and whether the source has changed it since its block. */
  async #reread(
    pair: Pair,
    { floor }: ReplicaState,
    said: DatabaseDigest,
    settled: boolean | undefined,
    signal: AbortSignal | undefined
  ): Promise<Pair> {
    const { claimed, plan: known } = pair;
    const { table } = claimed;
    const withIds = known?.surrogate == null;
    const range = floor === null || known?.class !== 'scoped' ? null : above(known, floor);
    const asked = this.#source.digestRanges(table, range, said.key, signal, settled && range === null, withIds);
    const theirs = await readAt(asked, said);
    if (known === null || withIds) return { ...pair, theirs };
    const plan = { ...known, withIds };
    const ranges = await readRanges(this.#connection, this.#typed, plan, range ?? wholeTable(plan), said.key);
    return { claimed: { ...claimed, ...sumOf(theirs.ranges) }, plan, theirs, ours: { ...sumOf(ranges), ranges } };
  }

  /**
   * A truncated replica has only the rows of the newest blocks, and only these are compared; it lacks the balances that
   * they do not touch.
   */
  async #aboveFloor(
    said: DatabaseDigest,
    pairs: readonly Pair[],
    floor: number,
    signal: AbortSignal | undefined
  ): Promise<readonly Pair[]> {
    const found: Pair[] = [];
    for (const pair of pairs) {
      const { plan, claimed } = pair;
      if (claimed.class === 'derived') continue;
      // A table that is equal as a whole has no rows below the floor.
      if (claimed.class === 'scoped' && plan && !isSame(pair.ours, claimed)) {
        const range = above(plan, floor);
        const [theirs, ranges] = await Promise.all([
          readAt(this.#source.digestRanges(claimed.table, range, said.key, signal), said),
          readRanges(this.#connection, this.#typed, plan, range, said.key)
        ]);
        const ours = { ...sumOf(ranges), ranges };
        found.push({ claimed: { ...claimed, ...sumOf(theirs.ranges) }, plan, theirs, ours });
      } else found.push(pair);
    }
    return found;
  }

  /** Compares again after a repair: reads only the repaired parts again, as long as the source's answers are unchanged. */
  async recheck(before: Extract<Comparison, { kind: 'different' }>, signal?: AbortSignal): Promise<Comparison> {
    if (before.more.length > 0) return this.compare(signal);
    const said = await readAt(this.#source.digest(before.said.key, signal), before.said).catch(whereMoved);
    if (JSON.stringify(said) !== JSON.stringify(before.said)) return this.compare(signal);
    await this.#snapshot();
    const plans = new Map(digestPlans(this.#layout, before.height).map((plan) => [plan.name, plan]));
    for (const { table, spans, claimed, outside, withIds } of before.tables) {
      const inside: RangeDigest[] = [];
      const plan = { ...plans.get(table)!, withIds };
      for (const span of spans)
        inside.push(...(await readRanges(this.#connection, this.#typed, plan, span, before.said.key)));
      const now = sumOf([...inside, { from: 0, to: 0, ...outside }]);
      if (!isSame(now, claimed)) return this.compare(signal);
    }
    return { kind: 'equal', height: before.height, said: before.said, ownIds: before.ownIds };
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

  async #differences(
    said: DatabaseDigest,
    height: number,
    pairs: readonly Pair[],
    signal: AbortSignal | undefined
  ): Promise<Comparison> {
    const differing = pairs.filter(({ claimed, ours }) => !isSame(ours, claimed));
    const ownIds = pairs.filter(({ plan }) => plan?.withIds === false).map(({ claimed }) => claimed.table);
    if (differing.length === 0) return { kind: 'equal', height, said, ownIds };
    const names = new Set(differing.map(({ claimed }) => claimed.table));
    const tables: TableDifference[] = [];
    let found = 0;
    const more = new Set<string>();
    for (const { claimed, plan, theirs: known, ours } of differing) {
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
      const ask = () => this.#source.digestRanges(claimed.table, null, said.key, signal, this.#options.patient);
      const theirs = known ?? (await readAt(ask(), said));
      if (this.#options.patient && theirs.settled === false) {
        more.add(plan.name);
        continue;
      }
      const room = MAX_DIFFERING_ROWS - found;
      const { isCut, difference, rows } = await this.#differenceOf({ claimed, plan, theirs, ours }, said, room, signal);
      if (isCut) more.add(plan.name);
      found += rows;
      tables.push(difference);
    }
    if (tables.length === 0 && this.#options.patient)
      return { kind: 'elsewhere', height, sourceHeight: said.block_height, unsettled: [...more] };
    return { kind: 'different', height, said, tables, more: [...more], ownIds };
  }

  /** @param room rows after which no other span is taken: then `isCut` */
  async #differenceOf(
    { claimed, plan, theirs, ours }: Pair & { readonly plan: DigestPlan; readonly theirs: TableRanges },
    said: DatabaseDigest,
    room: number,
    signal: AbortSignal | undefined
  ): Promise<{ difference: TableDifference; rows: number; isCut: boolean }> {
    const table = this.#schema.byName.get(plan.name)!;
    const found = new RangeDifference(this.#connection, this.#typed, plan, table, this.#source, said, signal);
    const taken: DigestRange[] = [];
    let isCut = false;
    if (plan.class !== claimed.class) {
      const whole = wholeTable(plan);
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
    const { bytes } = found;
    const { name, withIds } = plan;
    const difference = { table: name, ...found.difference(), spans: taken, claimed, outside, bytes, withIds };
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

function whereMoved(caught: unknown): null {
  if (caught instanceof SourceMoved) return null;
  throw caught;
}

const NOTHING: Pick<TableDigests, 'rows' | 'digest' | 'ranges'> = { rows: 0, digest: '0', ranges: [] };

/** One table as both sides have it. */
interface Pair {
  readonly claimed: TableDigest;
  /** Null: the replica has no such table. */
  readonly plan: DigestPlan | null;
  /** The source's ranges where they were asked for already. */
  readonly theirs: TableRanges | null;
  readonly ours: Pick<TableDigests, 'rows' | 'digest' | 'ranges'>;
}

/** The positions that a truncated replica has. */
function above(plan: DigestPlan, floor: number): DigestRange {
  return { ...wholeTable(plan), from: floor };
}

type Figures = Pick<TableDigest, 'rows' | 'digest'>;

function isSame(a: Figures, b: Figures): boolean {
  return a.rows === b.rows && BigInt(a.digest) === BigInt(b.digest);
}

function isAt(said: DigestKey, height: number | null, hashes: BlockHashes | null, fingerprint: string | null): boolean {
  if (said.block_height !== height || hashes === null || !sameBlock(said as BlockHashes, hashes)) return false;
  return fingerprint === null || said.fingerprint === fingerprint;
}
