import type { Connection } from '../../../db/connection.ts';
import { type BlockHashes, sameBlock } from '../../../wire/data/database.ts';
import {
  type DatabaseDigest,
  type DigestKey,
  type DigestRange,
  isInPart,
  type TableDigest,
  type TableRanges
} from '../../../wire/data/digest.ts';
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
import { readMadeTables } from '../../tables/topology.ts';
import { mayOwnIds } from '../database/carried-ids.ts';
import { type ReplicaSchema, travels } from '../database/schema.ts';
import type { ReplicaState } from '../database/state.ts';
import type { CompareOptions, DigestSource } from './comparison.ts';
import { readAt, SourceMoved } from './range-difference.ts';

/** One table as both sides have it. */
export interface Pair {
  readonly claimed: TableDigest;
  /** Null: the replica has no such table. */
  readonly plan: DigestPlan | null;
  /** The source's ranges where they were asked for already. */
  readonly sourceRanges: TableRanges | null;
  readonly replicaDigest: Pick<TableDigests, 'rows' | 'digest' | 'ranges'>;
}

const NOTHING: Pick<TableDigests, 'rows' | 'digest' | 'ranges'> = { rows: 0, digest: '0', ranges: [] };

/** Reads the digests of both sides for each comparable table. */
export class TablePairs {
  readonly #connection: Connection;
  readonly #schema: ReplicaSchema;
  readonly #source: DigestSource;
  readonly #options: CompareOptions;

  constructor(connection: Connection, schema: ReplicaSchema, source: DigestSource, options: CompareOptions) {
    this.#connection = connection;
    this.#schema = schema;
    this.#source = source;
    this.#options = options;
  }

