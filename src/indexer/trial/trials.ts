import { PRICE_SETTLEMENT_S } from '../../coin/foreign-prices.ts';
import type { KnownIds } from '../../consensus/ids-by-text.ts';
import type { Connection, Pool } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import type { Rules } from '../profile/rules.ts';
import type { PriceRound } from '../state/facts.ts';
import { readRounds } from '../store/facts/signers.ts';
import { Pace } from './pace.ts';
import { MOST_MS, type Trial, type TrialQuestion, tryAction } from './trial.ts';

/** Dependencies of trials. */
interface TrialsOptions {
  readonly pool: Pool;
  /** Index of Bitcoin whose prices count; null where the ledger has its own. */
  readonly prices: Pick<Pool, 'query'> | null;
  readonly rules: Rules;
  /** Ids of tickers; undefined while the indexer has no database. */
  readonly tickers: () => KnownIds | undefined;
  /** Returns whether blocks wait to be written. */
  readonly isBusy: () => boolean;
}

/** Most questions that wait; the next one is refused. */
const MOST_WAITING = 8;

/** Rests after a trial, as multiples of its time: blocks that wait have four fifths of the thread, others half. */
const RESTS = { busy: 4, idle: 1 } as const;

/** Judges actions one after the other in the thread of the indexer, with rests that leave the thread to blocks. */
export class Trials {
  readonly #options: TrialsOptions;
  readonly #pace: Pace;
  #waiting = 0;

  constructor(options: TrialsOptions) {
    this.#options = options;
    this.#pace = new Pace({
      rests: () => (options.isBusy() ? RESTS.busy : RESTS.idle),
      longestMs: RESTS.busy * MOST_MS
    });
  }

  /**
   * Judges an action when its turn comes. @throws {PlatformError} ACTOR_BUSY, ACTOR_NOT_READY, TRIAL_TOO_LONG, and the
   * driver's errors
   */
  async run(question: TrialQuestion): Promise<Trial> {
    if (this.#waiting >= MOST_WAITING)
      throw new PlatformError('ACTOR_BUSY', { reason: `${MOST_WAITING} questions are already waiting` });
    this.#waiting++;
    try {
      return await this.#pace.run(() => this.#try(question));
    } finally {
      this.#waiting--;
    }
  }

  async #try(question: TrialQuestion): Promise<Trial> {
    const { pool, rules, tickers } = this.#options;
    const ids = tickers();
    if (!ids) throw new PlatformError('ACTOR_NOT_READY', { reason: 'the indexer has no database yet' });
    const rounds = await this.#foreignRounds();
    const connection = await pool.getConnection();
    try {
      const trial = await tryAction(question, { connection: connection as Connection, rules, tickers: ids, rounds });
      connection.release();
      return trial;
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
