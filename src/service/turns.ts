import { PlatformError } from '../errors.ts';
import { TransientMap } from '../transient-map.ts';

interface TurnsOptions {
  /** Works under way at once. */
  readonly atOnce: number;
  /** How long one may wait for its turn. */
  readonly patienceMs?: number;
  /** Most waiting callers of one address. */
  readonly mostOfOne?: number;
  /** Most waiting callers of all addresses; default: as many as there are connections. */
  readonly mostWaiting?: number;
}

/** Who wants a turn. */
export interface Asker {
  /** Under which it is counted. */
  readonly address: string;
  /** Whether it has left: then nothing is done for it. */
  readonly isGone?: () => boolean;
}

interface Waiting {
  readonly asker: Asker;
  readonly begin: () => void;
  readonly refuse: (reason: string) => void;
}

const PATIENCE_MS = 10_000;
/** Connections of an address are bounded; those that a proxy brings are not. */
const MAX_WAITING = 1_024;

/**
 * Bounds how much is under way at once, and lets addresses take turns: each has as many turns as every other that waits, whatever
 * it asks, and none has all of them.
 */
export class Turns {
  readonly #atOnce: number;
  readonly #ofOne: number;
  readonly #patienceMs: number;
  readonly #mostOfOne: number;
  readonly #mostWaiting: number;
  /** Under way, by address. */
  readonly #running = new TransientMap<string, number>();
  /** By address; the one whose turn is next comes first. */
  readonly #waiting = new Map<string, Waiting[]>();
  #count = 0;
  #waits = 0;

  constructor({
    atOnce,
    patienceMs = PATIENCE_MS,
    mostOfOne = MAX_WAITING,
    mostWaiting = Number.POSITIVE_INFINITY
  }: TurnsOptions) {
    this.#atOnce = atOnce;
    this.#ofOne = Math.max(1, Math.floor((atOnce * 3) / 4));
    this.#patienceMs = patienceMs;
    this.#mostOfOne = mostOfOne;
    this.#mostWaiting = mostWaiting;
  }

  /** Does the work when it is the asker's turn. @throws {PlatformError} ANSWERS_WAITING; and what `work` throws */
  async take<T>(asker: Asker, work: () => Promise<T>): Promise<T> {
    const { address } = asker;
    if (!this.#isFree(address) || this.#waiting.has(address)) await this.#wait(asker);
    else this.#begin(address);
    try {
      return await work();
    } finally {
      this.#end(address);
    }
  }

  #isFree(address: string): boolean {
    return this.#count < this.#atOnce && (this.#running.get(address) ?? 0) < this.#ofOne;
  }

  #begin(address: string): void {
    this.#count++;
    this.#running.set(address, (this.#running.get(address) ?? 0) + 1);
  }

  #end(address: string): void {
    this.#count--;
    const left = (this.#running.get(address) ?? 1) - 1;
    if (left > 0) this.#running.set(address, left);
    else this.#running.delete(address);
    this.#next();
  }

  async #wait(asker: Asker): Promise<void> {
    const { address } = asker;
    const own = this.#waiting.get(address) ?? [];
    if (own.length >= this.#mostOfOne) refuse(`${own.length} other questions of this address wait for their turn`);
    if (this.#waits >= this.#mostWaiting) refuse(`${this.#waits} other questions wait for their turn`);
    const turn = Promise.withResolvers<void>();
    const waiting: Waiting = {
      asker,
      begin: turn.resolve,
      refuse: (reason) => turn.reject(new PlatformError('ANSWERS_WAITING', { reason }))
    };
    this.#waiting.set(address, [...own, waiting]);
    const timer = setTimeout(() => this.#giveUp(waiting), this.#patienceMs);
    this.#waits++;
    try {
      await turn.promise;
    } finally {
      this.#waits--;
      clearTimeout(timer);
    }
  }

  #giveUp(waiting: Waiting): void {
    const { address } = waiting.asker;
    const own = this.#waiting.get(address) ?? [];
    const others = own.filter((each) => each !== waiting);
    if (others.length > 0) this.#waiting.set(address, others);
    else this.#waiting.delete(address);
    waiting.refuse(
      `it was not the turn of this address within ${this.#patienceMs} ms; ${others.length} of its questions wait`
    );
  }

  /** Begins what has waited, one of each address after the other. */
  #next(): void {
    for (const [address, own] of this.#waiting) {
      if (this.#count >= this.#atOnce) return;
      if (!this.#isFree(address)) continue;
      const [first, ...rest] = own;
      this.#waiting.delete(address);
      if (rest.length > 0) this.#waiting.set(address, rest); // behind all others
      if (!first) continue;
      if (first.asker.isGone?.())
        first.refuse('the client has disconnected'); // nobody hears it
      else {
        this.#begin(address);
        first.begin();
      }
    }
  }
}

function refuse(reason: string): never {
  throw new PlatformError('ANSWERS_WAITING', { reason });
}
