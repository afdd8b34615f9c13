import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { PlatformError } from '../../errors.ts';
import { TransientMap } from '../../transient-map.ts';
import { databaseKey } from '../../wire/data/database.ts';
import type { AddressReader } from '../callers/address.ts';
import { databaseOf } from '../schema/parameters.ts';
import { FairLine } from './fair-line.ts';

/** Different questions of one address about one database that may wait. */
const MAX_QUESTIONS = 64;

/** Longest pause between two questions of a crowd. It lasts as long as the first of them took: blocks need the same processors. */
const MAX_PAUSE_MS = 50;

/** One question of one caller. */
interface Turn {
  readonly question: string;
  readonly request: FastifyRequest;
  readonly work: () => Promise<unknown>;
  readonly answer: PromiseWithResolvers<unknown>;
}

/**
 * Queue of questions to an actor, which is asked one at a time: its mailbox holds one question of a route, and questions of callers
 * that have left are dropped.
 *
 * Networks and addresses take turns, however many questions each has. Equal questions that wait share one answer, whose work begins
 * after the last of them was asked.
 */
export class FairQueue {
  readonly #addressOf: AddressReader;
  /** By database, which is there while it is asked something. */
  readonly #waiting = new TransientMap<string, FairLine<Turn>>();

  constructor(addressOf: AddressReader) {
    this.#addressOf = addressOf;
  }

  /**
   * @param question alike for requests that have the same answer
   * @throws {PlatformError} ANSWERS_WAITING; and what `work` throws
   */
  async take<T>(request: FastifyRequest, question: string, work: () => Promise<T>): Promise<T> {
    const database = databaseKey(databaseOf(request));
    const address = this.#addressOf(request.raw);
    const line = this.#waiting.get(database);
    const own = (line?.of(address) ?? []).filter(isThere);
    const questions = new Set(own.map((turn) => turn.question));
    if (questions.size >= MAX_QUESTIONS && !questions.has(question)) {
      const reason = `${questions.size} other questions of this address about ${database} wait for their turn`;
      throw new PlatformError('ANSWERS_WAITING', { reason });
    }
    const turn: Turn = { question, request, work, answer: Promise.withResolvers() };
    if (line) line.add(address, turn, isThere);
    else {
      const begun = new FairLine<Turn>();
      begun.add(address, turn);
      this.#waiting.set(database, begun);
      void this.#serve(database, begun);
    }
    return turn.answer.promise as Promise<T>;
  }

  async #serve(database: string, line: FairLine<Turn>): Promise<void> {
    for (let turns = takeNext(line); turns.length > 0; turns = takeNext(line)) {
      const [first] = turns as [Turn];
      const began = performance.now();
      try {
        const answer = await first.work();
        for (const turn of turns) turn.answer.resolve(answer);
      } catch (caught) {
        for (const turn of turns) turn.answer.reject(caught);
      }
      if (!line.isEmpty) await sleep(Math.min(performance.now() - began, MAX_PAUSE_MS));
    }
    this.#waiting.delete(database);
  }
}

/** Takes the first question of the address whose turn it is, with all that are alike; none when nobody waits any more. */
function takeNext(line: FairLine<Turn>): readonly Turn[] {
  for (let first = line.takeNext(); first !== undefined; first = line.takeNext()) {
    const { question } = first;
    if (isThere(first)) return [first, ...line.takeWhere((turn) => turn.question === question)];
    first.answer.reject(new PlatformError('ANSWERS_WAITING', { reason: 'the client has disconnected' })); // nobody hears it
  }
  return [];
}

function isThere({ request }: Turn): boolean {
  return !request.raw.socket.destroyed;
}
