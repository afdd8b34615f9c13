import { createActor, type InspectionEvent } from 'xstate';
import { untilAborted } from '../../../../actors/runtime/thread/until-aborted.ts';
import { auditMachine, MAX_MISSES } from '../../../../machines/sync/audit.ts';
import type { Outcome } from '../../../../machines/sync/replica.ts';
import { type Connection, connect, isLacking, statementTag } from '../../../db/connection.ts';
import { SerialConnection } from '../../../db/serial-connection.ts';
import { hasCode, PlatformError } from '../../../errors.ts';
import { count } from '../../../observe/counters.ts';
import { isInPart } from '../../../wire/data/digest.ts';
import type { ComparingReport, Verification } from '../../../wire/state/report.ts';
import type { SourceClient } from '../../client/source-client.ts';
import type { Comparison } from '../compare/comparison.ts';
import { DigestComparison } from '../compare/digest-compare.ts';
import { repair } from '../compare/repair.ts';
import { writeReplicaState } from '../database/state.ts';
import type { Replica } from '../parts/replica.ts';
import { ReplicaLost } from '../parts/replica-lost.ts';
import { namesOf, nextComparison } from './audit-reason.ts';
import { type ComparisonPlan, ComparisonPosition } from './comparison-position.ts';
import { DigestQuorum, type QuorumVerdict } from './digest-quorum.ts';
import { WaitingBlocks } from './waiting-blocks.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'progress' | 'store' | 'sources' | 'stream' | 'halt' | 'commitment'>;

const STATEMENT_LIMIT_S = 60;
/** Blocks that wait longer than this are more urgent than a repair; the next comparison holds them. */
const PATIENCE_MS = 10_000;
/** Comparisons beside blocks, one after another, that found tables of which the source cannot say any more whether it has changed them. */
const UNSETTLED_MISSES = 2;
/** Blocks wait so long for a comparison that repairs what one beside them has found. */
const HELD_PATIENCE_MS = 600_000;
/** Repairs of one comparison while the source itself changes, or while there is more to repair. */
const MAX_ROUNDS = 20;
/** Tables that are named, in the log and in the status. */
const MAX_NAMED = 20;

type Equal = Extract<Comparison, { kind: 'equal' }>;
type Different = Extract<Comparison, { kind: 'different' }>;

/** Result of a comparison, with the verdict of the other sources. */
interface Compared {
  readonly found: Comparison;
  /** Verdict about an equal replica. */
  readonly verdict: QuorumVerdict;
}

/** A comparison beside the blocks that are applied. */
interface Beside {
  readonly stop: AbortController;
  ended: Ended | null;
}

type Ended = { readonly compared: Compared } | { readonly caught: unknown };

const CONFIRMED: QuorumVerdict = { unconfirmed: [], isContradicted: false };

/**
 * Compares the replica at rest with the source that is followed, and repairs what differs. Where sources are compared with each
 * other, it counts as verified when a majority of them has the same rows.
 */
export class ReplicaAudit {
  readonly #replica: Parts;
  #state: Verification = 'pending';
  /** A difference that could not be located has led to a bootstrap already. */
  #hasLost = false;
  /** When the comparison under way began, by `performance.now()`. */
  #began = 0;
  readonly #schedule;
  readonly #quorum: DigestQuorum;
  #unconfirmed: readonly string[] = [];
  /** Tables that differed when they were compared last, and that the source has changed since its block. */
  #differing: readonly string[] = [];
  /** Why the replica is not verified. */
  #why = 'no comparison has ended since the start';
  /** When the replica was verified, and when that was to be renewed, by `performance.now()`. */
  #verifiedAt = Number.NEGATIVE_INFINITY;
  #renewedAt = Number.NEGATIVE_INFINITY;
  /** The comparison that goes on beside the blocks that came meanwhile. */
  #beside: Beside | null = null;
  /** A comparison beside blocks found a difference: they wait for the next one, which repairs it. */
  #holdsBlocks = false;
  readonly #position: ComparisonPosition;
  /** Tables of the comparison under way; null while there is none. */
  #plan: ComparisonPlan | null = null;
  /** Height of the replica when the comparison began. */
  #beganAt = 0;
  #read = 0;
  /** Milliseconds that comparisons of other tables took before it. */
  #spentMs = 0;
  /** Tables with ids of the replica's own when the comparison began. */
  #ownIds: readonly string[] = [];

