import { TransientMap } from '../../transient-map.ts';
import { networkOf } from './fair-line.ts';
import type { Asker, Turns } from './turns.ts';

/** The place of a network in the line. */
interface Place {
  readonly askers: Asker[];
  readonly turn: Promise<void>;
}

interface Shared<T> {
  readonly answer: PromiseWithResolvers<T>;
  /** By network. */
  readonly places: Map<string, Place>;
  /** Number of askers that wait for it. */
  waits: number;
  hasBegun: boolean;
}

/**
 * Work that many may ask for at once, done in turns. Each network of askers has a place of its own in the line, and the first whose turn
 * comes has the work done for all: nobody waits behind what another network has asked before.
 */
export class SharedTurns<T> {
  readonly #turns: Turns;
  /** By question. */
  readonly #shared = new TransientMap<string, Shared<T>>();

  constructor(turns: Turns) {
    this.#turns = turns;
  }

  /**
   * Returns the answer to a question.
   *
   * @param question alike for askers that have the same answer
   * @param isLasting whether who asks while the work is under way has its answer too; else it begins after each of them asked
   * @throws {PlatformError} ANSWERS_WAITING; and what `work` throws
   */
  async take(asker: Asker, question: string, work: () => Promise<T>, isLasting = false): Promise<T> {
    const shared = this.#shared.get(question) ?? {
      answer: Promise.withResolvers(),
      places: new Map(),
      waits: 0,
      hasBegun: false
    };
    this.#shared.set(question, shared);
    const forget = () => this.#shared.get(question) === shared && this.#shared.delete(question);
    const begin = async () => {
      if (shared.hasBegun) return; // its turn came too late to matter
      shared.hasBegun = true;
      if (!isLasting) forget();
      await work().then(shared.answer.resolve, shared.answer.reject).finally(forget);
    };
    const { turn } = this.#placeOf(asker, shared, begin);
    const { promise: answer } = shared.answer;
    shared.waits++;
    try {
      return await Promise.race([answer, turn.then(() => answer)]);
    } finally {
      if (--shared.waits === 0 && !shared.hasBegun) forget();
    }
  }

  #placeOf(asker: Asker, { places }: Shared<T>, begin: () => Promise<void>): Place {
    const network = networkOf(asker.address);
    const known = places.get(network);
    if (known) {
      known.askers.push(asker);
      return known;
    }
    const askers = [asker];
    const isGone = () => askers.every((each) => each.isGone?.() ?? false);
    const turn = this.#turns.take({ address: asker.address, isGone }, begin);
    turn.catch(() => places.delete(network));
    const place = { askers, turn };
    places.set(network, place);
    return place;
  }
}
