import { databaseError, openPool, type Pool } from '../../db/connection.ts';
import { PlatformError } from '../../errors.ts';
import type { DatabaseCoordinates } from '../../wire/data/database.ts';
import type { Rules } from '../profile/rules.ts';
import { refusedStatement } from '../store/refused-rows.ts';
import type { Trial, TrialQuestion } from '../trial/trial.ts';
import { Trials } from '../trial/trials.ts';
import { type BlockHashesRow, readBlockHashes } from './block-hashes.ts';
import { type ActionPlace, readConfirmations } from './confirmations.ts';
import { type RoundPlace, readRoundPlace } from './price-rounds.ts';
import { readStakes, type SignerStakes, type StakeQuestion } from './stakes.ts';

/** Requests to an indexer actor. */
export type IndexerAsks = {
  findAction: { request: { readonly actionIndex: number }; reply: ActionPlace };
  findHashes: { request: { readonly height: number | null }; reply: BlockHashesRow };
  findRound: { request: { readonly round: number }; reply: RoundPlace };
  findStakes: { request: StakeQuestion; reply: SignerStakes };
  tryAction: { request: TrialQuestion; reply: Trial };
};

/** Databases of the answers, and the state of the loop beside them. */
interface AnswersOptions {
  readonly ledger: DatabaseCoordinates;
  /** Index of Bitcoin with the prices; null if none is needed. */
  readonly prices: DatabaseCoordinates | null;
  readonly rules: Rules;
  /** Ids of tickers; undefined while the indexer has no database. */
  readonly tickers: () => Pick<ReadonlyMap<string, number>, 'get' | 'has' | 'size'> | undefined;
  /** Returns whether blocks wait to be written. */
  readonly isBusy: () => boolean;
}

const TRIAL_STATEMENT_S = 2;

/** Answers to callers' questions, on connections of their own, so that blocks wait for none of them. */
export class IndexerAnswers {
  readonly #database: string;
  readonly #readers: Pool;
  readonly #trialReaders: readonly Pool[];
  readonly #trials: Trials;

  constructor({ ledger, prices, ...loop }: AnswersOptions) {
    const options = { statementLimitS: TRIAL_STATEMENT_S, fewRows: true };
    const pool = openPool(ledger, 1, options);
    const foreign = prices && openPool(prices, 1, options);
    this.#database = ledger.name;
    this.#readers = openPool(ledger, 1);
    this.#trialReaders = foreign ? [pool, foreign] : [pool];
    this.#trials = new Trials({ pool, prices: foreign, ...loop });
  }

  /** Handlers of the actor. */
  readonly handlers = {
    findAction: ({ actionIndex }: IndexerAsks['findAction']['request']) =>
      this.#answer(readConfirmations(this.#readers, actionIndex)),
    findHashes: ({ height }: IndexerAsks['findHashes']['request']) =>
      this.#answer(readBlockHashes(this.#readers, height)),
    findRound: ({ round }: IndexerAsks['findRound']['request']) => this.#answer(readRoundPlace(this.#readers, round)),
    findStakes: (question: StakeQuestion) => this.#answer(readStakes(this.#readers, question)),
    tryAction: (question: TrialQuestion) => this.#answer(this.#trials.run(question))
  };

  /** Closes the connections. */
  async close(): Promise<void> {
    await Promise.all([this.#readers, ...this.#trialReaders].map((pool) => pool.end()));
  }

  /** Returns what was read. @throws the database's failure by its code */
  async #answer<T>(reading: Promise<T>): Promise<T> {
    try {
      return await reading;
    } catch (caught) {
      if (caught instanceof PlatformError) throw caught;
      throw refusedStatement(caught) ?? databaseError(caught, { database: this.#database });
    }
  }
}
