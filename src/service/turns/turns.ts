import { PlatformError } from '../../errors.ts';
import { TransientMap } from '../../transient-map.ts';
import { FairLine, networkOf } from './fair-line.ts';

interface TurnsOptions {
  /** Works under way at once. */
  readonly atOnce: number;
  /** Longest wait for a turn. */
  readonly patienceMs?: number;
  /** Most waiting callers of one address, and of one network. */
  readonly mostOfOne?: number;
  /** Most waiting callers of all addresses; default: as many as there are connections. */
  readonly mostWaiting?: number;
}

/** Caller that waits for a turn. */
export interface Asker {
  /** Address under which it is counted. */
  readonly address: string;
  /** Whether it has left: then nothing is done for it. */
  readonly isGone?: () => boolean;
  /** Whether its work is done even when its caller has left: it asked for something to be written. */
  readonly isLasting?: boolean;
}

/** Gives the turn up while it waits for another program. @throws {PlatformError} ANSWERS_WAITING; and what `wait` throws */
export type Aside = <T>(wait: () => Promise<T>) => Promise<T>;

interface Waiting {
  readonly asker: Asker;
  readonly begin: () => void;
  readonly refuse: (reason: string) => void;
}

const PATIENCE_MS = 10_000;
/** Connections of an address are bounded; those that a proxy brings, and those of a network, are not. */
const MAX_WAITING = 1_024;

/**
 * Bounds how much is under way at once, and lets networks (IPv6 by /48) and their addresses take turns: each network has as many
 * turns as every other that waits, whatever it asks, and none has all of them.
 */
export class Turns {
  readonly #atOnce: number;
  readonly #ofOne: number;
  readonly #patienceMs: number;
  readonly #mostOfOne: number;
  readonly #mostWaiting: number;
  /** Works under way, by network. */
  readonly #running = new TransientMap<string, number>();
  readonly #waiting = new FairLine<Waiting>();
  /** Lasting works of those who have left. */
  readonly #left = new FairLine<Waiting>();
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

  /**
   * Does the work when it is the asker's turn. What only waits for another program is done aside: then others have the turn.
   *
   * @throws {PlatformError} ANSWERS_WAITING; and what `work` throws
   */
  async take<T>(asker: Asker, work: (aside: Aside) => Promise<T>): Promise<T> {
    const network = networkOf(asker.address);
    if (!this.#mayBegin(asker)) await this.#wait(asker);
    let hasTurn = true;
    const aside: Aside = async (wait) => {
      if (!hasTurn) return await wait();
      hasTurn = false;
      this.#end(network);
      const found = await wait();
      if (!this.#mayBegin(asker)) await this.#wait(asker);
      hasTurn = true;
      return found;
    };
    try {
      return await work(aside);
    } finally {
      if (hasTurn) this.#end(network);
    }
  }

  /** Begins at once where nothing is in the way. */
  #mayBegin({ address }: Asker): boolean {
    const network = networkOf(address);
    if (!this.#isFree(network) || this.#waiting.of(address).length > 0) return false;
    this.#begin(network);
    return true;
  }

  #isFree(network: string): boolean {
    return this.#count < this.#atOnce && (this.#running.get(network) ?? 0) < this.#ofOne;
  }

  #begin(network: string): void {
    this.#count++;
    this.#running.set(network, (this.#running.get(network) ?? 0) + 1);
  }

  #end(network: string): void {
    this.#count--;
    const left = (this.#running.get(network) ?? 1) - 1;
    if (left > 0) this.#running.set(network, left);
    else this.#running.delete(network);
    this.#next();
  }

  async #wait(asker: Asker): Promise<void> {
    const { address } = asker;
    const own = this.#waiting.countOfNetwork(address) + this.#left.countOfNetwork(address);
    if (own >= this.#mostOfOne) refuse(`${own} other questions of this address wait for their turn`);
    if (this.#waits >= this.#mostWaiting) refuse(`${this.#waits} other questions wait for their turn`);
    const turn = Promise.withResolvers<void>();
    const waiting: Waiting = {
      asker,
      begin: turn.resolve,
      refuse: (reason) => turn.reject(new PlatformError('ANSWERS_WAITING', { reason }))
    };
    this.#waiting.add(address, waiting);
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
    for (const line of [this.#waiting, this.#left]) line.remove(address, waiting);
    const others = this.#waiting.of(address).length;
    waiting.refuse(
      `it was not the turn of this address within ${this.#patienceMs} ms; ${others} of its questions wait`
    );
  }

  /** Begins what has waited, one of each network after the other. */
  #next(): void {
    while (this.#count < this.#atOnce) {
      const first = this.#takeNext();
      if (!first) return;
      this.#begin(networkOf(first.asker.address));
      first.begin();
    }
  }

  #takeNext(): Waiting | undefined {
    const isFree = (network: string) => this.#isFree(network);
    for (let next = this.#waiting.takeNext(isFree); next; next = this.#waiting.takeNext(isFree)) {
      const { asker } = next;
      if (!asker.isGone?.()) return next;
      if (asker.isLasting) this.#left.add(asker.address, next);
      else next.refuse('the client has disconnected'); // nobody hears it
    }
    return this.#left.takeNext(isFree);
  }
}

function refuse(reason: string): never {
  throw new PlatformError('ANSWERS_WAITING', { reason });
}
