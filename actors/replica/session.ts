import { join } from 'node:path';
import { type Connection, rows } from '../../src/db/core/connection.ts';
import { planSchema, type SchemaPlan } from '../../src/db/ddl/schema-writer.ts';
import type { WriterContext } from '../../src/db/replica/block-writer.ts';
import { type ReplicaSchema, readReplicaSchema } from '../../src/db/replica/schema.ts';
import { isForeign, openReplicaState, type ReplicaState, readReplicaState } from '../../src/db/replica/state.ts';
import { openWriter } from '../../src/db/replica/writer-connection.ts';
import { PlatformError } from '../../src/errors.ts';
import type { Logger } from '../../src/log.ts';
import { type Applied, Heartbeats } from '../../src/sync/client/heartbeats.ts';
import { SourceClient } from '../../src/sync/client/source-client.ts';
import { Subscription } from '../../src/sync/client/subscription.ts';
import type { ValidatorIdentity } from '../../src/sync/client/validator-identity.ts';
import { databaseKey } from '../../src/wire/database.ts';
import { type HaltReason, haltOf } from '../../src/wire/halts.ts';
import { INFRA_TABLES } from '../../src/wire/messages.ts';
import type { Halt } from '../../src/wire/report.ts';
import type { ReplicaCommitment } from '../commitment/replica-commitment.ts';
import type { ReplicaActorData } from '../protocol.ts';
import { FollowedMemory } from './followed-memory.ts';
import { type HaltObserver, ReplicaHalt } from './halt.ts';

/** A source that was followed at a death is not followed again for so long, as long as there is another. */
const DEATH_REST_MS = 300_000;
/** A bootstrap goes on with its source after as many deaths less one: it would begin anew with another. */
const DEATHS_OF_A_BOOTSTRAP = 3;

/** What is known of one source. */
export interface SourceRecord {
  readonly client: SourceClient;
  /** `heard`: only for the hashes of its blocks; `waiting`: it asked to be left alone; `unserved`: it has no such database. */
  state: 'unknown' | 'followed' | 'heard' | 'failed' | 'waiting' | 'unserved';
  height: number | null;
  error: string | null;
  /** How often it named another block, or had other rows, than the majority. */
  dissents: number;
  /** How its tables compared with the replica's when they were compared last; null: they were not. */
  digests: string | null;
  /** It asked to be left alone until then, by a clock that nobody sets. */
  restUntil: number;
}

/** What the replica's effects share: the writer, the marker as last read, and the source that is followed. */
export class ReplicaSession {
  readonly data: ReplicaActorData;
  readonly log: Logger;
  /** Called whenever something that is reported has changed. */
  readonly changed: () => void;
  /** Compares state roots; null where they are not compared. */
  readonly commitment: ReplicaCommitment | null;
  readonly #sources: readonly SourceRecord[];
  readonly #halt: ReplicaHalt;
  readonly #heartbeats: Heartbeats | null;
  readonly #memory: FollowedMemory;
  #followed = 0;
  #hasLooked = false;
  #warned = false;
  #writer: Connection | undefined;
  #state: ReplicaState | undefined;
  #schema: ReplicaSchema | undefined;
  #subscription: Subscription | undefined;
  /** Of the bootstrap or catch-up under way, 0 to 100. */
  percent: number | null = null;
  /** How fast the bootstrap under way is. */
  pace: { readonly rowsPerSecond: number; readonly etaSeconds: number | null } | null = null;
  reorgs = 0;
  /** A lookup row contradicted the replica: the next catch-up asks for whole lookup tables. */
  contradicted = false;

