import { printId } from '../coin/raw/hash-id.ts';
import { PlatformError } from '../errors.ts';
import type { CoinReader } from './coin-reader.ts';
import { type MempoolCoins, nameOf } from './mempool-coins.ts';

/** Which coins of a script are asked for. */
export interface CoinsQuestion {
  /** SHA-256 of the script, hex. */
  readonly script: string;
  readonly limit: number;
  /** The cursor of the page before; null: the first page. */
  readonly after: string | null;
}

export interface Coin {
  readonly txid: string;
  readonly vout: number;
  /** Base units. */
  readonly value: string;
  /** Null: no block has it yet. */
  readonly height: number | null;
  readonly confirmations: number;
}

export interface CoinsAnswer {
  readonly coins: readonly Coin[];
  /** Names the place behind the last coin; null: there are no more. */
  readonly next: string | null;
  /** Height of the last block that was written; -1 before the first. */
  readonly tip: number;
}

/** Amounts in base units. */
export interface BalanceAnswer {
  /** Of confirmed coins, those that the mempool spends included; rewards that are too young are left out. */
  readonly confirmed: string;
  /** What the mempool adds, or takes where it is negative. */
  readonly pending: string;
  /** Of all that blocks ever paid. */
  readonly received: string;
  readonly confirmedCoins: number;
  readonly pendingCoins: number;
  /** Height of the first block that paid; null: none did. */
  readonly firstHeight: number | null;
}

export interface TrackerAnswersOptions {
  /** Undefined while no database is open. */
  readonly coins: () => CoinReader | undefined;
  readonly mempool: Pick<MempoolCoins, 'pendingOf' | 'spentOf' | 'spends'>;
  /** Blocks after which a reward may be spent. */
  readonly maturity: number;
}

const CURSOR = /^[0-9a-f]{72}$/;

/** What callers are told of scripts: stored coins under what the mempool does to them. */
export class TrackerAnswers {
  readonly #options: TrackerAnswersOptions;

  constructor(options: TrackerAnswersOptions) {
    this.#options = options;
  }

  /**
   * A page of coins, confirmed ones first; those that the mempool spends are left out, those that it makes come with the last page.
   *
   * @throws {PlatformError} REQUEST_INVALID for a cursor that is none, DATABASE_UNAVAILABLE
   */
  async coins({ script, limit, after }: CoinsQuestion): Promise<CoinsAnswer> {
    if (after !== null && !CURSOR.test(after))
      throw new PlatformError('REQUEST_INVALID', { reason: 'after must be the nextCursor of the page before' });
    const { mempool, maturity } = this.#options;
    const scriptHash = Buffer.from(script, 'hex');
    const { coins, tip } = await this.#opened.page(scriptHash, Buffer.from(after ?? '', 'hex'), limit, maturity);
    const confirmed = coins.filter(({ outpoint }) => !mempool.spends(outpoint));
    const isLast = coins.length < limit;
    const pending = isLast ? await this.#pending(scriptHash) : [];
    return {
      coins: [
        ...confirmed.map(({ outpoint, value, height }) => ({
          ...placeOf(outpoint),
          value: String(value),
          height,
          confirmations: tip - height + 1
        })),
        ...pending.map(({ outpoint, value }) => ({
          ...placeOf(outpoint),
          value: String(value),
          height: null,
          confirmations: 0
        }))
      ],
      next: isLast ? null : coins.at(-1)!.outpoint.toString('hex'),
      tip
    };
  }

  /** @throws {PlatformError} DATABASE_UNAVAILABLE */
  async balance(script: string): Promise<BalanceAnswer> {
    const { mempool, maturity } = this.#options;
    const scriptHash = Buffer.from(script, 'hex');
    const [{ confirmed, received, coins, firstHeight }, pending] = await Promise.all([
      this.#opened.summary(scriptHash, maturity),
      this.#pending(scriptHash)
    ]);
    const added = pending.reduce((sum, { value }) => sum + value, 0n);
    const taken = [...mempool.spentOf(scriptHash).values()].reduce((sum, value) => sum + value, 0n);
    return {
      confirmed: String(confirmed),
      pending: String(added - taken),
      received: String(received),
      confirmedCoins: coins,
      pendingCoins: pending.length,
      firstHeight
    };
  }

  /** What the mempool makes, without what a block has by now. */
  async #pending(scriptHash: Buffer) {
    const pending = [...this.#options.mempool.pendingOf(scriptHash).values()];
    const stored = await this.#opened.owners(pending.map(({ outpoint }) => outpoint));
    const confirmed = new Set(stored.map(({ outpoint }) => nameOf(outpoint)));
    return pending.filter(({ outpoint }) => !confirmed.has(nameOf(outpoint)));
  }

  get #opened(): CoinReader {
    const coins = this.#options.coins();
    if (coins) return coins;
    throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'the database is not open' });
  }
}

const ID_BYTES = 32;

const placeOf = (outpoint: Buffer) => ({
  txid: printId(outpoint.subarray(0, ID_BYTES)),
  vout: outpoint.readUInt32LE(ID_BYTES)
});
