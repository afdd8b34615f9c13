import { untilAborted } from '../../../../actors/runtime/thread/until-aborted.ts';
import { type Connection, connect, statementTag } from '../../../db/connection.ts';
import { SerialConnection } from '../../../db/serial-connection.ts';
import type { DigestPart } from '../../../wire/data/digest.ts';
import type { ComparingReport } from '../../../wire/state/report.ts';
import type { SourceClient } from '../../client/source-client.ts';
import type { Comparison, Different } from '../compare/comparison.ts';
import { DigestComparison } from '../compare/digest-compare.ts';
import type { Replica } from '../parts/replica.ts';
import type { ComparisonPlan, ComparisonPosition } from './comparison-position.ts';
import type { DigestQuorum, QuorumVerdict } from './digest-quorum.ts';

type Parts = Pick<Replica, 'data' | 'progress' | 'store' | 'sources'>;

/** Result of a comparison, with the verdict of the other sources. */
export interface Compared {
  readonly found: Comparison;
  /** Verdict about an equal replica. */
  readonly verdict: QuorumVerdict;
}

/** End of a comparison beside blocks. */
type Ended = { readonly compared: Compared } | { readonly caught: unknown };

const STATEMENT_LIMIT_S = 60;
const CONFIRMED: QuorumVerdict = { unconfirmed: [], isContradicted: false };

/** One comparison of the replica with its sources, on a connection of its own. It only reads. */
export class ComparisonRun {
  /** Blocks wait for it, so that it may repair all tables. */
  readonly holdsBlocks: boolean;
  /** Tables with ids of the replica's own when it began. */
  readonly ownIds: readonly string[];
  readonly #replica: Parts;
  readonly #quorum: DigestQuorum;
  readonly #position: ComparisonPosition;
  readonly #doubted: readonly string[];
  readonly #line: SerialConnection;
  readonly #stop = new AbortController();
  readonly #opened = Promise.withResolvers<void>();
  readonly #began = performance.now();
  readonly #beganAt: number;
  /** Tables to compare; null before they are chosen. */
  #plan: ComparisonPlan | null = null;
  #read = 0;
  #isBeside = false;
  #ended: Ended | null = null;

  /** @param doubted tables that a repair gave rows which may be of a moment between two blocks */
  constructor(
    replica: Parts,
    quorum: DigestQuorum,
    position: ComparisonPosition,
    { holdsBlocks, doubted }: { readonly holdsBlocks: boolean; readonly doubted: readonly string[] }
  ) {
    const { coordinates, generation } = replica.data;
    const { state } = replica.store;
    this.#replica = replica;
    this.#quorum = quorum;
    this.#position = position;
    this.holdsBlocks = holdsBlocks;
    this.#doubted = doubted;
    this.ownIds = state.ids.own;
    this.#beganAt = state.height!;
    const tag = statementTag(coordinates.name, generation);
    this.#line = new SerialConnection(() => connect(coordinates, { tag, statementLimitS: STATEMENT_LIMIT_S }));
  }

  /** Milliseconds since it began. */
  get tookMs(): number {
    return performance.now() - this.#began;
  }

  /** Tables that are compared; null: all. */
  get part(): DigestPart {
    return this.#plan?.part ?? null;
  }

  /** Rows of the replica that it has read, and the rows of all tables by MariaDB's estimate. */
  get rows(): { readonly read: number; readonly of: number } {
    return { read: this.#read, of: this.#plan?.rows ?? 0 };
  }

  /** Fulfilled when its snapshot is open. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  get isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Whether it goes on while blocks are applied. */
  get isBeside(): boolean {
    return this.#isBeside;
  }

  /** Its end beside blocks; null before. */
  get ended(): Ended | null {
    return this.#ended;
  }

  /** Progress, by MariaDB's estimate of the rows; null before the tables are chosen. */
  get report(): ComparingReport | null {
    if (this.#plan === null) return null;
    const before = this.part === null ? null : this.#position.known;
    const share = ((before?.rows ?? 0) + this.#read) / Math.max(1, this.#plan.rows);
    return {
      height: before?.height ?? this.#beganAt,
      percent: Math.min(99, Math.floor(100 * share)),
      sinceMs: Math.round(before ? Date.now() - Date.parse(before.at) : this.tookMs)
    };
  }

  /** Chooses the tables, and compares them. */
  async compare(): Promise<Compared> {
    const { followed } = this.#replica.sources;
    const plan = await this.#line.use((connection) => this.#position.plan(connection));
    this.#plan = this.holdsBlocks ? { ...plan, part: null } : plan;
    const found = await this.#ask((comparison) => comparison.compare(this.#stop.signal));
    followed.offersDigests = true;
    return this.#judged(found);
  }

  /** Compares again after a repair. */
  async recheck(before: Different): Promise<Compared> {
    return this.#judged(await this.#ask((comparison) => comparison.recheck(before, this.#stop.signal)));
  }

  /** Lets blocks be applied while it goes on in its snapshot. */
  goBeside(comparing: Promise<Compared>): void {
    this.#isBeside = true;
    const end = (ended: Ended) => {
      this.#ended = ended;
      this.close();
    };
    comparing.then(
      (compared) => end({ compared }),
      (caught: unknown) => end({ caught })
    );
  }

  stop(reason?: unknown): void {
    this.#stop.abort(reason);
  }

  close(): void {
    this.#line.destroy();
  }

  #ask(work: (comparison: DigestComparison) => Promise<Comparison>): Promise<Comparison> {
    const onRead = (rows: number) => {
      this.#read += rows;
      this.#replica.progress.changed();
    };
    return untilAborted(
      this.#line.use(async (connection) => {
        const { context } = this.#replica.store;
        const { client: source } = this.#replica.sources;
        const patient = !this.holdsBlocks;
        const asked = { patient, doubted: this.#doubted, part: this.part };
        const options = { ...asked, source: source.url, opened: this.#opened.resolve, onRead };
        return work(new DigestComparison(connection, context.schema, source, options));
      }),
      this.#stop.signal
    );
  }

  /** Lets the other sources decide where the replica equals the source that is followed. */
  async #judged(found: Comparison): Promise<Compared> {
    if (found.kind !== 'equal') return { found, verdict: CONFIRMED };
    const { height, sourceDigest, unnamed } = found;
    if (unnamed.length > 0) return { found, verdict: { unconfirmed: unnamed, isContradicted: true } };
    if (!this.#quorum.isNeeded) return { found, verdict: CONFIRMED };
    const { schema } = this.#replica.store.context;
    const { signal } = this.#stop;
    const compare = (source: SourceClient) => (connection: Connection) =>
      new DigestComparison(connection, schema, source, { part: this.part }).attest(signal);
    const equal = sourceDigest.tables.map(({ table }) => table).filter((table) => schema.byName.has(table));
    const attest = (source: SourceClient) => untilAborted(this.#line.use(compare(source)), signal);
    return { found, verdict: await this.#quorum.judge(height, equal, attest, signal) };
  }
}