  /** @param inspect sees the schedule's changes of state */
  constructor(replica: Parts, inspect: (inspection: InspectionEvent) => void) {
    this.#replica = replica;
    this.#schedule = createActor(auditMachine, { input: { epochSize: replica.data.epochSize }, inspect }).start();
    this.#quorum = new DigestQuorum(replica);
    this.#position = new ComparisonPosition(replica);
  }

  /** Tables for which no majority of the sources has the replica's rows. */
  get unconfirmed(): readonly string[] {
    return this.#unconfirmed;
  }

  /** The end of the last comparison; `unverified` once it is older than VERIFY_MAX_AGE. */
  get state(): Verification {
    return this.#state === 'verified' && this.#age() > this.#maxAgeMs ? 'unverified' : this.#state;
  }

  /** Why it is not verified, and what is done about that; null while it is. */
  get reason(): string | null {
    if (this.state === 'verified') return null;
    const schedule = this.#schedule.getSnapshot();
    const isOld = this.#state === 'verified';
    if (schedule.matches('comparing')) {
      const seconds = Math.round((performance.now() - this.#began) / 1_000);
      return `compared with ${this.#url} for ${seconds} s now; before: ${this.#why}`;
    }
    const why = isOld ? 'the last comparison is older than VERIFY_MAX_AGE' : this.#why;
    const next = nextComparison(schedule);
    return next === null ? why : `${why}; ${next}`;
  }

  /** A comparison found tables that differ and that the source is about to send. */
  get isDiffering(): boolean {
    return this.#differing.length > 0;
  }

  /** Progress of the comparison under way, by MariaDB's estimate of the rows; null when there is none. */
  get comparing(): ComparingReport | null {
    if (this.#plan === null || !this.#replica.store.knownState) return null;
    const before = this.#plan.part === null ? null : this.#position.known;
    const share = ((before?.rows ?? 0) + this.#read) / Math.max(1, this.#plan.rows);
    return {
      height: before?.height ?? this.#beganAt,
      percent: Math.min(99, Math.floor(100 * share)),
      sinceMs: Math.round(before ? Date.now() - Date.parse(before.at) : performance.now() - this.#began)
    };
  }

  get #url(): string {
    return this.#replica.sources.client.url;
  }

  get #maxAgeMs(): number {
    return this.#replica.data.verifyMaxAgeMs ?? Number.POSITIVE_INFINITY;
  }

  /** Milliseconds since the replica was verified. */
  #age(): number {
    return performance.now() - this.#verifiedAt;
  }

  /** Whether to compare now, while no block waits to be applied. */
  isDueAtRest(): boolean {
    if (this.#beside) return this.#beside.ended !== null;
    const halfMs = this.#maxAgeMs / 2;
    if (this.#state === 'verified' && this.#age() > halfMs && performance.now() - this.#renewedAt > halfMs) {
      this.#renewedAt = performance.now();
      this.#schedule.send({ type: 'audit.requested' });
    }
    this.#schedule.send({ type: 'replica.rested', height: this.#height });
    return this.#schedule.getSnapshot().hasTag('due');
  }

  /** After a reconnect: the source may be another one, and offer what the last one did not. */
  renew(): void {
    this.close();
    this.#schedule.send({ type: 'source.renewed' });
    this.#forgetVerdict('it was not compared since the connection to its source was made');
  }

  /** As soon as the replica is at rest, where the source offers digests. */
  scheduleNow(why = 'rows may have changed that no message told of'): void {
    this.close();
    this.#position.forget();
    if (this.#isUnavailable) return;
    this.#schedule.send({ type: 'audit.requested' });
    this.#forgetVerdict(why);
  }

  /** The same, but a comparison that goes on beside blocks goes on: it does not speak of the rows that make another necessary. */
  scheduleNext(): void {
    if (!this.#beside) this.scheduleNow();
  }

  /** The source has sent what it had changed: a comparison that missed for it need not wait for its pause to end. */
  retry(): void {
    if (this.#schedule.getSnapshot().matches('missed')) this.#schedule.send({ type: 'audit.requested' });
  }

  get #height(): number {
    return this.#replica.store.state.height!;
  }

  /** The source offers no digests. */
  get #isUnavailable(): boolean {
    return this.#schedule.getSnapshot().matches('unavailable');
  }

  /** Some of the tables are compared, not all. */
  get #isPart(): boolean {
    return this.#plan !== null && this.#plan.part !== null;
  }

  get #misses(): number {
    return this.#schedule.getSnapshot().context.misses;
  }

  #forgetVerdict(why: string): void {
    if (this.#state !== 'verified') return;
    this.#state = 'pending';
    this.#why = why;
    this.#replica.progress.changed();
  }

  #ended(type: 'comparison.concluded' | 'comparison.missed' | 'comparison.interrupted'): void {
    const tookMs = this.#spentMs + performance.now() - this.#began;
    this.#plan = null;
    this.#schedule.send({ type, height: this.#height, tookMs });
  }

  /**
   * Done when replica and source are equal, when nothing can be said now, and when blocks wait: then the comparison goes on beside
   * them, and ends with a later call. A source's fault is no fault of the replica. `halted` when a difference is there again right
   * after its repair.
   */
  async verify(signal: AbortSignal): Promise<Outcome> {
    if (this.#isUnavailable) return await this.#withoutDigests();
    const ended = this.#beside?.ended;
    const plan = this.#plan;
    // One that has not ended was begun before a catch-up.
    this.close();
    if (ended) return this.#takeUp(ended, plan);
    this.#schedule.send({ type: 'comparison.begun', height: this.#height });
    this.#began = performance.now();
    [this.#plan, this.#read, this.#beganAt] = [null, 0, this.#height];
    this.#ownIds = this.#replica.store.state.ids.own;
    const line = new SerialConnection(this.#open);
    const stop = new AbortController();
    const abort = () => stop.abort(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    const blocks = await WaitingBlocks.watch(this.#replica);
    if (this.#holdsBlocks) blocks.whenLate(HELD_PATIENCE_MS, () => stop.abort());
    const opened = Promise.withResolvers<void>();
    const comparing = this.#compare(line, stop.signal, opened.resolve);
    comparing.catch(() => undefined);
    try {
      // Its snapshot must be of the replica at rest.
      const beside = opened.promise.then(() => blocks.some);
      const compared = await Promise.race(this.#holdsBlocks ? [comparing] : [comparing, beside]);
      if (compared?.found.kind === 'different' && this.#isPart) return await this.#repairNext(compared.found);
      if (compared) return await this.#settle(compared, line, stop, blocks);
      this.#goBeside(comparing, line, stop);
      return { kind: 'done' };
    } catch (caught) {
      if (signal.aborted) throw caught;
      return await this.#failed(caught, stop.signal.aborted);
    } finally {
      signal.removeEventListener('abort', abort);
      blocks.end();
      if (!this.#beside) line.destroy();
    }
  }

  /** Ends the comparison that goes on beside blocks. */
  close(): void {
    this.#beside?.stop.abort();
    [this.#beside, this.#plan] = [null, null];
  }

  /** Blocks came: the comparison goes on in its snapshot, and they are applied. */
  #goBeside(comparing: Promise<Compared>, line: SerialConnection, stop: AbortController): void {
    const beside: Beside = { stop, ended: null };
    this.#beside = beside;
    const end = (ended: Ended) => {
      beside.ended = ended;
      line.destroy();
    };
    comparing.then(
      (compared) => end({ compared }),
      (caught: unknown) => end({ caught })
    );
  }

  /** Takes up the end of a comparison beside blocks, at rest: nothing else writes then. */
  async #takeUp(ended: Ended, plan: ComparisonPlan | null): Promise<Outcome> {
    this.#plan = plan;
    if ('caught' in ended) return await this.#failed(ended.caught, false);
    const { found, verdict } = ended.compared;
    if (found.kind === 'equal') await this.#conclude(found, verdict);
    else if (found.kind === 'different') return await this.#repairNext(found);
    else {
      if (found.unsettled) await this.#doubt({});
      if (found.unsettled && this.#misses >= UNSETTLED_MISSES) this.#compareAtRest(found.height);
      else this.#missed(found);
    }
    return { kind: 'done' };
  }

  async #repairNext({ height }: Different): Promise<Outcome> {
    await this.#doubt({ misses: true });
    this.#compareAtRest(height);
    return { kind: 'done' };
  }

  /**
   * Makes the next comparison run at rest: blocks wait for it. A comparison beside blocks, or of some tables, cannot repair a
   * difference.
   */
  #compareAtRest(height: number): void {
    this.#holdsBlocks = true;
    const why = 'tables differ from the source: blocks wait for the comparison that repairs them';
    this.#replica.log.info({ height }, why);
    this.#ended('comparison.interrupted');
    this.#position.forget();
    this.#schedule.send({ type: 'audit.requested' });
    this.#forgetVerdict(why);
  }

  async #failed(caught: unknown, isInterrupted: boolean): Promise<Outcome> {
    const held = this.#holdsBlocks;
    this.#holdsBlocks = false;
    if (isOurs(caught)) throw caught;
    if (hasCode(caught, 'ROW_CONTRADICTION') && !this.#hasLost) {
      this.#hasLost = true;
      throw new ReplicaLost(caught);
    }
    if (!isInterrupted) return await this.#notVerified(caught);
    if (held) this.#interrupted();
    else this.#compareAtRest(this.#height);
    return { kind: 'done' };
  }

  #open = () => {
    const { coordinates, generation } = this.#replica.data;
    const tag = statementTag(coordinates.name, generation);
    return connect(coordinates, { tag, statementLimitS: STATEMENT_LIMIT_S });
  };

  #ask(
    line: SerialConnection,
    signal: AbortSignal,
    work: (comparison: DigestComparison) => Promise<Comparison>,
    opened: () => void = () => undefined
  ): Promise<Comparison> {
    const patient = !this.#holdsBlocks;
    const onRead = (rows: number) => {
      this.#read += rows;
      this.#replica.progress.changed();
    };
    return untilAborted(
      line.use(async (connection) => {
        const { context } = this.#replica.store;
        const { client: source } = this.#replica.sources;
        const part = this.#plan?.part ?? null;
        const options = { patient, source: source.url, opened, onRead, part };
        return work(new DigestComparison(connection, context.schema, source, options));
      }),
      signal
    );
  }

  /** Reads only. */
  async #compare(line: SerialConnection, signal: AbortSignal, opened: () => void): Promise<Compared> {
    const { followed } = this.#replica.sources;
    const plan = await line.use((connection) => this.#position.plan(connection));
    this.#plan = this.#holdsBlocks ? { ...plan, part: null } : plan;
    const found = await this.#ask(line, signal, (comparison) => comparison.compare(signal), opened);
    followed.offersDigests = true;
    return this.#judged(found, line, signal);
  }

  /** Repairs and compares again until both are equal. */
  async #settle(
    compared: Compared,
    line: SerialConnection,
    stop: AbortController,
    blocks: WaitingBlocks
  ): Promise<Outcome> {
    const { signal } = stop;
    if (!this.#holdsBlocks) blocks.whenLate(PATIENCE_MS, () => stop.abort());
    let { found, verdict } = compared;
    let repaired: Different | null = null;
    const { misses } = this.#replica.store.state;
    for (let round = 0; found.kind === 'different' && round < MAX_ROUNDS; round++) {
      await this.#noteIds(found);
      await this.#doubt({ misses: true });
      const again = repaired && findAgain(repaired, found);
      if (again) return await this.#halt(again, found);
      await this.#repair(found);
      const before = found;
      repaired = before;
      const now = await this.#ask(line, signal, (comparison) => comparison.recheck(before, signal));
      ({ found, verdict } = await this.#judged(now, line, signal));
    }
    if (found.kind === 'equal') await this.#conclude(found, verdict);
    else if (found.kind === 'elsewhere') {
      // Everything that differed was repaired before one of them went on: the next block completes it.
      if (repaired?.more.length === 0) await this.#doubt({ misses });
      if (found.unsettled) await this.#doubt({});
      this.#missed(found);
    } else
      throw new PlatformError('SOURCE_INVALID', { reason: 'the source changes faster than the client can compare' });
    // At another block than the source, it is tried again.
    this.#holdsBlocks &&= found.kind === 'elsewhere' && this.#misses > 0;
    return { kind: 'done' };
  }

  /** Rows differ: the replica is not complete before its source has sent more, or a comparison finds it equal. */
  async #doubt(change: { readonly misses?: boolean }): Promise<void> {
    const { writer, state } = this.#replica.store;
    if (state.phase !== 'following' || (!state.complete && (change.misses ?? state.misses) === state.misses)) return;
    await writeReplicaState(writer, { complete: false, ...change });
    await this.#replica.store.reloadState();
  }

  async #repair({ height, tables }: Different): Promise<void> {
    const { writer, context } = this.#replica.store;
    const { log } = this.#replica;
    const { client: source } = this.#replica.sources;
    try {
      await repair(writer, context, height, tables);
    } catch (caught) {
      throw hasCode(caught, 'ROW_CONTRADICTION') ? new ReplicaLost(caught) : caught;
    }
    this.#replica.commitment?.repaired(tables.map(({ table }) => table));
    count('digest.repaired', tables.length);
    for (const { table, surplus, missing, spans } of tables) {
      const facts = { table, height, ranges: spans.length, removed: surplus.length, added: missing.length };
      log.warn({ ...facts, source: source.url }, `table ${table} differed from its source: repaired`);
    }
    await this.#replica.store.reloadState();
  }

  /** Records the origin of the ids of an equal replica: all tables that are not named have those of this source. */
  async #noteIds({ kind, ownIds }: Equal | Different): Promise<void> {
    const { writer, state } = this.#replica.store;
    const { client: source } = this.#replica.sources;
    const { log } = this.#replica;
    // What differs may be equal but for its ids, or is made so by a repair; blocks beside it may have dealt ids of their own.
    const part = this.#plan?.part ?? null;
    const isAsked = (table: string) => kind === 'equal' && isInPart(part, table) && this.#ownIds.includes(table);
    const before = state.ids.own.filter((table) => !isAsked(table));
    const own = [...new Set([...before, ...ownIds])].sort();
    const ids = { source: kind === 'equal' ? source.url : state.ids.source, own };
    if (JSON.stringify(ids) === JSON.stringify(state.ids)) return;
    await writeReplicaState(writer, { ids });
    await this.#replica.store.reloadState();
    const tables = own.filter((table) => !state.ids.own.includes(table));
    if (tables.length > 0)
      log.info(
        { tables, source: source.url },
        'the AUTO_INCREMENT ids of these tables differ from the source and are kept'
      );
  }

  /** Lets the other sources decide where the replica equals the source that is followed. */
  async #judged(found: Comparison, line: SerialConnection, signal: AbortSignal): Promise<Compared> {
    if (found.kind !== 'equal') return { found, verdict: CONFIRMED };
    const { height, said, unnamed } = found;
    if (unnamed.length > 0) return { found, verdict: { unconfirmed: unnamed, isContradicted: true } };
    if (!this.#quorum.isNeeded) return { found, verdict: CONFIRMED };
    const { schema } = this.#replica.store.context;
    const part = this.#plan?.part ?? null;
    const compare = (source: SourceClient) => (connection: Connection) =>
      new DigestComparison(connection, schema, source, { part }).attest(signal);
    const equal = said.tables.map(({ table }) => table).filter((table) => schema.byName.has(table));
    const attest = (source: SourceClient) => untilAborted(line.use(compare(source)), signal);
    return { found, verdict: await this.#quorum.judge(height, equal, attest, signal) };
  }

  /** Notes the end of a comparison that found no difference. Blocks may have been applied since it began. */
  async #conclude(found: Equal, verdict: QuorumVerdict): Promise<void> {
    const { height } = found;
    await this.#noteIds(found);
    await this.#settled(height === this.#height);
    if (verdict.unconfirmed.length === 0) return this.#equal(height);
    this.#leaveUnconfirmed(height, verdict);
  }

  /**
   * A message that did not bring all that changed left the replica incomplete; now it is equal, or was when blocks came that were applied
   * since: what they miss would have ended the comparison.
   */
  async #settled(isAtRest: boolean): Promise<void> {
    const { writer, state } = this.#replica.store;
    const { learned } = this.#replica.sources;
    if ((state.complete && !state.misses) || state.phase !== 'following') return;
    if (!isAtRest && !state.misses) return;
    const now = isAtRest ? { complete: true, settledHeight: state.height } : {};
    await writeReplicaState(writer, { ...now, misses: false, learned });
    await this.#replica.store.reloadState();
  }

  #leaveUnconfirmed(height: number, { unconfirmed, isContradicted }: QuorumVerdict): void {
    this.#unconfirmed = unconfirmed.slice(0, MAX_NAMED);
    this.#position.forget();
    const { log } = this.#replica;
    const { records: sources } = this.#replica.sources;
    const tables = this.#unconfirmed;
    count('digest.unconfirmed');
    const said = Object.fromEntries(sources.map(({ url, digests }) => [url, digests]));
    const level = isContradicted ? 'warn' : 'info';
    log[level]({ height, tables, said }, 'no majority of the sources has these tables as the replica has them');
    // What was verified before stays so while the others are only a block away.
    const isLate = this.#misses + 1 >= MAX_MISSES;
    this.#differing = [];
    if (isContradicted || isLate || this.#state !== 'verified') {
      this.#state = 'unverified';
      this.#why = `no majority of the sources has these tables as the replica has them: ${namesOf(tables)}`;
    }
    this.#ended(isContradicted ? 'comparison.concluded' : 'comparison.missed');
    this.#replica.progress.changed();
  }

  /** With the last tables, all were found equal. */
  async #equal(height: number): Promise<void> {
    const part = this.#plan?.part ?? null;
    const { known } = this.#position;
    if (part === null || ('without' in part && known)) return this.#verified(part && known, height);
    if ('without' in part) return this.#goOn(); // the tables before it do not count any more
    await this.#position.add(part.only, height, this.#read);
    const { rows } = this.#plan!;
    this.#replica.log.info({ height, table: part.only, rows: this.#read, of: rows }, 'a large table is equal');
    this.#goOn();
  }

