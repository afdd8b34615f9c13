import { setTimeout as sleep } from 'node:timers/promises';
import { PlatformError } from '../../../errors.ts';
import type { Replica } from './replica.ts';

/** Faults of an answer that would be the same when it is asked for again at once. */
const LASTING = new Set(['SOURCE_INVALID', 'SOURCE_TRUNCATED', 'SCHEMA_REFUSED', 'ROW_REFUSED', 'ROW_CONTRADICTION']);

/** Failed attempts in a row at one source, with the first one's reason. */
interface Failures {
  count: number;
  readonly reason: string;
}

/** Returns the pause after so many failures in a row, in milliseconds: none after the first, then twice as long each time. */
export function pauseAfter(failures: number, reconnectMs: number, maxMs: number): number {
  return failures < 2 ? 0 : Math.min(maxMs, reconnectMs * 2 ** (failures - 1));
}

/**
 * Spaces out attempts at something that a source allows a number of times an hour: the second failure in a row is followed by a pause,
 * each later one by a pause that is twice as long.
 */
export class SourceBackoff {
  readonly #replica: Pick<Replica, 'data' | 'log' | 'progress' | 'sources'>;
  readonly #what: string;
  readonly #maxPauseMs: number;
  readonly #failures = new Map<string, Failures>();

  /** @param what is attempted */
  constructor(replica: Pick<Replica, 'data' | 'log' | 'progress' | 'sources'>, what: string, maxPauseMs: number) {
    this.#replica = replica;
    this.#what = what;
    this.#maxPauseMs = maxPauseMs;
  }

  get #url(): string {
    return this.#replica.sources.client.url;
  }

  /** Waits until the source may be asked again. */
  async pause(signal: AbortSignal): Promise<void> {
    const { count = 0, reason } = this.#failures.get(this.#url) ?? {};
    const { data, log, progress } = this.#replica;
    const waitMs = pauseAfter(count, data.reconnectDelayMs, this.#maxPauseMs);
    if (waitMs === 0) return;
    const waitS = Math.ceil(waitMs / 1_000);
    log.warn({ waitS, attempts: count, source: this.#url }, `${this.#what} failed ${count} times: ${reason}`);
    progress.waiting(
      `the next attempt at ${this.#what} of ${this.#url}, within ${waitS} s; ${count} failed: ${reason}`
    );
    try {
      await sleep(waitMs, undefined, { signal });
    } finally {
      progress.waiting(null);
    }
  }

  /** Does a part of an attempt, and counts what fails by itself. @throws what it throws; a refusal by the source with the first reason */
  async attempt<T>(work: () => Promise<T>): Promise<T> {
    const url = this.#url;
    try {
      return await work();
    } catch (caught) {
      if (!(caught instanceof PlatformError)) throw caught;
      const known = this.#failures.get(url);
      if (LASTING.has(caught.code)) {
        if (known) known.count++;
        else this.#failures.set(url, { count: 1, reason: caught.message });
      }
      if (caught.code !== 'SOURCE_REFUSED' || !known) throw caught;
      const reason = `${caught.message}; ${this.#what} had failed ${known.count} times: ${known.reason}`;
      throw new PlatformError(caught.code, { ...caught.detail, reason }, { cause: caught });
    }
  }

  /** Forgets the failures: an attempt succeeded. */
  succeeded(): void {
    this.#failures.delete(this.#url);
  }
}
