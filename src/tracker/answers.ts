import { EXTENSION_MATURITY } from '../coin/raw/raw-transaction.ts';
import { PlatformError } from '../errors.ts';
import { scriptHashOf } from './coins/changes.ts';
import { COIN_JSON_BYTES, CoinJson, coinBytes } from './coins/coin-json.ts';
import type { CoinView } from './coins/coin-reader.ts';
import { ReadAhead } from './coins/read-ahead.ts';
import { OUTPOINT_BYTES } from './coins/records.ts';
import { type MempoolCoins, type MempoolOverlay, nameOf, outpointOf, type PendingCoin } from './mempool-coins.ts';
import type { TrackerStore } from './store.ts';

/** Which coins of a script are asked for. */
export interface CoinsQuestion {
  /** The script, hex. */
  readonly scriptHex: string;
  readonly limit: number;
  /** The cursor of the page before; null: the first page. */
  readonly after: string | null;
  /** How far the tracker is, as JSON: it stands behind the coins. */
  readonly sync: string;
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
  readonly store: () => Pick<TrackerStore, 'coins' | 'version'> | undefined;
  readonly mempool: Pick<MempoolCoins, 'overlay' | 'version'>;
}

const CURSOR = /^[0-9a-f]{72}$/;
/** A page of a long script has fewer coins than were asked for. */
const PAGE_BYTES = 8 * 2 ** 20;

interface Page {
  readonly json: CoinJson;
  /** Names the place behind the last coin; null: there are no more. */
  readonly next: string | null;
}

/** What callers are told of scripts: stored coins under what the mempool does to them. */
export class TrackerAnswers {
  readonly #options: TrackerAnswersOptions;
  readonly #readAhead = new ReadAhead<Page>();

  constructor(options: TrackerAnswersOptions) {
    this.#options = options;
  }

  /**
   * A page of coins, confirmed ones first; those that the mempool spends are left out, those that it makes come with the last page.
   * While a caller takes its second page, or a later one, the next is read already.
   *
   * @returns JSON `{utxos, nextCursor?, sync}`, in memory of its own
   * @throws {PlatformError} REQUEST_INVALID for a cursor that is none, DATABASE_UNAVAILABLE, COINS_INCOMPLETE
   */
  async coins({ scriptHex, limit, after, sync }: CoinsQuestion): Promise<Buffer<ArrayBuffer>> {
    if (after !== null && !CURSOR.test(after))
      throw new PlatformError('REQUEST_INVALID', { reason: 'after must be the nextCursor of the page before' });
    const most = Math.min(limit, Math.floor(PAGE_BYTES / (COIN_JSON_BYTES + scriptHex.length)));
    const nameAt = (cursor: string | null) => `${scriptHex} ${most} ${cursor}`;
    const { json, next } =
      (await this.#readAhead.take(nameAt(after), this.#version)) ?? (await this.#page(scriptHex, most, after));
    if (next !== null && after !== null)
      this.#readAhead.read(nameAt(next), this.#version, () => this.#page(scriptHex, most, next));
    return json.finish(`]${next === null ? '' : `,"nextCursor":"${next}"`},"sync":${sync}}`);
  }

  async #page(scriptHex: string, most: number, after: string | null): Promise<Page> {
    const { mempool } = this.#options;
    const scriptHash = scriptHashOf(Buffer.from(scriptHex, 'hex'));
    const json = new CoinJson('{"utxos":[', scriptHex, most);
    const last = Buffer.alloc(OUTPOINT_BYTES);
    let [tip, count] = [-1, 0];
    const overlay = mempool.overlay(scriptHash);
    return await this.#opened.coins.look(async (coins) => {
      await coins.page(
        { scriptHash, after: Buffer.from(after ?? '', 'hex'), limit: most },
        {
          tip: (height) => {
            tip = height;
          },
          coin: (at, value, height, maturity) => {
            count++;
            if (count === most) value.bytes.copy(last, 0, at, at + OUTPOINT_BYTES);
            if (!overlay.spendsAny || !overlay.spends(value.bytes.subarray(at, at + OUTPOINT_BYTES)))
              json.add(at, value, height, tip - height + 1, maturity > EXTENSION_MATURITY);
          }
        }
      );
      if (count === most) return { json, next: last.toString('hex') };
      for (const { outpoint, value } of await unstored(overlay, coins))
        json.add(0, coinBytes(outpoint, value), null, 0);
      return { json, next: null };
    });
  }

  /** @param script SHA-256 of it, hex @throws {PlatformError} DATABASE_UNAVAILABLE, COINS_INCOMPLETE */
  async balance(script: string): Promise<BalanceAnswer> {
    const scriptHash = Buffer.from(script, 'hex');
    const overlay = this.#options.mempool.overlay(scriptHash);
    return await this.#opened.coins.look(async (coins) => {
      const { confirmed, received, coins: confirmedCoins, firstHeight } = await coins.summary(scriptHash);
      const pending = await unstored(overlay, coins);
      const added = pending.reduce((sum, { value }) => sum + value, 0n);
      const taken = await takenBy(overlay, coins);
      return {
        confirmed: String(confirmed),
        pending: String(added - taken),
        received: String(received),
        confirmedCoins,
        pendingCoins: pending.length,
        firstHeight
      };
    });
  }

  /** Of the coins, and of what the mempool does to them. */
  get #version(): string {
    return `${this.#opened.version} ${this.#options.mempool.version}`;
  }

  get #opened() {
    const store = this.#options.store();
    if (store) return store;
    throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'the database is not open' });
  }
}

/** What the mempool makes, without what a block has by now. */
async function unstored({ pending }: MempoolOverlay, coins: CoinView): Promise<readonly PendingCoin[]> {
  const stored = await coins.owners([...pending.values()].map(({ outpoint }) => outpoint));
  const confirmed = new Set(stored.map(({ outpoint }) => nameOf(outpoint)));
  return [...pending].flatMap(([name, coin]) => (confirmed.has(name) ? [] : [coin]));
}

/** What the mempool takes of coins that are stored: a block may have taken others by now. */
async function takenBy({ spent }: MempoolOverlay, coins: CoinView): Promise<bigint> {
  const stored = await coins.owners([...spent.keys()].map(outpointOf));
  return stored.reduce((sum, { value }) => sum + value, 0n);
}