  #goOn(): void {
    this.#ended('comparison.interrupted');
    this.#spentMs += performance.now() - this.#began;
    this.#schedule.send({ type: 'audit.requested' });
  }

  /** @param first what was compared before; null: all was compared at this height */
  async #verified(first: { readonly height: number; readonly at: string } | null, height: number): Promise<void> {
    const { writer } = this.#replica.store;
    const verifiedAt = first?.at ?? new Date().toISOString();
    await writeReplicaState(writer, { verifiedHeight: first?.height ?? height, verifiedAt, compared: null });
    // What the majority has is here without them.
    await this.#replica.store.dropOldTables();
    await this.#replica.store.reloadState();
    this.#state = 'verified';
    this.#verifiedAt = performance.now() - Math.max(0, Date.now() - Date.parse(verifiedAt));
    this.#unconfirmed = [];
    this.#differing = [];
    count('digest.equal');
    this.#hasLost = false;
    this.#ended('comparison.concluded');
    this.#spentMs = 0;
  }

  /** The source is a block ahead, or behind: soon both may stand at the same one. */
  #missed({ height, sourceHeight, unsettled }: Extract<Comparison, { kind: 'elsewhere' }>): void {
    const { log } = this.#replica;
    count('digest.elsewhere');
    this.#differing = unsettled ?? [];
    const why = unsettled
      ? `${namesOf(unsettled)} differ, and ${this.#url} has changed them since its block ${height}`
      : `${this.#url} stood at block ${sourceHeight} when block ${height} was compared`;
    if (!unsettled) log.debug({ height, sourceHeight }, 'replica and source are at different blocks: not compared');
    else
      log.info(
        { height, tables: unsettled },
        'these tables differ, and the source has not broadcast its changes to them yet; comparing again after the next block'
      );
    const isLate = this.#misses + 1 >= MAX_MISSES;
    this.#ended('comparison.missed');
    // What was verified before says nothing of a replica that differs now, or that was not compared for long.
    if (isLate) {
      log.warn(
        { height, sourceHeight, tries: MAX_MISSES },
        'unverified: the source was never at the block of the replica when it was compared; trying again at the next epoch'
      );
      this.#setUnverified(why);
    } else if (unsettled) this.#forgetVerdict(why);
    if (this.#state === 'pending') this.#why = why;
  }

  /** Waiting blocks are more urgent; the last result stays valid if the comparison was not due yet. */
  #interrupted(): void {
    const { isEarly } = this.#schedule.getSnapshot().context;
    this.#ended('comparison.interrupted');
    if (isEarly) return;
    this.#setUnverified('blocks arrived during the comparison');
    this.#replica.log.warn('blocks arrived during the comparison; comparing again at the next epoch');
  }

  async #notVerified(caught: unknown): Promise<Outcome> {
    const { log, sources } = this.#replica;
    const { client: source } = this.#replica.sources;
    const status = hasCode(caught, 'SOURCE_REFUSED') ? caught.detail['status'] : undefined;
    if (status === 404 || status === 405 || status === 501) {
      this.#schedule.send({ type: 'digests.refused' });
      log.info({ source: source.url }, 'the source offers no digests: the replica is unverified');
    } else {
      this.#ended('comparison.missed');
      log.warn({ err: caught, source: source.url }, 'the replica could not be compared with its source');
    }
    const isRefused = this.#isUnavailable;
    this.#setUnverified(isRefused ? `${this.#url} offers no digests` : PlatformError.from(caught).message);
    sources.followed.offersDigests = !isRefused;
    return isRefused ? await this.#withoutDigests() : { kind: 'done' };
  }

  /** No comparison will say that nothing is missing: the next since-snapshot, with whole tables, is all that there is. */
  async #withoutDigests(): Promise<Outcome> {
    const { store } = this.#replica;
    if (!store.state.misses || store.state.phase !== 'following') return { kind: 'done' };
    await writeReplicaState(store.writer, { phase: 'reconciling', misses: false });
    await store.reloadState();
    return { kind: 'behind' };
  }

  #setUnverified(why: string): void {
    this.#state = 'unverified';
    this.#why = why;
    count('digest.unverified');
    this.#replica.progress.changed();
  }

  async #halt(table: string, { height, tables }: Different): Promise<Outcome> {
    count('digest.mismatch');
    const { spans, surplus, missing } = tables.find((each) => each.table === table)!;
    const mismatches = { table, ranges: spans.slice(0, 100), surplus: surplus.length, missing: missing.length };
    await this.#replica.halt.raise('digest-mismatch', height, mismatches);
    return { kind: 'halted' };
  }
}

/** A table that was repaired whole and differs again although its source says the same of it as before. */
function findAgain(repaired: Different, found: Different): string | undefined {
  if (repaired.height !== found.height) return undefined;
  const whole = repaired.tables.filter(({ table }) => !repaired.more.includes(table));
  return found.tables.find(({ table, claimed }) =>
    whole.some((before) => before.table === table && before.claimed.digest === claimed.digest)
  )?.table;
}

/** Faults after which the writer is gone, or the replica is. */
function isOurs(caught: unknown): boolean {
  return (
    caught instanceof ReplicaLost ||
    hasCode(caught, 'REPLICA_MOVED') ||
    isLacking(caught) ||
    (hasCode(caught, 'DATABASE_UNAVAILABLE') && caught.detail['repair'] !== undefined)
  );
}
