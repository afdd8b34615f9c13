import type { Connection } from '../../../db/connection.ts';
import { PlatformError } from '../../../errors.ts';
import type { DatabaseDigest, DigestRange, RangeDigest, TableDigest, TableRanges } from '../../../wire/data/digest.ts';
import { type DigestPlan, digestPlans, readRanges, sumOf, wholeTable } from '../../tables/digest.ts';
import type { ReplicaSchema } from '../database/schema.ts';
import { readReplicaState } from '../database/state.ts';
import type {
  Attestation,
  CompareOptions,
  Comparison,
  Different,
  DigestSource,
  TableDifference
} from './comparison.ts';
import { findSpans, RangeDifference, readAt, SourceMoved } from './range-difference.ts';
import { isSame, type Pair, TablePairs } from './table-pairs.ts';

/** Differing rows of one comparison; the next comparison finds the rest. */
const MAX_DIFFERING_ROWS = 100_000;

/** Compares one replica with one source. All reads of one call are of one snapshot. */
export class DigestComparison {
  readonly #connection: Connection;
  readonly #schema: ReplicaSchema;
  readonly #source: DigestSource;
  readonly #options: CompareOptions;
  readonly #pairs: TablePairs;

  constructor(connection: Connection, schema: ReplicaSchema, source: DigestSource, options: CompareOptions = {}) {
    this.#connection = connection;
    this.#schema = schema;
    this.#source = source;
    this.#options = options;
    this.#pairs = new TablePairs(connection, schema, source, options);
  }

  /** @throws {PlatformError} as the source, RANGE_TOO_LARGE where rows cannot be told apart, DATABASE_UNAVAILABLE */
  async compare(signal?: AbortSignal, doubted: readonly string[] = this.#options.doubted ?? []): Promise<Comparison> {
    await this.#snapshot();
    this.#options.opened?.();
    const own = await readReplicaState(this.#connection);
    let differing: readonly string[] = [];
    try {
      const { sourceDigest, pairs } = await this.#pairs.read(own, own.schemaFingerprint, signal);
      const settled = await this.#pairs.leaveOutOwnIds(own, sourceDigest, pairs, signal);
      differing = settled
        .filter(({ claimed, replicaDigest }) => !isSame(replicaDigest, claimed))
        .map(({ claimed }) => claimed.table);
      const unsettled = await this.#unsettled(sourceDigest, settled, doubted, signal);
      return await this.#differences(sourceDigest, own.height!, settled, unsettled, signal);
    } catch (caught) {
      if (!(caught instanceof SourceMoved)) throw caught;
      const elsewhere = { kind: 'elsewhere', height: own.height ?? -1, sourceHeight: caught.height } as const;
      return differing.length === 0 ? elsewhere : { ...elsewhere, unsettled: differing };
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
      const { sourceDigest, pairs } = await this.#pairs.read(own, null, signal);
      for (const pair of pairs) {
        const { table } = pair.claimed;
        if (isSame(pair.replicaDigest, pair.claimed)) equal.push(table);
        else {
          // Each source deals ids of its own; the followed one's are those of the replica.
          const { claimed, replicaDigest, sourceRanges } = await this.#pairs.reread(
            pair,
            own,
            sourceDigest,
            true,
            signal
          );
          if (isSame(replicaDigest, claimed)) equal.push(table);
          else (sourceRanges?.settled === false ? unsettled : different).push(table);
        }
      }
    } catch (caught) {
      if (!(caught instanceof SourceMoved)) throw caught;
      return { kind: 'elsewhere', sourceHeight: caught.height };
    }
    return { kind: 'told', equal, different, unsettled };
  }

