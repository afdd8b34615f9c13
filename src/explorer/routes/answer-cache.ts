import { LRUCache } from 'lru-cache';
import { SharedReads } from '../../service/turns/shared-reads.ts';
import type { Coin } from '../coins.ts';
import type { Question, Reply } from '../question.ts';

/** Beside its body and key, what an entry takes; of those a letter may take two. */
const ENTRY_BYTES = 400;
/** Longer than an actor needs to report a block that one of its answers showed. */
const REPORT_DELAY_MS = 3_000;

/**
 * Answers of one network that nothing but the ledger decides, as long as its newest block is the one that they were read at.
 *
 * Bounded by bytes; the next block empties it. Those who ask the same at once share a read.
 */
export class AnswerCache {
  readonly #coin: Coin;
  readonly #kept: LRUCache<string, Reply> | undefined;
  readonly #reads = new SharedReads<Reply>();
  #mark: string | null = null;
  /** An answer was newer than the last report: until then nothing is current. */
  #unsureUntil = 0;

  /** @param maxBytes 0: it keeps nothing */
  constructor(coin: Coin, maxBytes: number) {
    this.#coin = coin;
    if (maxBytes === 0) return;
    const sizeCalculation = ({ body }: Reply, key: string) => 2 * (body.length + key.length) + ENTRY_BYTES;
    this.#kept = new LRUCache({ maxSize: maxBytes, sizeCalculation });
  }

  /** Mark of the newest known block; null while there is none, or while it is changing. */
  get mark(): string | null {
    const mark = this.#coin.report()?.mark ?? null;
    if (mark !== this.#mark) {
      this.#mark = mark;
      this.#unsureUntil = 0;
      this.#kept?.clear();
    }
    return performance.now() < this.#unsureUntil ? null : mark;
  }

  /** Returns the answer to a question, where it is in memory and current. */
  kept(key: string): Reply | null {
    return this.mark === null ? null : (this.#kept?.get(key) ?? null);
  }

  /** @param key tells the question from others @throws what the coin's `read` throws */
  async read(question: Question, key: string): Promise<Reply> {
    const kept = this.kept(key);
    if (kept) return kept;
    const reply = await this.#reads.read(key, () => this.#coin.read(question));
    if (reply.isProvisional) return reply;
    if (reply.mark === this.#mark) this.#kept?.set(key, reply);
    else if (reply.mark !== null) this.#unsureUntil = performance.now() + REPORT_DELAY_MS;
    return reply;
  }
}
