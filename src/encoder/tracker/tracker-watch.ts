import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE_MS } from './tracker-coins.ts';
import type { OwnNode, TrackerFault, TrackerPlace } from './tracker-fault.ts';
import { readTrackerHealth, type TrackerHealth } from './tracker-health.ts';

const LOOK_EVERY_MS = 2_000;

/** Asks a tracker for its state every 2 s, so that probes need not wait for it. */
export class TrackerWatch {
  readonly #place: TrackerPlace;
  readonly #node: () => OwnNode | undefined;
  readonly #onFault: (fault: string | undefined) => void;
  #health: TrackerHealth | undefined;
  #passingSince: number | null = null;

  /**
   * @param node the encoder's node as last seen; undefined before that
   * @param onFault called when a fault begins, changes or ends
   */
  constructor(
    place: TrackerPlace,
    node: () => OwnNode | undefined,
    onFault: (fault: string | undefined) => void = () => undefined
  ) {
    this.#place = place;
    this.#node = node;
    this.#onFault = onFault;
  }

  /** The last state; undefined before the first answer. */
  get health(): TrackerHealth | undefined {
    return this.#health;
  }

  /** Asks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const before = this.#health?.tracker_fault;
      this.#health = await readTrackerHealth(this.#place, this.#node(), (fault) => this.#isPatient(fault));
      const { tracker_fault: fault } = this.#health;
      if (fault !== before) this.#onFault(fault);
      await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Returns whether a passing fault still counts as none: as long as a call would wait for it to pass. */
  #isPatient(fault: TrackerFault | null): boolean {
    if (!fault?.isPassing) this.#passingSince = null;
    else this.#passingSince ??= performance.now();
    return this.#passingSince !== null && performance.now() - this.#passingSince < PATIENCE_MS;
  }
}
