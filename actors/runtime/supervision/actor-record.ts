import type { ActorView, Beacon, Death, Waiting } from '../../../src/wire/state/actor-view.ts';
import type { TimelineEvent } from '../../../src/wire/state/timeline.ts';
import type { Transition } from '../../../src/wire/state/transition.ts';
import { Ring } from './ring.ts';

const DEATHS_KEPT = 20;

/** Bounded history of one actor across its threads; it is for display only. */
export class ActorRecord {
  readonly #transitions: Ring<Transition>;
  readonly #deaths = new Ring<Death>(DEATHS_KEPT);
  readonly #tell: (event: TimelineEvent) => void;
  #machines: Record<string, { state: string; since: number }> = {};
  #generation: number;
  #totalDeaths = 0;
  #waiting: Waiting | null = null;
  /** Whether it waits for nothing of its own, but shows what it died of until its next thread gets further. */
  #showsDeath = false;
  #beacon: (Beacon & { at: number }) | null = null;
  /** Milliseconds of the process's clock. */
  #heardAt = 0;

  /** @param tell sees starts, transitions and deaths as they come */
  constructor(ringSize: number, firstGeneration: number, tell: (event: TimelineEvent) => void) {
    this.#tell = tell;
    this.#transitions = new Ring(ringSize);
    this.#generation = firstGeneration - 1;
  }

  get generation(): number {
    return this.#generation;
  }

  startGeneration(): number {
    this.#generation += 1;
    this.#tell({ kind: 'start', at: Date.now(), generation: this.#generation });
    return this.#generation;
  }

  keepBeacon(beacon: Beacon): void {
    this.#beacon = { ...beacon, at: Date.now() };
    this.#heardAt = performance.now();
  }

  keepTransition(transition: Transition): void {
    this.#transitions.push(transition);
    this.#tell({ kind: 'transition', ...transition });
    this.#machines[transition.machine] = { state: transition.to, since: transition.at };
    const getsFurther = transition.machine !== 'restart' && transition.from !== null;
    if (getsFurther && this.#showsDeath) this.#keepWait(null);
  }

  keepWaiting(waiting: Waiting): void {
    this.#keepWait(waiting.on === null ? null : waiting);
  }

  died(cause: Death['cause'], reason: string): void {
    this.#totalDeaths += 1;
    const death = { at: Date.now(), generation: this.#generation, cause, reason };
    this.#deaths.push(death);
    this.#tell({ kind: 'death', ...death });
    this.forgetThread();
    this.#keepWait({ on: reason, since: death.at }, true);
  }

  /** Drops the state of the thread, and keeps its transitions and its death. */
  forgetThread(): void {
    this.#machines = this.#machines['restart'] ? { restart: this.#machines['restart'] } : {};
    this.#keepWait(null);
    this.#beacon = null;
  }

  #keepWait(wait: Waiting | null, isDeath = false): void {
    this.#waiting = wait;
    this.#showsDeath = isDeath;
  }

  view(inWindow: number, budget: number): Omit<ActorView, 'id' | 'kind' | 'state' | 'reason'> {
    return {
      generation: this.#generation,
      restarts: { inWindow, budget, total: this.#totalDeaths, causes: this.#deaths.toArray() },
      machines: { ...this.#machines },
      waiting: this.#waiting,
      beacon: this.#beacon && { ...this.#beacon, silentMs: performance.now() - this.#heardAt },
      transitions: this.#transitions.toArray()
    };
  }
}