  /** @param inspect sees the halt machine's changes of state */
  constructor(
    data: ReplicaActorData,
    log: Logger,
    inspect: HaltObserver,
    changed: () => void,
    commitment: ReplicaCommitment | null = null
  ) {
    this.data = data;
    this.log = log;
    this.#halt = new ReplicaHalt({ file: this.file('halt.json'), log, inspect, writer: () => this.writer });
    this.#memory = new FollowedMemory(this.file('followed.json'));
    this.changed = changed;
    const { sourceCa: ca, infraOnly = false } = data;
    this.commitment = commitment;
    this.#sources = data.sources.map(({ url, apiKey }) => ({
      client: new SourceClient(url, apiKey, data.id, { ca, infraOnly }),
      state: 'unknown',
      height: null,
      error: null,
      dissents: 0,
      digests: null,
      restUntil: 0
    }));
    this.#heartbeats = data.validator ? this.#startHeartbeats(data.validator) : null;
  }

  #startHeartbeats(identity: ValidatorIdentity): Heartbeats {
    return new Heartbeats({
      identity,
      applied: () => this.#applied,
      stream: () => this.#subscription,
      source: () => this.source,
      onFault: (fault) => this.log.debug({ err: fault }, 'the source took no heartbeat')
    });
  }

  /**
   * Opens the writer when there is none, and reads marker, schema and halt.
   *
   * @param adopt makes the marker of a database that another client made, where the operator said so
   */
  async open(adopt?: () => Promise<void>): Promise<void> {
    const { coordinates, generation, id } = this.data;
    if (!this.#writer) {
      this.#writer = await openWriter(coordinates, { generation });
      await this.#warnOfLazyLog(this.#writer);
    }
    if (adopt && this.data.adopts && (await isForeign(this.#writer, id.dbType, this.data.localTables))) {
      await this.reloadSchema();
      await adopt();
    }
    this.#state = await openReplicaState(this.#writer, id.dbType, this.data.localTables);
    this.#refuseOtherPart(this.#state);
    this.commitment?.align(this.#state.height);
    await this.#halt.find();
    await this.reloadSchema();
    await this.#rememberFollowed();
  }

  /**
   * Keeps which source is followed for the next actor, and looks, once, whether this one comes after a death. The source that was followed then may
   * have caused it (what it sent took all memory), so another is tried first; later where a bootstrap is under way, for only its own source resumes it.
   */
  async #rememberFollowed(): Promise<void> {
    const { height, phase, bootstrap } = this.state;
    const progress = `${height} ${Object.keys(bootstrap?.done ?? {}).length}`;
    if (!this.#hasLooked) {
      this.#hasLooked = true;
      const deaths = await this.#memory.findDeaths(progress);
      const limit = phase === 'bootstrapping' ? DEATHS_OF_A_BOOTSTRAP : 1;
      if (deaths !== null && deaths.count >= limit) this.#avoid(deaths.url);
    }
    await this.#memory
      .keep(this.source.url, progress)
      .catch((err: unknown) => this.log.warn({ err }, 'which source is followed cannot be kept'));
  }

  #avoid(url: string): void {
    const record = this.#sources.find(({ client }) => client.url === url);
    if (!record || this.#sources.length === 1) return;
    const error = 'it was followed when the last actor died';
    Object.assign(record, { state: 'failed', error, restUntil: performance.now() + DEATH_REST_MS });
    this.log.warn({ source: url }, `another source is followed first: ${error}`);
    if (this.followed === record) this.#followNext();
  }

  /** The next one that does not want to be left alone. */
  #followNext(): void {
    const count = this.#sources.length;
    const others = this.#sources.map((_, index) => (this.#followed + 1 + index) % count);
    this.#followed = others.reduce((best, index) => (this.#restOf(index) < this.#restOf(best) ? index : best));
  }

  /** What a replica holds is settled by its bootstrap; settings that ask for something else need another one. */
  #refuseOtherPart({ height, infraOnly, floor }: ReplicaState): void {
    const { id, coordinates, infraOnly: wanted = false, stateDomain } = this.data;
    if (height === null) return;
    const setting = `SYNC_SUBSCRIBE_${id.chain}_${id.network}`.toUpperCase();
    const reason =
      infraOnly !== wanted
        ? `${coordinates.name} is ${infraOnly ? 'an infra-only' : 'a full'} replica, ${setting} asks for ${wanted ? 'infra-only' : 'full'}`
        : floor !== null && stateDomain !== null
          ? `${coordinates.name} is truncated below block ${floor}, so no root can be recomputed: set VERIFY_STATE_COMMITMENT=false`
          : null;
    if (reason !== null) throw new PlatformError('REPLICA_PARTIAL', { reason });
  }

  /** The setting is the operator's; what it costs is said. */
  async #warnOfLazyLog(writer: Connection): Promise<void> {
    const [setting] = await rows<{ flush: number }>(writer, 'SELECT @@GLOBAL.innodb_flush_log_at_trx_commit AS flush');
    const flush = Number(setting?.flush);
    if (this.#warned || flush === 1) return;
    this.#warned = true;
    const loss = 'a power loss may take back the last second of blocks, which are then fetched again';
    this.log.warn({ innodb_flush_log_at_trx_commit: flush }, `the replica server does not flush each commit: ${loss}`);
  }

  /** The halt in force; null when there is none. */
  get halt(): Halt | null {
    return this.#halt.current;
  }

  get writer(): Connection {
    if (!this.#writer) throw new PlatformError('INTERNAL', { reason: 'the replica is not open' });
    return this.#writer;
  }

  get state(): ReplicaState {
    if (!this.#state) throw new PlatformError('INTERNAL', { reason: 'the replica is not open' });
    return this.#state;
  }

  /** The marker as last read; undefined before the first look. */
  get knownState(): ReplicaState | undefined {
    return this.#state;
  }

  get context(): WriterContext {
    if (!this.#schema) throw new PlatformError('INTERNAL', { reason: 'the replica is not open' });
    const { maxRollbackDepth, epochSize } = this.data;
    return { schema: this.#schema, maxRollbackDepth, epochSize, ...(this.commitment && { examiner: this.commitment }) };
  }

  async reloadState(): Promise<ReplicaState> {
    this.moved(await readReplicaState(this.writer));
    return this.state;
  }

  /** The marker is this now. */
  moved(state: ReplicaState): void {
    this.#state = state;
    this.changed();
  }

  async reloadSchema(): Promise<void> {
    this.#schema = await readReplicaSchema(this.writer, this.data.id.dbType, this.data.localTables, this.#only);
  }

  /** What makes the tables of this replica, from its source's schema. @throws {PlatformError} SCHEMA_REFUSED, SOURCE_* */
  async planSchema(signal: AbortSignal): Promise<SchemaPlan> {
    return planSchema(await this.source.schema(signal), this.data.id.dbType, this.data.localTables, this.#only);
  }

  get #only(): ReadonlySet<string> | null {
    return this.data.infraOnly ? INFRA_TABLES : null;
  }

  get followed(): SourceRecord {
    return this.#sources[this.#followed]!;
  }

  /** The source that is followed. */
  get source(): SourceClient {
    return this.followed.client;
  }

  get clients(): readonly SourceClient[] {
    return this.#sources.map(({ client }) => client);
  }

  /** The sources that are not followed. */
  get others(): readonly SourceRecord[] {
    return this.#sources.filter((record) => record !== this.followed);
  }

  get sources(): readonly (Omit<SourceRecord, 'client'> & { readonly url: string })[] {
    return this.#sources.map(({ client, ...record }) => ({ url: client.url, ...record }));
  }

  /** The highest block that a source was seen at. */
  get tip(): number | null {
    const heights = this.#sources.map(({ height }) => height).filter((height) => height !== null);
    return heights.length === 0 ? null : Math.max(...heights);
  }

  /** The same, with the messages that wait behind one that is being applied: a replica that is stuck does not look caught up. */
  get announcedTip(): number | null {
    const heights = [this.tip, this.#subscription?.newest ?? null].filter((height) => height !== null);
    return heights.length === 0 ? null : Math.max(...heights);
  }

  /** Notes where the followed source stands. */
  sourceAt(height: number | null): void {
    Object.assign(this.followed, { state: 'followed', height, error: null });
    this.changed();
  }

  /** The live stream of the followed source, opened when there is none. */
  async subscription(): Promise<Subscription> {
    if (!this.#subscription) {
      this.#subscription = await Subscription.open(this.source);
      this.#subscription.onArrival = this.changed;
      this.#heartbeats?.tick();
    }
    return this.#subscription;
  }

  /** @throws {PlatformError} SOURCE_UNREACHABLE when the live stream was open and is gone */
  throwIfCut(): void {
    if (this.#subscription?.fault) throw this.#subscription.fault;
  }

  /** What heartbeats tell: nothing before there is a replica. */
  get #applied(): Applied | null {
    if (this.#state?.height == null || this.#state.phase === 'bootstrapping') return null;
    return { height: this.#state.height, blockTime: this.#state.blockTime };
  }

  /**
   * After a fault: nothing that is open can be trusted. A source's fault makes the next source the followed one that does
   * not want to be left alone.
   *
   * @returns what to tell of it
   */
  drop(fault: PlatformError): PlatformError {
    this.#subscription?.close();
    this.#subscription = undefined;
    this.#writer?.destroy();
    this.#writer = undefined;
    this.pace = null;
    if (!fault.code.startsWith('SOURCE_')) return fault;
    const { retryAfterS = 0, status } = fault.detail as { retryAfterS?: number; status?: number };
    const state = retryAfterS > 0 ? 'waiting' : status === 404 ? 'unserved' : 'failed';
    const restUntil = performance.now() + 1000 * retryAfterS;
    Object.assign(this.followed, { state, error: fault.message, restUntil });
    this.#followNext();
    if (this.restMs > 0) this.log.warn({ waitS: Math.ceil(this.restMs / 1000) }, `${this.source.url} asks to wait`);
    if (!this.#sources.every((source) => source.state === 'unserved')) return fault;
    const reason = `no source serves ${databaseKey(this.data.id)}: ${this.#sources.map(({ client }) => client.url).join(', ')} answered 404`;
    return new PlatformError('DATABASE_UNSERVED', { reason }, { cause: fault });
  }

  #restOf(index: number): number {
    return Math.max(0, this.#sources[index]!.restUntil - performance.now());
  }

  /** How long the source that is followed next asked to be left alone. */
  get restMs(): number {
    return this.#restOf(this.#followed);
  }

  /**
   * Halts at once; the halt is durable when this returns.
   *
   * @param sources that have to do with it; default: the one that is followed
   */
  async raiseHalt(
    reason: HaltReason,
    height: number,
    mismatches: unknown,
    sources: readonly string[] = [this.source.url]
  ): Promise<void> {
    this.#subscription?.close();
    this.#subscription = undefined;
    const recorded = this.#halt.raise(haltOf(reason, { block_index: height, mismatches, sources }));
    this.changed();
    await recorded;
  }

  /** @returns, @throws as `ReplicaHalt.clear` */
  async clearHalt(connection: Connection): Promise<Halt | null> {
    const was = await this.#halt.clear(connection);
    this.changed();
    return was;
  }

  /** Lets go of everything. */
  async close(): Promise<void> {
    this.#heartbeats?.close();
    this.#subscription?.close();
    this.#writer?.destroy();
    await this.#memory
      .forget()
      .catch((err: unknown) => this.log.warn({ err }, 'the next actor will take this end for a death'));
    await Promise.all(this.#sources.map(({ client }) => client.close()));
  }

  /** A private file of this replica in the state directory. */
  file(suffix: string): string {
    return join(this.data.stateDirectory, `${databaseKey(this.data.id).replaceAll('/', '-')}.${suffix}`);
  }
}
