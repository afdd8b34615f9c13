import type { FastifyRequest } from 'fastify';
import { type Payer, type PayerDeps, payerOf } from '../service/ingress/payer.ts';
import { takePaidTurn } from '../service/turns/paid-turn.ts';
import { Turns } from '../service/turns/turns.ts';
import type { Coin } from './coins.ts';
import { READS_AT_ONCE } from './read/reader.ts';

/**
 * Lets addresses take turns at reading a network. There are as many turns as connections: then nobody waits for a connection behind
 * what another address has asked.
 */
export class FairReads {
  readonly #parts: PayerDeps;
  readonly #atOnce: number;
  readonly #turns = new WeakMap<Coin, Turns>();

  /** @param atOnce turns of a network; default: as many as connections */
  constructor(parts: PayerDeps, atOnce = READS_AT_ONCE) {
    this.#parts = parts;
    this.#atOnce = atOnce;
  }

  /** Reads in the caller's turn, once it owes nothing. @throws {PlatformError} ANSWERS_WAITING; and what the read throws */
  async take<T>(coin: Coin, request: FastifyRequest, read: () => Promise<T>): Promise<T> {
    return await takePaidTurn({ ...this.#parts, turns: this.#turnsOf(coin) }, request, read);
  }

  /** Returns who pays for what a request is sent. */
  payerOf(request: Pick<FastifyRequest, 'raw'>): Payer {
    return payerOf(this.#parts, request);
  }

  #turnsOf(coin: Coin): Turns {
    const turns = this.#turns.get(coin) ?? new Turns({ atOnce: this.#atOnce });
    this.#turns.set(coin, turns);
    return turns;
  }
}
