import { setTimeout as sleep } from 'node:timers/promises';
import { prefixOf } from '../callers/prefix.ts';

/** Work that was done for a caller beside taking its request. */
export interface Cost {
  /** Calls of a JSON-RPC request. */
  readonly calls?: number;
  /** Rows that were read for it. */
  readonly rows?: number;
  /** Bytes of its answer. */
  readonly bytes?: number;
  /** Milliseconds that it took. */
  readonly ms?: number;
}

/** Most time that one piece of work is charged for: a slow database is not the caller's fault. */
export const MOST_CHARGED_MS = 250;

/** A token is a tenth of a millisecond of a core. */
interface Rate {
  readonly most: number;
  readonly perS: number;
  /** Below 0; what it costs beyond is forgotten. */
  readonly mostDebt: number;
}

/** Some tenth of a core each. */
const REQUESTS: Rate = { most: 10_000, perS: 1_000, mostDebt: 1_000 };
const WORK: Rate = { most: 10_000, perS: 1_000, mostDebt: 10_000 };
/** A network of IPv6 has ten times as much as each of its addresses. */
const NETWORK = 10;
/** One core. */
const PROCESS: Rate = { most: 50_000, perS: 10_000, mostDebt: 10_000 };
const ROWS_PER_TOKEN = 20;
const BYTES_PER_TOKEN = 8_000;
const MS_PER_TOKEN = 1;
const TIDY_EVERY = 1_000;

/**
 * Counts what each address costs, whichever way it asks: requests, connections and faults in one bucket of tokens, the calls, rows,
 * bytes and time of its answers in another.
 *
 * Nobody is refused for answers that cost much: an address without tokens waits until they are back, ten seconds at most. While all
 * together cost more than a core, those with less than half of their tokens wait too. The addresses of an IPv6 network (48 bits) have
 * a bucket of each kind together, so that whoever has a network is no crowd.
 */
export class WorkBudget {
  readonly #requests = new Buckets(REQUESTS);
  readonly #work = new Buckets(WORK);
  readonly #requestsOfNetwork = new Buckets(times(REQUESTS, NETWORK));
  readonly #workOfNetwork = new Buckets(times(WORK, NETWORK));
  readonly #process = new Bucket(PROCESS);

  /** Counts requests, or what costs as much. @returns the milliseconds after which nothing is owed for requests */
  request(address: string, tokens: number): number {
    const network = prefixOf(address, 48);
    const networkMs = network === address ? 0 : this.#requestsOfNetwork.of(network).take(tokens);
    return Math.max(this.#requests.of(address).take(tokens), networkMs);
  }

  /** Counts work that was done. @returns the milliseconds that the next work of the address is to wait */
  charge(address: string, { calls = 0, rows = 0, bytes = 0, ms = 0 }: Cost): number {
    const tokens = calls + rows / ROWS_PER_TOKEN + bytes / BYTES_PER_TOKEN + ms / MS_PER_TOKEN;
    const network = prefixOf(address, 48);
    const own = [this.#work.of(address), ...(network === address ? [] : [this.#workOfNetwork.of(network)])];
    const ownMs = Math.max(...own.map((bucket) => bucket.take(tokens)));
    const sharedMs = this.#process.take(tokens);
    return own.some((bucket) => bucket.isHalfEmpty) ? Math.max(ownMs, sharedMs) : ownMs;
  }

  /** Counts work, then waits until its address may do more. */
  async pace(address: string, cost: Cost): Promise<void> {
    const waitMs = this.charge(address, cost);
    if (waitMs > 0) await sleep(waitMs, undefined, { ref: false });
  }
}

const times = ({ most, perS, mostDebt }: Rate, by: number): Rate => ({
  most: most * by,
  perS: perS * by,
  mostDebt: mostDebt * by
});

/** Tokens that come back with time. */
class Bucket {
  readonly #rate: Rate;
  #tokens: number;
  #refilledAt = performance.now();

  constructor(rate: Rate) {
    this.#rate = rate;
    this.#tokens = rate.most;
  }

  get tokens(): number {
    const now = performance.now();
    this.#tokens = Math.min(this.#tokens + ((now - this.#refilledAt) * this.#rate.perS) / 1_000, this.#rate.most);
    this.#refilledAt = now;
    return this.#tokens;
  }

  get isHalfEmpty(): boolean {
    return this.tokens < this.#rate.most / 2;
  }

  /** @returns the milliseconds until nothing is owed */
  take(tokens: number): number {
    this.#tokens = Math.max(this.tokens - tokens, -this.#rate.mostDebt);
    return Math.max(0, (-this.#tokens / this.#rate.perS) * 1_000);
  }
}

/** A bucket for each address. */
class Buckets {
  readonly #rate: Rate;
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  of(address: string): Bucket {
    const known = this.#buckets.get(address);
    if (known) return known;
    if (this.#buckets.size % TIDY_EVERY === TIDY_EVERY - 1) this.#tidy();
    const bucket = new Bucket(this.#rate);
    this.#buckets.set(address, bucket);
    return bucket;
  }

  /** Forgets addresses whose bucket is full. */
  #tidy(): void {
    for (const [address, bucket] of this.#buckets) if (bucket.tokens === this.#rate.most) this.#buckets.delete(address);
  }
}
