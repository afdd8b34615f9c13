import { setTimeout as sleep } from 'node:timers/promises';
import { createActor, type InspectionEvent, waitFor } from 'xstate';
import { Effects } from '../../../../actors/runtime/thread/effects.ts';
import { dissenters, hashQuorumMachine } from '../../../../machines/sync/hash-quorum.ts';
import { majorityOf } from '../../../consensus/source-majority.ts';
import { PlatformError } from '../../../errors.ts';
import { type BlockHashes, blockText } from '../../../wire/data/database.ts';
import type { Replica } from '../parts/replica.ts';
import type { SourceRecord } from '../parts/source-set.ts';
import { Contradictions } from './contradictions.ts';
import { DoubtedSources } from './doubted-sources.ts';
import type { HashReport } from './source-listener.ts';
import { type HashReports, LOOK_MS, type Report, SourceListeners } from './source-listeners.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'progress' | 'store' | 'sources' | 'stream' | 'halt'>;

/** Blocks that were agreed on that are remembered. */
const MAX_REMEMBERED = 1_000;
type Observer = (event: InspectionEvent) => void;

/**
 * `other`: the majority names another block, and the source that is followed does not contradict it. `unnamed`: those that could
 * name the block have passed it and cannot any more, and nobody contradicts; a later block that a majority names settles it.
 */
export type Verdict = 'agreed' | 'other' | 'unnamed' | 'halted';

type Decision = { readonly agreed: string } | 'unnamed' | 'halted';

/** The followed source's report of a block of the replica. */
interface FollowedReport {
  readonly reported: BlockHashes | null;
  readonly hasBlock: boolean;
}

/**
 * The configured sources as judges of each block: what no strict majority of them names is not applied.
 *
 * With VERIFY_HASHES unset, or fewer than two sources, everything is agreed on.
 *
 * @see the specification, "Cross-source verification"
 */
export class SourceQuorum {
  readonly #replica: Parts;
  readonly #inspect: () => Observer;
  readonly #listeners: SourceListeners;
  readonly #agreed = new Map<number, string>();
  readonly #contradictions = new Contradictions();
  readonly #doubted: DoubtedSources;
  /** Height of the last block that was logged as waiting. */
  #waitsFor: number | null = null;
  /** Height of the last block that was logged as unknown to the sources. */
  #unnamed: number | null = null;

  /** @param inspect makes an observer that sees the states of a contested height */
  constructor(replica: Parts, inspect: () => Observer) {
    this.#replica = replica;
    this.#inspect = inspect;
    this.#doubted = new DoubtedSources(replica.log);
    this.#listeners = new SourceListeners(replica, (record, report) => this.#examine(record, report));
  }

  get isActive(): boolean {
    const { verifyHashes, sources } = this.#replica.data;
    return verifyHashes && sources.length > 1;
  }

  /** Listens to every source except the followed one. */
  listen(): void {
    if (this.isActive) this.#listeners.listen();
  }

  close(): void {
    this.#listeners.close();
    this.#contradictions.clear();
  }

