import type { Message, Signed, Stable } from '../consensus/messages.ts';
import { lengthOf, RESEND_MS } from '../consensus/rules.ts';
import { MOST_DATA_BYTES } from '../gossip/envelope.ts';
import type { Gossip } from '../gossip/long-messages.ts';
import type { Journal } from '../journal/journal.ts';
import { AnswerShares } from './answer-share.ts';
import { packed } from './wire.ts';

/** Batches of one answer to a hub that is behind. */
const MOST_ENTRIES = 100;
/** Batches that are fetched one by one; who is further behind is offered the state of a checkpoint. */
const MOST_BEHIND = 1_000;
/** Characters that each answer to a hub counts for at least: reading it costs something too. */
const LEAST_ANSWER = 16_384;

/** Parts of a hub that answer others. */
interface AnswersOptions {
  /** Id of the set, 64 hex digits. */
  readonly set: string;
  readonly journal: Journal;
  readonly gossip: Pick<Gossip, 'sendTo'>;
  /** Returns the last place of the log that is applied. */
  readonly seq: () => number;
  /** Returns the newest checkpoint that a quorum signed. */
  readonly stable: () => Stable;
  /** Adds to what is read and written, one after the other. */
  readonly write: (work: () => Promise<void>) => void;
}

/** Answers to other hubs that ask for the log or the state of this one: once at a time for each, and as much as its share is. */
export class Answers {
  readonly #options: AnswersOptions;
  readonly #answering = new Set<string>();
  readonly #shares = new AnswerShares();
  /** By kind and hub, when it was sent such a message for itself alone. */
  readonly #sentAt = new Map<string, number>();

  constructor(options: AnswersOptions) {
    this.#options = options;
  }

  /**
   * Sends a hub a message for itself alone, unless it was sent such a one just now, or has had its share: the beginning of a view is long,
   * and who says to be behind says so often.
   *
   * @param now  epoch milliseconds
   */
  send(to: string, signed: Signed<Message>, now: number): void {
    const { set, gossip } = this.#options;
    const place = `${signed.message.kind} ${to}`;
    if (now < (this.#sentAt.get(place) ?? 0) + RESEND_MS || this.#shares.waitMs(to, performance.now()) > 0) return;
    this.#sentAt.set(place, now);
    this.#shares.spend(to, JSON.stringify(signed).length + LEAST_ANSWER, performance.now());
    gossip.sendTo(to, 'CONSENSUS_MESSAGES', { set, messages: [signed] });
  }

  /**
   * Hands out the log from a place on, or the state of a checkpoint where the log is pruned or that is far ahead; with the signatures of the
   * newest checkpoint above it.
   */
  sendLog(to: string, seq: number): void {
    const { set, gossip, seq: applied, stable: newest } = this.#options;
    if (seq > applied()) return;
    this.#serve(to, async () => {
      const length = await this.#sendFrom(to, seq);
      const stable = newest();
      if (seq <= stable.seq) gossip.sendTo(to, 'CONSENSUS_MESSAGES', { set, messages: stable.votes });
      return length;
    });
  }

  /** Sends a hub the log from a place on, or a state. @returns characters of that */
  async #sendFrom(to: string, seq: number): Promise<number> {
    const { journal, set, gossip, seq: applied } = this.#options;
    const first = (await journal.firstKept()) ?? Number.POSITIVE_INFINITY;
    const state = seq < first || applied() - seq > MOST_BEHIND ? await journal.stateFor(seq) : null;
    if (state) {
      gossip.sendTo(to, 'STATE_MANIFEST', { set, stable: state.stable, manifest: state.text });
      return state.text.length;
    }
    const [entries] = seq < first ? [] : packed(await journal.entries(seq, MOST_ENTRIES, MOST_DATA_BYTES));
    if (entries) gossip.sendTo(to, 'STATE_LOG', { set, entries });
    return (entries ?? []).reduce((sum, { batch }) => sum + lengthOf(batch.operations), 0);
  }

  /** Hands out a part of a state by its hash. */
  sendChunk(to: string, hash: string): void {
    const { journal, set, gossip } = this.#options;
    this.#serve(to, async () => {
      const text = await journal.chunk(hash);
      gossip.sendTo(to, 'STATE_CHUNK', { set, hash, text });
      return text?.length ?? 0;
    });
  }

  /** @param work  returns the characters that it sent */
  #serve(to: string, work: () => Promise<number>): void {
    if (this.#answering.has(to)) return;
    this.#answering.add(to);
    const answer = () =>
      this.#options.write(async () => {
        this.#answering.delete(to);
        const length = await work();
        this.#shares.spend(to, length + LEAST_ANSWER, performance.now());
      });
    const waitMs = this.#shares.waitMs(to, performance.now());
    if (waitMs === 0) answer();
    else setTimeout(answer, waitMs).unref();
  }
}
