import type { FastifyRequest } from 'fastify';
import { PlatformError } from '../errors.ts';
import { databaseKey } from '../wire/database.ts';
import { databaseOf } from './checks.ts';

/** What an actor does one at a time is asked of it one at a time, so that nothing is done for who has left meanwhile. */
export class Turns {
  readonly #turns = new Map<string, Promise<unknown>>();

  /** @throws {PlatformError} ANSWERS_WAITING, which nobody hears; and what `work` throws */
  async take<T>(request: FastifyRequest, work: () => Promise<T>): Promise<T> {
    const key = databaseKey(databaseOf(request));
    const turn = (this.#turns.get(key) ?? Promise.resolve()).then(() => {
      if (request.raw.socket.destroyed) throw new PlatformError('ANSWERS_WAITING', { reason: 'its client has left' });
      return work();
    });
    this.#turns.set(
      key,
      turn.catch(() => undefined)
    );
    return turn;
  }
}
