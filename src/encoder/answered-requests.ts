import { hash } from 'node:crypto';
import { PlatformError } from '../errors.ts';

interface Answered<T> {
  /** Digest of the request. */
  readonly request: string;
  readonly answer: Promise<T>;
  readonly holder: string;
  readonly sizeBytes: number;
  /** Infinite while the answer is being made. */
  readonly end: number;
}

interface Room {
  readonly count: number;
  readonly bytes: number;
}

export interface AnswerLimits<T> {
  /** As long as what was handed out stays reserved. */
  readonly ttlMs: number;
  /** Of one holder: answers at once, and their size. */
  readonly mostOfOne: Room;
  /** Of all; beyond it the oldest answers are forgotten. */
  readonly most: Room;
  readonly sizeOf: (answer: T) => number;
}

/** For `JSON.stringify`. */
const sortNames = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

/**
 * What was answered to requests with an id of their caller's, so that one that is sent again reserves no other coins. An answer is
 * kept for its time. Ids are each holder's own; one without room gets no new ones.
 */
export class AnsweredRequests<T> {
  readonly #limits: AnswerLimits<T>;
  readonly #now: () => number;
  /** Those that are complete are in the order of their end. */
  readonly #answers = new Map<string, Answered<T>>();

  /** @param now  monotonic milliseconds */
  constructor(limits: AnswerLimits<T>, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /**
   * The answer that the id had before, else a new one; what fails is not kept.
   *
   * @param request  JSON; the order of its names does not count
   * @param holder  whose id it is
   * @throws {PlatformError} REQUEST_INVALID when the id belongs to another request; RESERVATIONS_FULL; and what `make` throws
   */
  async once(holder: string, id: string, request: unknown, make: () => Promise<T>): Promise<T> {
    this.#expire();
    const digest = hash('sha256', JSON.stringify(request, sortNames));
    const key = keyOf(holder, id);
    const known = this.#answers.get(key);
    if (known && known.request !== digest)
      throw new PlatformError('REQUEST_INVALID', { reason: 'request_id was used for another request' });
    if (known) return await known.answer;
    const { mostOfOne, most } = this.#limits;
    const own = this.#roomOf(holder);
    if (own.count >= mostOfOne.count || own.bytes >= mostOfOne.bytes)
      throw new PlatformError('RESERVATIONS_FULL', {
        reason: `${own.count} answers with a request_id are kept for this caller: release_tx forgets one`
      });
    let { count, bytes } = this.#roomOf();
    for (const [oldest, { end, sizeBytes }] of this.#answers) {
      if (count < most.count && bytes < most.bytes) break;
      if (end === Number.POSITIVE_INFINITY) continue;
      this.#answers.delete(oldest);
      [count, bytes] = [count - 1, bytes - sizeBytes];
    }
    return await this.#make(key, { request: digest, holder }, make);
  }

  /** Forgets the answer of an id, and returns it; undefined when there is none, or not yet. */
  async forget(holder: string, id: string): Promise<T | undefined> {
    this.#expire();
    const key = keyOf(holder, id);
    const known = this.#answers.get(key);
    if (!known || known.end === Number.POSITIVE_INFINITY) return undefined;
    this.#answers.delete(key);
    return await known.answer;
  }

  async #make(key: string, of: Pick<Answered<T>, 'request' | 'holder'>, make: () => Promise<T>): Promise<T> {
    const answer = make();
    this.#answers.set(key, { ...of, answer, sizeBytes: 0, end: Number.POSITIVE_INFINITY });
    try {
      const sizeBytes = this.#limits.sizeOf(await answer);
      this.#answers.delete(key); // back in as the last to end
      this.#answers.set(key, { ...of, answer, sizeBytes, end: this.#now() + this.#limits.ttlMs });
    } catch {
      this.#answers.delete(key);
    }
    return await answer;
  }

  /** What the answers of a holder take, or those of all. */
  #roomOf(holder?: string): Room {
    const room = { count: 0, bytes: 0 };
    for (const each of this.#answers.values()) {
      if (holder !== undefined && each.holder !== holder) continue;
      room.count += 1;
      room.bytes += each.sizeBytes;
    }
    return room;
  }

  #expire(): void {
    const now = this.#now();
    for (const [key, { end }] of this.#answers) {
      if (end === Number.POSITIVE_INFINITY) continue;
      if (end > now) return;
      this.#answers.delete(key);
    }
  }
}

const keyOf = (holder: string, id: string) => `${holder} ${id}`;