  /**
   * Waits until a strict majority of the configured sources names a block of the source that is followed.
   *
   * @returns `halted` when the sources disagree for good; the halt is durable then
   * @throws {PlatformError} SOURCE_INVALID when the source is in the minority, or names blocks that no other source has
   */
  async confirm(height: number, hashes: BlockHashes, signal: AbortSignal): Promise<Verdict> {
    const named = blockText(hashes);
    if (this.isActive && named === null) throw this.#refusal(height, 'has no hash');
    if (!this.isActive || this.#agreed.get(height) === named) return 'agreed';
    const decision = await this.#decide(height, named, (report) => report === named, signal);
    if (typeof decision === 'string') return decision;
    return decision.agreed === named ? 'agreed' : 'other';
  }

  /**
   * Waits until a strict majority says whether a block of the replica stands: a rollback needs the same majority as a block.
   *
   * @param followed what the source that is followed says: its hashes, where they are known, and whether it seems to have the block
   * @returns `other` when the block is to be undone; `unnamed` only where nobody contradicts the source that is followed
   * @throws {PlatformError} as `confirm`
   */
  async confirmOwnBlock(
    height: number,
    own: BlockHashes,
    followed: FollowedReport,
    signal: AbortSignal
  ): Promise<Verdict> {
    if (!this.isActive) return 'other';
    const ownText = blockText(own);
    const fits = (report: string) => (report === ownText) === followed.hasBlock;
    const decision = await this.#decide(height, followed.reported && blockText(followed.reported), fits, signal);
    if (typeof decision === 'string') return decision;
    if (decision.agreed === ownText) return 'agreed';
    this.#agreed.clear();
    return 'other';
  }

  /**
   * Leaves the source that is followed when a majority of the sources has had blocks for long that it does not send.
   *
   * @param height where it stands
   * @throws {PlatformError} SOURCE_UNREACHABLE
   */
  throwIfLeftBehind(height: number, quietMs: number): void {
    const { data } = this.#replica;
    const { client: source } = this.#replica.sources;
    if (quietMs < data.hashConfirmTimeoutMs || !this.#listeners.isMajority((at) => at > height)) return;
    const reason = `${source.url} stays at block ${height}, behind the other sources`;
    throw new PlatformError('SOURCE_UNREACHABLE', { reason, source: source.url });
  }

  /** Logs sources that still contradict the agreed hashes after the time that an ordinary reorg takes. */
  sweep(): void {
    for (const { record, height, hash } of this.#contradictions.take(this.#replica.data.hashConfirmTimeoutMs)) {
      const agreed = this.#agreed.get(height);
      if (agreed === undefined || agreed === hash || this.#listeners.heard(record, height) !== hash) continue;
      this.#mismatch(height, { [this.#replica.sources.client.url]: agreed, [record.client.url]: hash });
      this.#dissents(record, height);
    }
  }

  /**
   * @param fits whether a report leaves the height `unnamed`, rather than to wait for a majority
   * @returns the hash that is agreed on, where there is one
   */
  async #decide(
    height: number,
    followedReport: string | null,
    fits: (report: string) => boolean,
    signal: AbortSignal
  ): Promise<Decision> {
    const { sources } = this.#replica;
    const { client: source, urls } = sources;
    await sources.identify(sources.followed, signal);
    const reports: HashReports = new Map();
    let contestedAt: number | null = null;
    const tellContest = () => {
      contestedAt = performance.now();
      this.#mismatch(height, Object.fromEntries(reports));
    };
    const report = (name: string, hash: string | null) => {
      if (hash === null) return;
      reports.set(name, hash);
      judge.send({ type: 'hash.reported', source: name, hash });
    };
    const effects = new Effects({ toFault: (caught) => PlatformError.from(caught) });
    const gather = effects.effect('gather', this.#looks(height, reports, fits, report));
    const askAgain = effects.effect<void>('askAgain', async (left) => {
      await this.#listeners.askAll(height, followedReport, report, left);
      judge.send({ type: 'round.ended' });
      await sleep(LOOK_MS, undefined, { signal: left });
      return null;
    });
    const observe = this.#inspect();
    const judge = createActor(hashQuorumMachine.provide({ actors: { gather, askAgain }, actions: { tellContest } }), {
      input: {
        sources: urls,
        marksOf: sources.marksOf,
        doubted: this.#doubted.urls,
        confirmTimeoutMs: this.#replica.data.hashConfirmTimeoutMs
      },
      inspect: (event) => contestedAt !== null && observe(event)
    });
    judge.start();
    try {
      report(source.url, followedReport);
      this.#listeners.tell(height, report);
      const { value, context } = await waitFor(judge, (now) => !now.hasTag('hold'), { signal });
      if (value === 'failed') throw context.fault;
      if (value === 'unnamed') return 'unnamed';
      if (context.agreed === null) {
        await this.#halt(height, reports);
        return 'halted';
      }
      const askedMs = contestedAt === null ? 0 : performance.now() - contestedAt;
      this.#remember(height, context.agreed);
      this.#doubted.weigh(height, context.agreed, reports, askedMs);
      this.#judge(height, dissenters(context), reports, contestedAt !== null);
      return { agreed: context.agreed };
    } finally {
      judge.stop();
    }
  }

  /** Looks once at the sources that have not named a block, one after the other. @returns an effect that ends when no majority ever will */
  #looks(height: number, reports: HashReports, fits: (report: string) => boolean, report: Report) {
    const began = performance.now();
    let askAt = this.#listeners.lacksHeight ? began : began + LOOK_MS;
    let followedCannotName = false;
    return async (left: AbortSignal): Promise<'unnamed' | null> => {
      if (performance.now() >= askAt) {
        followedCannotName = await this.#listeners.askSilent(height, reports, followedCannotName, report, left);
        left.throwIfAborted(); // what they said has decided
        const waitedMs = performance.now() - began;
        if ([...reports.values()].every(fits) && this.#isUnnamed(height, reports, followedCannotName, waitedMs))
          return 'unnamed';
        this.#checkPatience(height, waitedMs);
        askAt = performance.now() + LOOK_MS;
      }
      await this.#listeners.wait(left);
      this.#listeners.tell(height, report);
      return null;
    };
  }

  /**
   * Returns whether no majority will ever name a block: the sources that named it, and those beyond it that cannot name
   * it any more, are a majority together. A source that fails or is silent never counts.
   */
  #isUnnamed(height: number, reports: HashReports, followedCannotName: boolean, waitedMs: number): boolean {
    const { log, data } = this.#replica;
    const { urls, client: source, marksOf } = this.#replica.sources;
    const unable = this.#listeners.unableToName(height, reports);
    if (followedCannotName && !reports.has(source.url)) unable.push(source.url);
    const known = new Map([...reports.keys(), ...unable].map((url) => [url, true]));
    const isOver = known.size === urls.length || waitedMs >= data.hashConfirmTimeoutMs;
    if (unable.length === 0 || !isOver || !majorityOf(known, urls.length, marksOf)) return false;
    if (this.#unnamed !== height)
      log.warn(
        { block: height, sources: unable },
        `sources beyond block ${height} cannot name it any more; the next block that a majority of the sources names decides`
      );
    this.#unnamed = height;
    return true;
  }

  /**
   * Checks how long a block has waited for a majority. It waits on, but not while the other sources are where the
   * replica is, or further.
   */
  #checkPatience(height: number, waitedMs: number): void {
    const { log, data } = this.#replica;
    const { knownState } = this.#replica.store;
    this.#replica.stream.throwIfCut();
    if (waitedMs < data.hashConfirmTimeoutMs) return;
    if (this.#waitsFor !== height) log.warn({ block: height }, `block ${height} waits for a majority of the sources`);
    this.#waitsFor = height;
    const applied = knownState?.height ?? -1;
    if (!this.#listeners.isMajority((at) => at >= applied && at < height)) return;
    throw this.#refusal(height, 'is confirmed by no other source, and they are where the replica is, or further');
  }

  #refusal(height: number, why: string): PlatformError {
    const { url } = this.#replica.sources.client;
    return new PlatformError('SOURCE_INVALID', {
      reason: `block ${height} of ${url} ${why}`,
      source: url,
      block: height
    });
  }

  /**
   * Counts a dissent for sources that were asked again, and notes a contradiction for the others: they may be on the
   * way through an ordinary reorg.
   */
  #judge(height: number, urls: readonly string[], reports: HashReports, asked: boolean): void {
    const { client: source, others } = this.#replica.sources;
    for (const record of others.filter(({ client }) => urls.includes(client.url))) {
      if (asked) this.#dissents(record, height);
      else this.#contradictions.note(record, height, reports.get(record.client.url)!);
    }
    if (!urls.includes(source.url)) return;
    this.#dissents(this.#replica.sources.followed, height);
    throw this.#refusal(height, 'is not the one that the majority of the sources names');
  }

  #dissents(record: SourceRecord, height: number): void {
    record.dissents++;
    const { url } = record.client;
    this.#replica.log.error(
      { block: height, source: url, dissents: record.dissents },
      `${url} names another block ${height} than the majority of the sources`
    );
    this.#replica.progress.changed();
  }

  #mismatch(height: number, byUrl: Readonly<Record<string, string>>): void {
    this.#replica.log.error({ block: height, said: byUrl }, `hash mismatch between sources at block ${height}`);
  }

  #remember(height: number, hash: string): void {
    this.#agreed.delete(height);
    this.#agreed.set(height, hash);
    if (this.#agreed.size > MAX_REMEMBERED) this.#agreed.delete(this.#agreed.keys().next().value!);
  }

  /** Records a listener's report that contradicts the agreed hashes. */
  #examine(record: SourceRecord, { height, hash }: HashReport): void {
    const agreed = this.#agreed.get(height);
    if (agreed !== undefined && agreed !== hash) this.#contradictions.note(record, height, hash);
  }

  async #halt(height: number, reports: HashReports): Promise<void> {
    await this.#replica.halt.raise('hash-mismatch', height, Object.fromEntries(reports), this.#replica.sources.urls);
  }
}
