import { setTimeout as sleep } from 'node:timers/promises';
import { readTrackerHealth, type TrackerHealth } from './tracker-health.ts';

const LOOK_EVERY_MS = 2_000;

/** What a tracker last told of itself, for probes that must not wait for it. */
export class TrackerWatch {
  readonly #url: string;
  #health: TrackerHealth | undefined;

  /** @param url  of the tracker, without a slash at its end */
  constructor(url: string) {
    this.#url = url;
  }

  /** Undefined before it was asked. */
  get health(): TrackerHealth | undefined {
    return this.#health;
  }

  /** Asks it until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#health = await readTrackerHealth(this.#url);
      await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
