import { hash } from 'node:crypto';
import { PlatformError } from '../errors.ts';
import type { Aside } from '../service/turns/turns.ts';
import { heaviestHolder } from './coins/heaviest-holder.ts';

interface Answered<T> {
  /** Digest of the request. */
  readonly request: string;
  readonly answer: Promise<T>;
  readonly holder: string;
  readonly sizeBytes: number;
  /** Monotonic milliseconds; infinite while the answer is being made. */
  readonly end: number;
}

/** A number of answers, and their total size. */
interface Room {
  readonly count: number;
  readonly bytes: number;
}

/** Bounds of the kept answers. */
interface AnswerLimits<T> {
  /** Milliseconds from an answer until it is forgotten: as long as its coins stay reserved. */
  readonly ttlMs: number;
  /** Most answers of one holder, and their most bytes. */
  readonly mostOfOne: Room;
  /** Most answers of all holders, and their most bytes. Beyond either, the holder that has the most loses its oldest answer. */
  readonly most: Room;
  readonly sizeOf: (answer: T) => number;
}

/** Sorts names, as a replacer for `JSON.stringify`, so that equal requests have equal text. */
const sortNames = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

/**
 * Keeps answers by request id for a while: a request that is sent again gets the same answer and reserves no further
 * coins.
 *
 * Ids belong to their holder. A holder at its limit gets no new ids. When all answers together are too many, the holder
 * with the most loses its oldest one, so nobody displaces the answers of a holder that has fewer.
 */
export class AnsweredRequests<T> {
  readonly #limits: AnswerLimits<T>;
  readonly #now: () => number;
  /** By holder and id. Complete answers are in the order of their end. */
  readonly #answers = new Map<string, Answered<T>>();

  /** @param now  monotonic milliseconds */
  constructor(limits: AnswerLimits<T>, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /**
   * Returns the kept answer of an id, else the answer of `make`. A failure is not kept.
   *
   * @param holder the owner of the id: a client's address, or one name for all callers with the key
   * @param request JSON; the order of its names does not count
   * @param aside waits for the answer that another call makes
   * @throws {PlatformError} REQUEST_INVALID when the id belongs to another request; RESERVATIONS_FULL; and what `make`
   *   throws
   */
  async once(
    holder: string,
    id: string,
    request: unknown,
    make: () => Promise<T>,
    aside: Aside = (wait) => wait()
  ): Promise<T> {
    this.#expire();
    const digest = hash('sha256', JSON.stringify(request, sortNames));
    const key = keyOf(holder, id);
    const known = this.#answers.get(key);
    if (known && known.request !== digest)
      throw new PlatformError('REQUEST_INVALID', { reason: 'request_id was used for another request' });
    if (known) return await aside(() => known.answer);
    const { mostOfOne } = this.#limits;
    const own = this.#roomOf(holder);
    if (own.count >= mostOfOne.count || own.bytes >= mostOfOne.bytes)
      throw new PlatformError('RESERVATIONS_FULL', {
        reason: `${own.count} answers with a request_id are kept for this caller: release_tx forgets one`
      });
    this.#makeRoom();
    return await this.#make(key, { request: digest, holder }, make);
  }

  /**
   * Forgets the answer of an id and returns it, also one that is being made; undefined when there is none, or when it fails.
   *
   * @param aside waits for the answer that another call makes
   */
  async forget(holder: string, id: string, aside: Aside = (wait) => wait()): Promise<T | undefined> {
    this.#expire();
    const key = keyOf(holder, id);
    const answer = this.#answers.get(key)?.answer;
    if (!answer) return undefined;
    const made = await aside(() => answer).catch(() => undefined);
    if (this.#answers.get(key)?.answer !== answer) return undefined; // another call has forgotten it
    this.#answers.delete(key);
    return made;
  }

  /** Forgets complete answers until there is room for one more. */
  #makeRoom(): void {
    const { most } = this.#limits;
    for (let room = this.#roomOf(); room.count >= most.count || room.bytes >= most.bytes; room = this.#roomOf()) {
      const complete = [...this.#answers].filter(([, { end }]) => end !== Number.POSITIVE_INFINITY);
      const giver = heaviestHolder(
        complete.map(([, { holder, sizeBytes }]) => [holder, 1 / most.count + sizeBytes / most.bytes])
      );
      const oldest = complete.find(([, { holder }]) => holder === giver);
      if (!oldest) return;
      this.#answers.delete(oldest[0]);
    }
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

  /** Counts the answers of one holder, or of all. */
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
