import { hash } from 'node:crypto';
import { PlatformError } from '../errors.ts';

interface Answered<T> {
  /** Digest of the request. */
  readonly request: string;
  readonly answer: Promise<T>;
  readonly sizeBytes: number;
  /** Infinite while the answer is being made. */
  readonly end: number;
}

export interface AnswerLimits<T> {
  /** As long as what was handed out stays reserved. */
  readonly ttlMs: number;
  /** Answers at once. */
  readonly most: number;
  /** Beyond this size of all answers no new one is made. */
  readonly mostBytes: number;
  readonly sizeOf: (answer: T) => number;
}

/** For `JSON.stringify`. */
const sortNames = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

/**
 * What was answered to requests with an id of their caller's, so that one that is sent again reserves no other coins. An answer is
 * kept for its time; when there is no room, new ids are refused.
 */
export class AnsweredRequests<T> {
  readonly #limits: AnswerLimits<T>;
  readonly #now: () => number;
  /** Those that are complete are in the order of their end. */
  readonly #answers = new Map<string, Answered<T>>();
  #sizeBytes = 0;

  /** @param now  monotonic milliseconds */
  constructor(limits: AnswerLimits<T>, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /**
   * The answer that the id had before, else a new one; what fails is not kept.
   *
   * @param request  JSON; the order of its names does not count
   * @throws {PlatformError} REQUEST_INVALID when the id belongs to another request; RESERVATIONS_FULL; and what `make` throws
   */
  async once(id: string, request: unknown, make: () => Promise<T>): Promise<T> {
    this.#expire();
    const digest = hash('sha256', JSON.stringify(request, sortNames));
    const known = this.#answers.get(id);
    if (known && known.request !== digest)
      throw new PlatformError('REQUEST_INVALID', { reason: 'request_id was used for another request' });
    if (known) return await known.answer;
    const { most, mostBytes } = this.#limits;
    if (this.#answers.size >= most || this.#sizeBytes >= mostBytes)
      throw new PlatformError('RESERVATIONS_FULL', {
        reason: `${this.#answers.size} answers with a request_id are kept`
      });
    return await this.#make(id, digest, make);
  }

  async #make(id: string, request: string, make: () => Promise<T>): Promise<T> {
    const answer = make();
    this.#answers.set(id, { request, answer, sizeBytes: 0, end: Number.POSITIVE_INFINITY });
    try {
      const sizeBytes = this.#limits.sizeOf(await answer);
      this.#answers.delete(id); // back in as the last to end
      this.#answers.set(id, { request, answer, sizeBytes, end: this.#now() + this.#limits.ttlMs });
      this.#sizeBytes += sizeBytes;
    } catch {
      this.#answers.delete(id);
    }
    return await answer;
  }

  #expire(): void {
    const now = this.#now();
    for (const [id, { end, sizeBytes }] of this.#answers) {
      if (end === Number.POSITIVE_INFINITY) continue;
      if (end > now) return;
      this.#answers.delete(id);
      this.#sizeBytes -= sizeBytes;
    }
  }
}
