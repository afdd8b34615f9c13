import { createActor, type InspectionEvent } from 'xstate';
import { auditMachine, MAX_MISSES } from '../../../../machines/sync/audit.ts';
import type { Outcome } from '../../../../machines/sync/replica.ts';
import { isLacking } from '../../../db/connection.ts';
import { namedFault } from '../../../db/serial-connection.ts';
import { hasCode, PlatformError } from '../../../errors.ts';
import { count } from '../../../observe/counters.ts';
import type { ComparingReport, Verification } from '../../../wire/state/report.ts';
import type { Comparison, Different, Equal } from '../compare/comparison.ts';
import type { Replica } from '../parts/replica.ts';
import { ReplicaLost } from '../parts/replica-lost.ts';
import { AuditMarker } from './audit-marker.ts';
import { namesOf, nextComparison } from './audit-reason.ts';
import { AuditVerdict } from './audit-verdict.ts';
import { ComparisonPosition } from './comparison-position.ts';
import { type Compared, ComparisonRun } from './comparison-run.ts';
import { DigestQuorum, type QuorumVerdict } from './digest-quorum.ts';
import { WaitingBlocks } from './waiting-blocks.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'progress' | 'store' | 'sources' | 'stream' | 'halt' | 'commitment'>;
type Elsewhere = Extract<Comparison, { kind: 'elsewhere' }>;

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

const DONE: Outcome = { kind: 'done' };

/**
 * Compares the replica at rest with the source that is followed, and repairs what differs. Where sources are compared with each
 * other, it counts as verified when a majority of them has the same rows.
 */
export class ReplicaAudit {
  readonly #replica: Parts;
  readonly #schedule;
  readonly #quorum: DigestQuorum;
  readonly #position: ComparisonPosition;
  readonly #verdict: AuditVerdict;
  readonly #marker: AuditMarker;
  /** The comparison under way, at rest or beside blocks. */
  #run: ComparisonRun | null = null;
  /** A comparison beside blocks found a difference: they wait for the next one, which repairs it. */
  #holdsBlocks = false;
  /** Tables that a repair gave rows of which the source did not say that they are of its block, and the replica's block. */
  #doubted: { readonly height: number; readonly tables: readonly string[] } | null = null;
  /** A difference that could not be located has led to a bootstrap already. */
  #hasLost = false;
  /** Milliseconds that comparisons of other tables took before the one under way. */
  #spentMs = 0;

  /** @param inspect sees the schedule's changes of state */
  constructor(replica: Parts, inspect: (inspection: InspectionEvent) => void) {
    const { data, progress } = replica;
    this.#replica = replica;
    this.#schedule = createActor(auditMachine, { input: { epochSize: data.epochSize }, inspect }).start();
    this.#quorum = new DigestQuorum(replica);
    this.#position = new ComparisonPosition(replica);
    this.#verdict = new AuditVerdict(data.verifyMaxAgeMs, () => progress.changed());
    this.#marker = new AuditMarker(replica);
  }

  /** Tables for which no majority of the sources has the replica's rows. */
  get unconfirmed(): readonly string[] {
    return this.#verdict.unconfirmed;
  }

  /** The end of the last comparison; `unverified` once it is older than VERIFY_MAX_AGE. */
  get state(): Verification {
    return this.#verdict.state;
  }

  /** Reason why it is not verified, and what is done about that; null while it is. */
  get reason(): string | null {
    if (this.state === 'verified') return null;
    const { why } = this.#verdict;
    const schedule = this.#schedule.getSnapshot();
    if (schedule.matches('comparing') && this.#run) {
      const seconds = Math.round(this.#run.tookMs / 1_000);
      return `compared with ${this.#url} for ${seconds} s now; before: ${why}`;
    }
    const next = nextComparison(schedule);
    return next === null ? why : `${why}; ${next}`;
  }

  /** A comparison found tables that differ and that the source is about to send. */
  get isDiffering(): boolean {
    return this.#verdict.differing.length > 0;
  }

  /** Progress of the comparison under way; null when there is none. */
  get comparing(): ComparingReport | null {
    return this.#replica.store.knownState ? (this.#run?.report ?? null) : null;
  }

  get #url(): string {
    return this.#replica.sources.client.url;
  }