  /** Reads the source's and the replica's digests of each table. @param fingerprint required schema; null: any @throws {SourceMoved} */
  async read(
    own: ReplicaState,
    fingerprint: string | null,
    signal: AbortSignal | undefined
  ): Promise<{ readonly sourceDigest: DatabaseDigest; readonly pairs: readonly Pair[] }> {
    const height = own.height ?? -1;
    const { part = null, onRead } = this.#options;
    const head = await this.#source.digestKey(signal, part);
    if (!isAt(head, own.height, own.hashes, fingerprint)) throw new SourceMoved(head.block_height);
    const useless = new AbortController();
    const either = AbortSignal.any([useless.signal, ...(signal ? [signal] : [])]);
    const covers = (table: string) => isInPart(part, table);
    const reading = readDigests(this.#connection, this.layout, height, head.key, { signal: either, covers, onRead });
    reading.catch(() => undefined);
    const sourceDigest = await readAt(this.#source.digest(head.key, signal), head).catch((caught: unknown) => {
      useless.abort();
      throw caught;
    });
    const claims = sourceDigest.tables.filter((table) => this.covers(table));
    const here = new Map((await reading).map((digest) => [digest.table, digest]));
    const plans = new Map(digestPlans(this.layout, height).map((plan) => [plan.name, plan]));
    const pairs = claims.map((claimed) => {
      const plan = plans.get(claimed.table) ?? null;
      return { claimed, plan, sourceRanges: null, replicaDigest: here.get(claimed.table) ?? NOTHING };
    });
    if (own.floor === null) return { sourceDigest, pairs };
    return { sourceDigest, pairs: await this.#aboveFloor(sourceDigest, pairs, own.floor, signal) };
  }

  /** Compares without ids those tables that differ and may have ids of the replica's own. */
  async leaveOutOwnIds(
    own: ReplicaState,
    sourceDigest: DatabaseDigest,
    pairs: readonly Pair[],
    signal: AbortSignal | undefined
  ): Promise<readonly Pair[]> {
    const { source, allIds = false } = this.#options;
    const isOther = source !== undefined && source !== own.ids.source;
    const found: Pair[] = [];
    for (const pair of pairs) {
      const table = this.#schema.byName.get(pair.claimed.table);
      const mayDiffer = table && mayOwnIds(table) && (isOther || own.ids.own.includes(table.name)) && !allIds;
      const isEqual = isSame(pair.replicaDigest, pair.claimed);
      found.push(
        mayDiffer && !isEqual
          ? await this.reread(pair, own, sourceDigest, this.#options.patient !== undefined, signal)
          : pair
      );
    }
    return found;
  }

  /** Asks again of a table, without its ids if it has any, and whether the source has changed it since its block. */
  async reread(
    pair: Pair,
    { floor }: ReplicaState,
    sourceDigest: DatabaseDigest,
    settled: boolean | undefined,
    signal: AbortSignal | undefined
  ): Promise<Pair> {
    const { claimed, plan: known } = pair;
    const { table } = claimed;
    const withIds = known?.surrogate == null;
    const range = floor === null || known?.class !== 'scoped' ? null : above(known, floor);
    const asked = this.#source.digestRanges(table, range, sourceDigest.key, signal, settled && range === null, withIds);
    const sourceRanges = await readAt(asked, sourceDigest);
    if (known === null || withIds) return { ...pair, sourceRanges };
    const plan = { ...known, withIds };
    const ranges = await readRanges(this.#connection, this.typed, plan, range ?? wholeTable(plan), sourceDigest.key);
    return {
      claimed: { ...claimed, ...sumOf(sourceRanges.ranges) },
      plan,
      sourceRanges,
      replicaDigest: { ...sumOf(ranges), ranges }
    };
  }

  /**
   * Compares a truncated replica, which has only the rows of the newest blocks: only these are compared, and it lacks
   * the balances that they do not touch.
   */
  async #aboveFloor(
    sourceDigest: DatabaseDigest,
    pairs: readonly Pair[],
    floor: number,
    signal: AbortSignal | undefined
  ): Promise<readonly Pair[]> {
    const found: Pair[] = [];
    for (const pair of pairs) {
      const { plan, claimed } = pair;
      if (claimed.class === 'derived') continue;
      // A table that is equal as a whole has no rows below the floor.
      if (claimed.class === 'scoped' && plan && !isSame(pair.replicaDigest, claimed)) {
        const range = above(plan, floor);
        const [sourceRanges, ranges] = await Promise.all([
          readAt(this.#source.digestRanges(claimed.table, range, sourceDigest.key, signal), sourceDigest),
          readRanges(this.#connection, this.typed, plan, range, sourceDigest.key)
        ]);
        const replicaDigest = { ...sumOf(ranges), ranges };
        found.push({ claimed: { ...claimed, ...sumOf(sourceRanges.ranges) }, plan, sourceRanges, replicaDigest });
      } else found.push(pair);
    }
    return found;
  }

  /** Finds tables of the replica that were made for rows of a source and that this source does not name: nothing says what is in them. */
  async unnamed(sourceDigest: DatabaseDigest, height: number): Promise<string[]> {
    const { only, part = null } = this.#options;
    if (only !== undefined) return [];
    const named = new Set(sourceDigest.tables.map(({ table }) => table));
    const compared = new Set(digestPlans(this.layout, height).map(({ name }) => name));
    const made = await readMadeTables(this.#connection);
    return made.filter((name) => isInPart(part, name) && compared.has(name) && !named.has(name));
  }

  /** Definitions of the replica's tables. */
  get typed(): SourceLayout['tables'] {
    return [...this.#schema.typed.values()];
  }

  /** Layout of the replica's tables for digests. */
  get layout(): SourceLayout {
    const { tables, heads } = this.#schema;
    const dbType = heads?.dbType ?? 'decoder';
    return {
      dbType,
      tables: this.typed,
      outsideChildren: new Set(),
      plans: tables.map(({ plan }) => plan),
      heads,
      fingerprint: '',
      notReplicated: new Map()
    };
  }

  /** Returns whether a table is compared: not where this replica's operator keeps it local, nor where the replica does not have it. */
  covers({ table }: Pick<TableDigest, 'table'>): boolean {
    const { only, part = null } = this.#options;
    if ((only !== undefined && table !== only) || !isInPart(part, table)) return false;
    const own = this.#schema.byName.get(table);
    if (table === 'sync_meta') return this.#schema.only === null;
    return own === undefined ? !this.#schema.isLocal(table) : travels(own);
  }
}

/** Returns the positions that a truncated replica has. */
function above(plan: DigestPlan, floor: number): DigestRange {
  return { ...wholeTable(plan), from: floor };
}

type RowsDigest = Pick<TableDigest, 'rows' | 'digest'>;

/** Returns whether both digests are of the same rows. */
export function isSame(a: RowsDigest, b: RowsDigest): boolean {
  return a.rows === b.rows && BigInt(a.digest) === BigInt(b.digest);
}

function isAt(
  digestKey: DigestKey,
  height: number | null,
  hashes: BlockHashes | null,
  fingerprint: string | null
): boolean {
  if (digestKey.block_height !== height || hashes === null || !sameBlock(digestKey, hashes)) return false;
  return fingerprint === null || digestKey.fingerprint === fingerprint;
}
