import { setTimeout as sleep } from 'node:timers/promises';
import { majorityOf } from '../../../consensus/source-majority.ts';
import { blockText } from '../../../wire/data/database.ts';
import { askHashes } from '../../client/ask-hashes.ts';
import type { Replica } from '../parts/replica.ts';
import type { SourceRecord } from '../parts/source-set.ts';
import { type HashReport, SourceListener } from './source-listener.ts';

type Parts = Pick<Replica, 'data' | 'progress' | 'sources'>;

/** Reports of one block, by URL of the source. */
export type HashReports = Map<string, string>;
export type Report = (source: string, hash: string | null) => void;

/** Pause between two looks at sources that have not reported the awaited block. */
export const LOOK_MS = 500;
const ASK_LIMIT_MS = 5_000;

/** The block reports of all sources: it listens to the streams of the other sources, and can ask each one. */
export class SourceListeners {
  readonly #replica: Parts;
  readonly #onReport: (record: SourceRecord, report: HashReport) => void;
  readonly #listeners = new Map<SourceRecord, SourceListener>();
  #wake: (() => void) | undefined;

  /** @param onReport sees each block that a stream names */
  constructor(replica: Parts, onReport: (record: SourceRecord, report: HashReport) => void) {
    this.#replica = replica;
    this.#onReport = onReport;
  }

  /** Listens to every source except the followed one. */
  listen(): void {
    const { sources } = this.#replica;
    const { others } = sources;
    const { reconnectDelayMs, maxRowBytes } = this.#replica.data;
    for (const [record, listener] of this.#listeners) {
      if (others.includes(record)) continue;
      listener.close();
      this.#listeners.delete(record);
    }
    for (const record of others.filter((each) => !this.#listeners.has(each))) {
      const onReport = (report: HashReport | null, fault?: Error) => this.#note(record, report, fault);
      const { client } = record;
      const identify = (signal: AbortSignal) => sources.identify(record, signal);
      this.#listeners.set(record, new SourceListener({ client, identify, reconnectDelayMs, maxRowBytes, onReport }));
    }
  }

  close(): void {
    for (const listener of this.#listeners.values()) listener.close();
    this.#listeners.clear();
  }

  /** Some have not said yet where they stand. */
  get lacksHeight(): boolean {
    return [...this.#listeners.values()].some(({ height }) => height === null);
  }

  /** Returns the last report of a block by one of them; null when none is known. */
  heard(record: SourceRecord, height: number): string | null {
    return this.#listeners.get(record)?.heard(height) ?? null;
  }

  /** Reports what each of them last said of a block. */
  tell(height: number, report: Report): void {
    for (const [{ client }, listener] of this.#listeners) report(client.url, listener.heard(height));
  }

  /** Returns the sources that have passed a block, were asked, and cannot name it. */
  unableToName(height: number, reports: HashReports): string[] {
    const silent = [...this.#listeners].filter(([{ client }]) => !reports.has(client.url));
    return silent.filter(([, listener]) => listener.cannotName(height)).map(([{ client }]) => client.url);
  }

  /** Returns whether a majority of the configured sources stands at such a height. */
  isMajority(holds: (height: number) => boolean): boolean {
    const { sources, data } = this.#replica;
    const found = [...this.#listeners].filter(([, { height }]) => height !== null && holds(height));
    return (
      majorityOf(new Map(found.map(([{ client }]) => [client.url, true])), data.sources.length, sources.marksOf) ===
      true
    );
  }

  /** Asks all sources for their present reports; that of the followed source is passed as `said`. */
  async askAll(height: number, followedReport: string | null, report: Report, signal: AbortSignal): Promise<void> {
    const asked = [...this.#listeners].map(async ([{ client }, listener]) =>
      report(client.url, await listener.ask(height, signal))
    );
    await Promise.all([...asked, this.#askFollowed(height, followedReport, report, signal)]);
  }

  /**
   * Asks the sources that have not reported, as far as they can know. @returns whether the source that is followed cannot name the
   * block
   */
  async askSilent(
    height: number,
    reports: HashReports,
    followedCannotName: boolean,
    report: Report,
    signal: AbortSignal
  ): Promise<boolean> {
    const asked = [...this.#listeners]
      .filter(([{ client }, { height: at }]) => !reports.has(client.url) && (at === null || at >= height))
      .map(async ([{ client }, listener]) => report(client.url, await listener.ask(height, signal)));
    const mustAsk = !reports.has(this.#replica.sources.client.url) && !followedCannotName;
    const [cannotName] = await Promise.all([
      mustAsk ? this.#askFollowed(height, null, report, signal) : followedCannotName,
      ...asked
    ]);
    return cannotName;
  }

  /**
   * @param followedReport stands where the source tells no hashes but in its stream
   * @returns whether it answered, and cannot name the block
   */
  async #askFollowed(
    height: number,
    followedReport: string | null,
    report: Report,
    signal: AbortSignal
  ): Promise<boolean> {
    const { client: source } = this.#replica.sources;
    const answer = await askHashes(source, height, AbortSignal.any([signal, AbortSignal.timeout(ASK_LIMIT_MS)])).catch(
      () => null
    );
    signal.throwIfAborted();
    const hashes = answer?.hashes.get(height);
    if (hashes) report(source.url, blockText(hashes));
    else if (answer?.hashes.size === 0) report(source.url, followedReport);
    return answer?.cannotName ?? false;
  }

  /** Waits until a listener speaks, or for a while. */
  async wait(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    sleep(LOOK_MS, undefined, { signal }).then(resolve, resolve);
    await promise;
    this.#wake = undefined;
    signal.throwIfAborted();
  }

  /** Notes that a listener spoke, or that its connection is up or gone. */
  #note(record: SourceRecord, report: HashReport | null, fault?: Error): void {
    if (fault) Object.assign(record, { state: 'failed', height: null, error: fault.message });
    else Object.assign(record, { state: 'heard', error: null, ...(report ? { height: report.height } : {}) });
    this.#replica.progress.changed();
    if (!report) return;
    this.#onReport(record, report);
    this.#wake?.();
  }
}