  /** Compares again after a repair: reads only the repaired parts again, as long as the source's answers are unchanged. */
  async recheck(before: Different, signal?: AbortSignal): Promise<Comparison> {
    // Rows were read later than the source was asked whether it had changed them.
    const repaired = before.tables.map(({ table }) => table);
    const compare = () => this.compare(signal, [...(this.#options.doubted ?? []), ...repaired]);
    if (before.more.length > 0) return compare();
    const sourceDigest = await readAt(this.#source.digest(before.sourceDigest.key, signal), before.sourceDigest).catch(
      whereMoved
    );
    if (JSON.stringify(sourceDigest) !== JSON.stringify(before.sourceDigest)) return compare();
    await this.#snapshot();
    const { height } = await readReplicaState(this.#connection);
    if (height !== before.height) return compare();
    const plans = new Map(digestPlans(this.#pairs.layout, before.height).map((plan) => [plan.name, plan]));
    for (const { table, spans, claimed, outside, withIds } of before.tables) {
      const inside: RangeDigest[] = [];
      const plan = { ...plans.get(table)!, withIds };
      for (const span of spans)
        for (const range of await readRanges(this.#connection, this.#pairs.typed, plan, span, before.sourceDigest.key))
          inside.push(range);
      const now = sumOf([...inside, { from: 0, to: 0, ...outside }]);
      if (!isSame(now, claimed)) return contradictionOf(before, await compare(), table);
    }
    const unnamed = await this.#pairs.unnamed(before.sourceDigest, before.height);
    return { kind: 'equal', height: before.height, sourceDigest: before.sourceDigest, ownIds: before.ownIds, unnamed };
  }

  /** Returns whether a table is compared. */
  covers(table: Pick<TableDigest, 'table'>): boolean {
    return this.#pairs.covers(table);
  }

  async #snapshot(): Promise<void> {
    await this.#connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
  }

  /** Returns the equal tables among some of which the source does not say that they are as they were at its block. */
  async #unsettled(
    sourceDigest: DatabaseDigest,
    pairs: readonly Pair[],
    doubted: readonly string[],
    signal: AbortSignal | undefined
  ): Promise<readonly string[]> {
    const unsettled: string[] = [];
    for (const { claimed, replicaDigest } of pairs) {
      const { table } = claimed;
      if (!doubted.includes(table) || !isSame(replicaDigest, claimed)) continue;
      const { settled } = await readAt(
        this.#source.digestRanges(table, null, sourceDigest.key, signal, true),
        sourceDigest
      );
      if (settled === false) unsettled.push(table);
    }
    return unsettled;
  }

  async #differences(
    sourceDigest: DatabaseDigest,
    height: number,
    pairs: readonly Pair[],
    unsettled: readonly string[],
    signal: AbortSignal | undefined
  ): Promise<Comparison> {
    const differing = pairs.filter(({ claimed, replicaDigest }) => !isSame(replicaDigest, claimed));
    const ownIds = pairs.filter(({ plan }) => plan?.withIds === false).map(({ claimed }) => claimed.table);
    if (differing.length === 0 && unsettled.length > 0)
      return { kind: 'elsewhere', height, sourceHeight: sourceDigest.block_height, unsettled };
    if (differing.length === 0)
      return { kind: 'equal', height, sourceDigest, ownIds, unnamed: await this.#pairs.unnamed(sourceDigest, height) };
    const names = new Set(differing.map(({ claimed }) => claimed.table));
    const tables: TableDifference[] = [];
    let found = 0;
    const more = new Set<string>(unsettled);
    const asksSettled = this.#options.patient !== undefined;
    for (const { claimed, plan, sourceRanges: known, replicaDigest } of differing) {
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
      const ask = () => this.#source.digestRanges(claimed.table, null, sourceDigest.key, signal, asksSettled);
      const sourceRanges = known ?? (await readAt(ask(), sourceDigest));
      if (this.#options.patient && sourceRanges.settled === false) {
        more.add(plan.name);
        continue;
      }
      const room = MAX_DIFFERING_ROWS - found;
      const { isCut, difference, rows } = await this.#differenceOf(
        { claimed, plan, sourceRanges, replicaDigest },
        sourceDigest,
        room,
        signal
      );
      if (isCut) more.add(plan.name);
      found += rows;
      tables.push(difference);
    }
    if (tables.length === 0 && this.#options.patient)
      return { kind: 'elsewhere', height, sourceHeight: sourceDigest.block_height, unsettled: [...more] };
    return { kind: 'different', height, sourceDigest, tables, more: [...more], ownIds };
  }

  /** @param room rows after which no other span is taken: then `isCut` */
  async #differenceOf(
    {
      claimed,
      plan,
      sourceRanges,
      replicaDigest
    }: Pair & { readonly plan: DigestPlan; readonly sourceRanges: TableRanges },
    sourceDigest: DatabaseDigest,
    room: number,
    signal: AbortSignal | undefined
  ): Promise<{ difference: TableDifference; rows: number; isCut: boolean }> {
    const table = this.#schema.byName.get(plan.name)!;
    const found = new RangeDifference(
      this.#connection,
      this.#pairs.typed,
      plan,
      table,
      this.#source,
      sourceDigest,
      signal
    );
    const taken: DigestRange[] = [];
    let isCut = false;
    if (plan.class !== claimed.class) {
      const whole = wholeTable(plan);
      await found.takeAll(sourceRanges.ranges, whole);
      taken.push(whole);
    } else {
      for (const span of findSpans(sourceRanges.ranges, replicaDigest.ranges, null)) {
        isCut = found.size >= room;
        if (isCut) break;
        // The replica's log is made of its own blocks: where it differs is all that needs to be known.
        if (plan.name !== 'sync_meta') await found.take(span);
        taken.push(span);
      }
    }
    const isOutside = ({ from, to }: RangeDigest) => !taken.some((span) => from >= span.from && to <= span.to);
    const outside = sumOf(replicaDigest.ranges.filter(isOutside));
    const { bytes } = found;
    const { name, withIds } = plan;
    const isDoubtful = sourceRanges.settled === false;
    const difference = {
      table: name,
      ...found.difference(),
      spans: taken,
      claimed,
      outside,
      bytes,
      withIds,
      isDoubtful
    };
    return { difference, rows: found.size, isCut };
  }
}

function whereMoved(caught: unknown): null {
  if (caught instanceof SourceMoved) return null;
  throw caught;
}

/**
 * Returns a comparison after a repair, with the table that contradicts itself: by its digest it differs although it has the rows that the
 * source gave, it differs again, and the source says both times that it has not changed the table since its block.
 */
function contradictionOf(before: Different, found: Comparison, table: string): Comparison {
  if (found.kind !== 'different' || found.height !== before.height) return found;
  const isSure = [before, found].every(({ tables }) => tables.some((each) => each.table === table && !each.isDoubtful));
  return isSure ? { ...found, belied: table } : found;
}
