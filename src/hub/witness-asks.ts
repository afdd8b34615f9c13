import { findNetwork } from '../coin/find-network.ts';
import type { ChainFacts } from './chain-facts.ts';
import type { Answer, Question } from './federation/node/witness.ts';

interface AskingHub {
  readonly facts: Pick<ChainFacts, 'actionAt' | 'hasReorganised'>;
  /** Questions that the hub has not answered, oldest first. */
  readonly questions: () => readonly Question[];
  readonly tell: (answer: Answer) => Promise<unknown>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Time for this hub's indexer or coin node to find what others have found: only then it says that there is nothing. */
const PATIENCE_MS = 600_000;
/** Questions that are asked at once: a service that hangs holds up a turn of these, and no vote. */
const AT_ONCE = 8;

/** Asks this hub's own indexers and coin nodes what its set wants to know of chains; one turn at a time. */
export class WitnessAsks {
  readonly #hub: AskingHub;
  #isAsking = false;
  /** Place after the last question of the turn before: one that is never answered holds up no other. */
  #next = 0;

  constructor(hub: AskingHub) {
    this.#hub = hub;
  }

  /** Asks some questions, and says what was found. */
  async ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      const all = this.#hub.questions();
      const first = this.#next < all.length ? this.#next : 0;
      this.#next = first + AT_ONCE;
      await Promise.all(all.slice(first, first + AT_ONCE).map((question) => this.#askOne(question)));
    } finally {
      this.#isAsking = false;
    }
  }

  async #askOne(question: Question): Promise<void> {
    const answer = question.kind === 'attestation' ? await this.#findAction(question) : await this.#findReorg(question);
    if (answer) await this.#hub.tell(answer);
  }

  async #findAction(question: Extract<Question, { kind: 'attestation' }>): Promise<Answer | null> {
    const { kind, id, turn, chain, index } = question;
    const found = await this.#hub.facts.actionAt(chain, index);
    if (!found) return null;
    const needed = findNetwork(chain)?.confirmations ?? Number.MAX_SAFE_INTEGER;
    if (found.place === null) return this.#isLate(question) ? { kind, id, turn, place: null } : null;
    return found.confirmations >= needed ? { kind, id, turn, place: found.place } : null;
  }

  async #findReorg(question: Extract<Question, { kind: 'reorg' }>): Promise<Answer | null> {
    const { kind, id, chain, height, oldHash, newHash } = question;
    const isSeen = await this.#hub.facts.hasReorganised(chain, height, oldHash, newHash);
    if (isSeen === null || (!isSeen && !this.#isLate(question))) return null;
    return { kind, id, isSeen };
  }

  #isLate({ begunAt }: Question): boolean {
    return this.#hub.now() >= begunAt + PATIENCE_MS;
  }
}
