import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE_MS } from './tracker-coins.ts';
import { readTrackerHealth, type TrackerHealth } from './tracker-health.ts';
import type { OwnNode, TrackerFault } from './tracker-standing.ts';

const LOOK_EVERY_MS = 2_000;

/** What a tracker last told of itself, for probes that must not wait for it. */
export class TrackerWatch {
  readonly #url: string;
  readonly #node: () => OwnNode | undefined;
  #health: TrackerHealth | undefined;
  #passingSince: number | null = null;

  /** @param url  of the tracker, without a slash at its end @param node  the encoder's, as it was last seen; undefined: it was not */
  constructor(url: string, node: () => OwnNode | undefined) {
    this.#url = url;
    this.#node = node;
  }

  /** Undefined before it was asked. */
  get health(): TrackerHealth | undefined {
    return this.#health;
  }

  /** Asks it until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#health = await readTrackerHealth(this.#url, this.#node(), (fault) => this.#isPatient(fault));
      await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** As long as a call waits for what may pass. */
  #isPatient(fault: TrackerFault | null): boolean {
    if (!fault?.isPassing) this.#passingSince = null;
    else this.#passingSince ??= performance.now();
    return this.#passingSince !== null && performance.now() - this.#passingSince < PATIENCE_MS;
  }
}
