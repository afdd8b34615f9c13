import { setTimeout as sleep } from 'node:timers/promises';
import { PRICE_SETTLEMENT_S } from '../../coin/foreign-prices.ts';
import type { Connection, Pool } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import type { Rules } from '../rules/rules.ts';
import type { PriceRound } from '../state/facts.ts';
import { readRounds } from '../store/facts/signers.ts';
import { type Trial, type TrialQuestion, tryAction } from './trial.ts';

/** Dependencies of trials. */
export interface TrialsOptions {
  readonly pool: Pool;
  /** Index of Bitcoin whose prices count; null where the ledger has its own. */
  readonly prices: Pick<Pool, 'query'> | null;
  readonly rules: Rules;
  /** Ids of tickers; undefined while the indexer has no database. */
  readonly tickers: () => ReadonlyMap<string, number> | undefined;
}

/** Most questions that wait; the next one is refused. */
const MOST_WAITING = 8;

/**
 * Judges actions one after the other in the thread of the indexer. After each it rests for as long as the trial took,
 * so that blocks have at least half of the thread.
 */
export class Trials {
  readonly #options: TrialsOptions;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: TrialsOptions) {
    this.#options = options;
  }

  /**
   * Judges an action when its turn comes. @throws {PlatformError} ACTOR_BUSY, ACTOR_NOT_READY, TRIAL_TOO_LONG, and the
   * driver's errors
   */
  async run(question: TrialQuestion): Promise<Trial> {
    if (this.#waiting >= MOST_WAITING)
      throw new PlatformError('ACTOR_BUSY', { reason: `${MOST_WAITING} questions are already waiting` });
    this.#waiting++;
    const before = this.#last;
    const trial = before.then(() => this.#try(question));
    this.#last = trial.then(rest, rest);
    try {
      return (await trial).trial;
    } finally {
      this.#waiting--;
    }
  }

  async #try(question: TrialQuestion): Promise<{ readonly trial: Trial; readonly tookMs: number }> {
    const { pool, rules, tickers } = this.#options;
    const ids = tickers();
    if (!ids) throw new PlatformError('ACTOR_NOT_READY', { reason: 'the indexer has no database yet' });
    const began = performance.now();
    const rounds = await this.#foreignRounds();
    const connection = await pool.getConnection();
    try {
      const trial = await tryAction(question, { connection: connection as Connection, rules, tickers: ids, rounds });
      connection.release();
      return { trial, tookMs: performance.now() - began };
    } catch (caught) {
      connection.destroy();
      throw caught;
    }
  }

  /** Returns the rounds of another chain that are settled by now; undefined where the ledger has its own. */
  async #foreignRounds(): Promise<readonly PriceRound[] | undefined> {
    const { prices } = this.#options;
    if (!prices) return undefined;
    const until = Math.floor(Date.now() / 1_000) - PRICE_SETTLEMENT_S;
    return (await readRounds(prices)).filter(({ timestamp }) => timestamp <= until);
  }
}

const rest = (done: unknown): Promise<void> =>
  sleep(Math.min(2_000, Number((done as { tookMs?: number }).tookMs ?? 0)));
