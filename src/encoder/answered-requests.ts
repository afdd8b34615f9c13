import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { PlatformError } from '../errors.ts';

interface Answered<T> {
  /** Digest of the request. */
  readonly request: string;
  readonly answer: Promise<T>;
}

const MOST = 1_000;

/** What was answered to requests with an id of their caller's, so that one that is sent again reserves no other coins. Bounded. */
export class AnsweredRequests<T> {
  readonly #answers: LRUCache<string, Answered<T>>;

  /** @param ttlMs  as long as what was handed out stays reserved */
  constructor(ttlMs: number) {
    this.#answers = new LRUCache({ max: MOST, ttl: ttlMs });
  }

  /**
   * The answer that the id had before, else a new one; what fails is not kept.
   *
   * @throws {PlatformError} REQUEST_INVALID when the id belongs to another request; and what `make` throws
   */
  async once(id: string, request: unknown, make: () => Promise<T>): Promise<T> {
    const digest = hash('sha256', JSON.stringify(request));
    const known = this.#answers.get(id);
    if (known && known.request !== digest)
      throw new PlatformError('REQUEST_INVALID', { reason: 'request_id was used for another request' });
    if (known) return await known.answer;
    const answered = { request: digest, answer: make() };
    this.#answers.set(id, answered);
    answered.answer.catch(() => this.#answers.peek(id) === answered && this.#answers.delete(id));
    return await answered.answer;
  }
}
