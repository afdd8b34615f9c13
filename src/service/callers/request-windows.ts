import type { FastifyRateLimitStore } from '@fastify/rate-limit';

interface Window {
  readonly current: number;
  /** Milliseconds of the process's clock. */
  readonly until: number;
}

type Tell = Parameters<FastifyRateLimitStore['incr']>[1];

/** Names that are counted at once; of more, those that asked longest ago begin anew. */
const MOST_NAMES = 5_000;

/**
 * The requests of each name in windows of time, for the plugin that limits them: by a clock that nobody sets. By the machine's, which
 * the plugin's own store takes, a window of a minute lasts an hour longer when that is set back by an hour.
 */
export class RequestWindows implements FastifyRateLimitStore {
  /** Windows by caller; the one that asked last comes last. */
  readonly #windows = new Map<string, Window>();

  /** Returns the windows of another limit. */
  child(): RequestWindows {
    return new RequestWindows();
  }

  /** Counts a request. */
  incr(name: string, tell: Tell, windowMs: number): void {
    const { current, until } = this.#windowOf(name, windowMs);
    this.#windows.delete(name);
    this.#windows.set(name, { current: current + 1, until });
    if (this.#windows.size > MOST_NAMES) this.#forgetFirst();
    this.read(name, tell, windowMs);
  }

  /** Tells how many were counted, and the milliseconds until none is. */
  read(name: string, tell: Tell, windowMs: number): void {
    const { current, until } = this.#windowOf(name, windowMs);
    tell(null, { current, ttl: until - performance.now() });
  }

  #forgetFirst(): void {
    const [first] = this.#windows.keys();
    if (first !== undefined) this.#windows.delete(first);
  }

  #windowOf(name: string, windowMs: number): Window {
    const known = this.#windows.get(name);
    const now = performance.now();
    return known !== undefined && now < known.until ? known : { current: 0, until: now + windowMs };
  }
}