  get #height(): number {
    return this.#replica.store.state.height!;
  }

  /** The source offers no digests. */
  get #isUnavailable(): boolean {
    return this.#schedule.getSnapshot().matches('unavailable');
  }

  get #misses(): number {
    return this.#schedule.getSnapshot().context.misses;
  }

  /** Returns whether to compare now, while no block waits to be applied. */
  isDueAtRest(): boolean {
    if (this.#run?.isBeside) return this.#run.ended !== null;
    if (this.#verdict.takeRenewal()) this.#schedule.send({ type: 'audit.requested' });
    this.#schedule.send({ type: 'replica.rested', height: this.#height });
    return this.#schedule.getSnapshot().hasTag('due');
  }

  /** Forgets the last source after a reconnect: the source may be another one, and offer what the last one did not. */
  renew(): void {
    this.close();
    this.#schedule.send({ type: 'source.renewed' });
    this.#verdict.forget('it was not compared since the connection to its source was made');
  }

  /** Schedules a comparison for the moment at which the replica is at rest, where the source offers digests. */
  scheduleNow(why = 'rows may have changed that no message told of'): void {
    this.close();
    this.#position.forget();
    if (this.#isUnavailable) return;
    this.#schedule.send({ type: 'audit.requested' });
    this.#verdict.forget(why);
  }

  /** Schedules a comparison, and lets one that runs beside blocks go on: it does not cover the rows that make another necessary. */
  scheduleNext(): void {
    if (!this.#run?.isBeside) this.scheduleNow();
  }

  /** Ends the pause of a comparison that missed: the source has now sent its changes. */
  retry(): void {
    if (this.#schedule.getSnapshot().matches('missed')) this.#schedule.send({ type: 'audit.requested' });
  }

  /** Ends the comparison that goes on beside blocks. */
  close(): void {
    if (!this.#run?.isBeside) return;
    this.#run.stop();
    this.#run = null;
  }

  /**
   * Compares replica and source. The outcome is `done` when they are equal, when nothing can be said now, and when
   * blocks wait: then the comparison goes on beside them and ends with a later call. A source's fault is no fault of
   * the replica. It is `halted` when a difference is there again right after its repair.
   */
  async verify(signal: AbortSignal): Promise<Outcome> {
    if (this.#isUnavailable) return await this.#withoutDigests();
    const before = this.#run;
    // One that has not ended was begun before a catch-up.
    this.close();
    if (before?.ended) return this.#takeUp(before, before.ended);
    const blocks = await WaitingBlocks.watch(this.#replica);
    this.#schedule.send({ type: 'comparison.begun', height: this.#height });
    // At another block, what the source changed back came with that, or the table differs.
    const doubted = this.#doubted?.height === this.#height ? this.#doubted.tables : [];
    const asked = { holdsBlocks: this.#holdsBlocks, doubted };
    const run = new ComparisonRun(this.#replica, this.#quorum, this.#position, asked);
    this.#run = run;
    const abort = () => run.stop(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    try {
      return await this.#compare(run, blocks);
    } catch (caught) {
      if (signal.aborted) throw caught;
      return await this.#failed(run, caught);
    } finally {
      signal.removeEventListener('abort', abort);
      blocks.end();
      if (!run.isBeside) this.#leave(run);
    }
  }

  async #compare(run: ComparisonRun, blocks: WaitingBlocks): Promise<Outcome> {
    if (run.holdsBlocks) blocks.whenLate(HELD_PATIENCE_MS, () => run.stop());
    const comparing = run.compare();
    comparing.catch(() => undefined);
    // Its snapshot must be of the replica at rest.
    const beside = run.opened.then(() => blocks.some);
    const compared = await Promise.race(run.holdsBlocks ? [comparing] : [comparing, beside]);
    if (compared?.found.kind === 'different' && run.part !== null) return await this.#repairNext(run, compared.found);
    if (compared) return await this.#settle(run, compared, blocks);
    run.goBeside(comparing);
    return DONE;
  }

  #leave(run: ComparisonRun): void {
    run.close();
    if (this.#run === run) this.#run = null;
  }

  /** Takes up the end of a comparison beside blocks, at rest: nothing else writes then. */
  async #takeUp(run: ComparisonRun, ended: NonNullable<ComparisonRun['ended']>): Promise<Outcome> {
    if ('caught' in ended) return await this.#failed(run, ended.caught);
    const { found, verdict } = ended.compared;
    if (found.kind === 'equal') await this.#conclude(run, found, verdict);
    else if (found.kind === 'different') return await this.#repairNext(run, found);
    else {
      // Blocks that came since brought what the source had changed before them, and said themselves whether anything is left.
      if (found.unsettled && found.height === this.#height) await this.#marker.doubt();
      if (found.unsettled && this.#misses >= UNSETTLED_MISSES) this.#compareAtRest(run, found.height);
      else this.#missed(run, found);
    }
    return DONE;
  }

  async #repairNext(run: ComparisonRun, { height }: Different): Promise<Outcome> {
    await this.#marker.doubt({ misses: true });
    this.#compareAtRest(run, height);
    return DONE;
  }

  /**
   * Makes the next comparison run at rest: blocks wait for it. A comparison beside blocks, or of some tables, cannot repair a
   * difference.
   */
  #compareAtRest(run: ComparisonRun, height: number): void {
    this.#holdsBlocks = true;
    const why = 'tables differ from the source: blocks wait for the comparison that repairs them';
    this.#replica.log.info({ height }, why);
    this.#end(run, 'comparison.interrupted');
    this.#position.forget();
    this.#schedule.send({ type: 'audit.requested' });
    this.#verdict.forget(why);
  }

  /** Repairs and compares again until both are equal. */
  async #settle(run: ComparisonRun, compared: Compared, blocks: WaitingBlocks): Promise<Outcome> {
    if (!run.holdsBlocks) blocks.whenLate(PATIENCE_MS, () => run.stop());
    let { found, verdict } = compared;
    let repaired: Different | null = null;
    const { misses } = this.#replica.store.state;
    const doubtful = new Set<string>();
    for (let round = 0; found.kind === 'different' && round < MAX_ROUNDS; round++) {
      await this.#marker.noteIds(found, run);
      await this.#marker.doubt({ misses: true });
      const hopeless = repaired && (found.belied ?? findUnrepaired(repaired, found));
      if (hopeless) return await this.#halt(hopeless, found);
      for (const { table, isDoubtful } of found.tables) if (isDoubtful) doubtful.add(table);
      await this.#marker.repair(found);
      repaired = found;
      ({ found, verdict } = await run.recheck(repaired));
    }
    if (doubtful.size > 0) this.#doubt(run, found, [...doubtful]);
    else if (found.kind === 'equal') await this.#conclude(run, found, verdict);
    else if (found.kind === 'elsewhere') {
      // Everything that differed was repaired before one of them went on: the next block completes it.
      if (repaired?.more.length === 0) await this.#marker.doubt({ misses });
      if (found.unsettled) await this.#marker.doubt();
      this.#missed(run, found);
    } else
      throw new PlatformError('SOURCE_INVALID', { reason: 'the source changes faster than the client can compare' });
    // At another block than the source, it is tried again.
    this.#holdsBlocks &&= found.kind === 'elsewhere' && this.#misses > 0;
    return DONE;
  }

  /** Leaves a repaired replica incomplete whose source may have changed these tables since its block: the next comparison decides. */
  #doubt(run: ComparisonRun, { height }: Comparison, tables: readonly string[]): void {
    this.#doubted = { height, tables };
    this.#missed(run, { kind: 'elsewhere', height, sourceHeight: height, unsettled: tables });
  }

  /** Notes the end of a comparison that found no difference. Blocks may have been applied since it began. */
  async #conclude(run: ComparisonRun, found: Equal, verdict: QuorumVerdict): Promise<void> {
    const { height } = found;
    this.#doubted = null;
    await this.#marker.noteIds(found, run);
    const isAtRest = height === this.#height;
    await this.#marker.settle(isAtRest);
    if (isAtRest && run.part === null) await this.#marker.adopt();
    if (verdict.unconfirmed.length === 0) await this.#equal(run, height);
    else this.#leaveUnconfirmed(run, height, verdict);
  }

  /** Goes on to the next tables; with the last ones, all were found equal. */
  async #equal(run: ComparisonRun, height: number): Promise<void> {
    const { part, rows } = run;
    const { known } = this.#position;
    if (part === null || ('without' in part && known)) return this.#verified(run, part && known, height);
    if ('only' in part) {
      await this.#position.add(part.only, height, rows.read);
      const facts = { height, table: part.only, rows: rows.read, of: rows.of };
      this.#replica.log.info(facts, 'a large table is equal');
    } // else the tables before it do not count any more
    this.#end(run, 'comparison.interrupted');
    this.#spentMs += run.tookMs;
    this.#schedule.send({ type: 'audit.requested' });
  }

  /** @param first what was compared before; null: all was compared at this height */
  async #verified(
    run: ComparisonRun,
    first: { readonly height: number; readonly at: string } | null,
    height: number
  ): Promise<void> {
    const at = first?.at ?? new Date().toISOString();
    await this.#marker.verify(first?.height ?? height, at);
    this.#verdict.verify(at);
    this.#hasLost = false;
    this.#end(run, 'comparison.concluded');
    this.#spentMs = 0;
  }

  #leaveUnconfirmed(run: ComparisonRun, height: number, { unconfirmed, isContradicted }: QuorumVerdict): void {
    const { log, sources, progress } = this.#replica;
    const tables = unconfirmed.slice(0, MAX_NAMED);
    this.#position.forget();
    count('digest.unconfirmed');
    const digestsByUrl = Object.fromEntries(sources.records.map(({ url, digests }) => [url, digests]));
    const level = isContradicted ? 'warn' : 'info';
    log[level](
      { height, tables, said: digestsByUrl },
      'no majority of the sources has these tables as the replica has them'
    );
    this.#verdict.leaveUnconfirmed(tables, isContradicted || this.#isLastMiss);
    this.#end(run, isContradicted ? 'comparison.concluded' : 'comparison.missed');
    progress.changed();
  }

  /** Notes a comparison that missed: the source is a block ahead, or behind. Soon both may stand at the same one. */
  #missed(run: ComparisonRun, { height, sourceHeight, unsettled }: Elsewhere): void {
    const { log } = this.#replica;
    count('digest.elsewhere');
    const why = unsettled
      ? `${namesOf(unsettled)} differ, and ${this.#url} has changed them since its block ${height}`
      : `${this.#url} stood at block ${sourceHeight} when block ${height} was compared`;
    if (!unsettled) log.debug({ height, sourceHeight }, 'replica and source are at different blocks: not compared');
    else
      log.info(
        { height, tables: unsettled },
        'these tables differ, and the source has not broadcast its changes to them yet; comparing again after the next block'
      );
    const isLate = this.#isLastMiss;
    this.#end(run, 'comparison.missed');
    // What was verified before says nothing of a replica that differs now, or that was not compared for long.
    if (isLate) {
      log.warn(
        { height, sourceHeight, tries: MAX_MISSES },
        'unverified: the source was never at the block of the replica when it was compared; trying again at the next epoch'
      );
      this.#verdict.refuse(why);
    }
    this.#verdict.postpone(why, unsettled);
  }

  get #isLastMiss(): boolean {
    return this.#misses + 1 >= MAX_MISSES;
  }

  async #failed(run: ComparisonRun, caught: unknown): Promise<Outcome> {
    const held = this.#holdsBlocks;
    this.#holdsBlocks = false;
    if (isOurs(caught)) throw caught;
    if (hasCode(caught, 'ROW_CONTRADICTION') && !this.#hasLost) {
      this.#hasLost = true;
      throw new ReplicaLost(caught);
    }
    const isInterrupted = run.isStopped && !run.isBeside;
    if (!isInterrupted) return await this.#notVerified(run, caught);
    if (held) this.#interrupted(run);
    else this.#compareAtRest(run, this.#height);
    return DONE;
  }

  /** Interrupts a comparison, because waiting blocks are more urgent. The last result stays valid if the comparison was not due yet. */
  #interrupted(run: ComparisonRun): void {
    const { isEarly } = this.#schedule.getSnapshot().context;
    this.#end(run, 'comparison.interrupted');
    if (isEarly) return;
    this.#verdict.refuse('blocks arrived during the comparison');
    this.#replica.log.warn('blocks arrived during the comparison; comparing again at the next epoch');
  }

  async #notVerified(run: ComparisonRun, caught: unknown): Promise<Outcome> {
    const { log, sources } = this.#replica;
    const { url } = sources.client;
    const status = hasCode(caught, 'SOURCE_REFUSED') ? caught.detail['status'] : undefined;
    if (status === 404 || status === 405 || status === 501) {
      this.#schedule.send({ type: 'digests.refused' });
      log.info({ source: url }, 'the source offers no digests: the replica is unverified');
    } else {
      this.#end(run, 'comparison.missed');
      log.warn({ err: caught, source: url }, 'the replica could not be compared with its source');
    }
    const isRefused = this.#isUnavailable;
    this.#verdict.refuse(isRefused ? `${url} offers no digests` : PlatformError.from(namedFault(caught)).message);
    sources.followed.offersDigests = !isRefused;
    return isRefused ? await this.#withoutDigests() : DONE;
  }

  async #withoutDigests(): Promise<Outcome> {
    return (await this.#marker.reconcile()) ? { kind: 'behind' } : DONE;
  }

  async #halt(table: string, { height, tables }: Different): Promise<Outcome> {
    count('digest.mismatch');
    const { spans, surplus, missing } = tables.find((each) => each.table === table)!;
    const mismatches = { table, ranges: spans.slice(0, 100), surplus: surplus.length, missing: missing.length };
    await this.#replica.halt.raise('digest-mismatch', height, mismatches);
    return { kind: 'halted' };
  }

  #end(run: ComparisonRun, type: 'comparison.concluded' | 'comparison.missed' | 'comparison.interrupted'): void {
    this.#leave(run);
    this.#schedule.send({ type, height: this.#height, tookMs: this.#spentMs + run.tookMs });
  }
}

/** Returns a table that was repaired whole and differs again, although its source says the same of it as before. */
function findUnrepaired(repaired: Different, found: Different): string | undefined {
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
