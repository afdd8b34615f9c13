import { EXTENSION_MATURITY } from '../coin/raw/raw-transaction.ts';
import { PlatformError } from '../errors.ts';
import type { BlockRef } from '../follower/work.ts';
import { scriptHashOf } from './coins/changes.ts';
import { COIN_JSON_BYTES, CoinJson, coinBytes } from './coins/coin-json.ts';
import type { CoinView } from './coins/coin-reader.ts';
import { ReadAhead } from './coins/read-ahead.ts';
import { HASH_BYTES, OUTPOINT_BYTES } from './coins/records.ts';
import type { MempoolCoins, MempoolOverlay } from './mempool-coins.ts';
import { bytesOf, nameOf, type WaitingCoin } from './mempool-index.ts';
import { atSnapshot, type Snapshot, type SyncStatus } from './report.ts';
import type { TrackerStore } from './store.ts';

/** A request for a page of a script's coins. */
export interface CoinsQuestion {
  /** The script, hex. */
  readonly scriptHex: string;
  readonly limit: number;
  /** Cursor of the page before; null for the first page. */
  readonly after: string | null;
  /** State of the tracker as JSON, which is appended to the coins, with the block of their snapshot. */
  readonly sync: string;
}

/** Answer to a question for a balance. Amounts are in base units. */
export interface BalanceAnswer {
  /** Value of confirmed coins, including those that the mempool spends, without immature rewards. */
  readonly confirmed: string;
  /** Change by the mempool; negative when it spends more than it adds. */
  readonly pending: string;
  /** Total that blocks ever paid. */
  readonly received: string;
  readonly confirmedCoins: number;
  readonly pendingCoins: number;
  /** Height of the first block that paid; null when none did. */
  readonly firstHeight: number | null;
  /** Newest block of the snapshot; null when there is none. */
  readonly newest: BlockRef | null;
  /** Whether the mempool was read after that block. */
  readonly isOfMempool: boolean;
}

/** Sources of the answers. */
interface TrackerAnswersOptions {
  /** Returns undefined while no database is open. */
  readonly store: () => Pick<TrackerStore, 'coins' | 'version'> | undefined;
  readonly mempool: Pick<MempoolCoins, 'overlay' | 'version'>;
}

const CURSOR = /^[0-9a-f]{72}$/;
/** First digits of the cursors of waiting coins: they follow the outpoints of all confirmed ones. */
const WAITING = 'f'.repeat(16);
const MOST_VALUE = 2n ** 64n - 1n;
/** Most bytes of a page: one of a long script has fewer coins than asked for. */
const PAGE_BYTES = 8 * 2 ** 20;

/** A waiting coin, and the cursor behind it. */
type Placed = readonly [cursor: string, coin: WaitingCoin];

interface Page {
  readonly json: CoinJson;
  /** Cursor behind the last coin; null on the last page. */
  readonly next: string | null;
  /** Newest block of the snapshot that the coins are from; null when there is none. */
  readonly newest: BlockRef | null;
  /** Whether the mempool was read after that block. */
  readonly isOfMempool: boolean;
}

/** Answers questions about scripts from stored coins and the mempool. */
export class TrackerAnswers {
  readonly #options: TrackerAnswersOptions;
  readonly #readAhead = new ReadAhead<Page>();
  /** Sorted lists of the waiting coins of large scripts: each page of them takes a part. */
  readonly #placed = new WeakMap<readonly WaitingCoin[], readonly Placed[]>();

  constructor(options: TrackerAnswersOptions) {
    this.#options = options;
  }

  /**
   * Returns a page of coins, confirmed ones first. Coins that the mempool spends are left out; those that it creates
   * follow, largest first.
   *
   * From a caller's second page on, the next page is read ahead.
   *
   * @returns JSON `{utxos, nextCursor?, sync}` in a buffer of its own
   * @throws {PlatformError} REQUEST_INVALID for a malformed cursor, DATABASE_UNAVAILABLE, COINS_INCOMPLETE
   */
  async coins({ scriptHex, limit, after, sync }: CoinsQuestion): Promise<Buffer<ArrayBuffer>> {
    if (after !== null && !CURSOR.test(after))
      throw new PlatformError('REQUEST_INVALID', { reason: 'after must be the nextCursor of the page before' });
    const most = Math.min(limit, mostOfPage(scriptHex));
    const nameAt = (cursor: string | null) => `${scriptHex} ${most} ${cursor}`;
    const { json, next, ...snapshot } =
      (await this.#readAhead.take(nameAt(after), this.#version)) ?? (await this.#page(scriptHex, most, after));
    if (next !== null && after !== null)
      this.#readAhead.read(nameAt(next), this.#version, () => this.#page(scriptHex, most, next));
    return json.finish(`]${next === null ? '' : `,"nextCursor":"${next}"`},"sync":${syncText(sync, snapshot)}}`);
  }

  async #page(scriptHex: string, most: number, after: string | null): Promise<Page> {
    const { mempool } = this.#options;
    const scriptHash = scriptHashOf(Buffer.from(scriptHex, 'hex'));
    const json = new CoinJson('{"utxos":[', scriptHex, most);
    const last = Buffer.alloc(OUTPOINT_BYTES);
    let count = 0;
    const overlay = mempool.overlay(scriptHash);
    return await this.#opened.coins.look(async (coins) => {
      const newest = await coins.newest();
      const tip = newest?.height ?? -1;
      const place = { scriptHash, after: Buffer.from(after ?? '', 'hex'), limit: most };
      const take: Parameters<CoinView['page']>[1] = (at, value, height, maturity) => {
        count++;
        if (count === most) value.bytes.copy(last, 0, at, at + OUTPOINT_BYTES);
        if (!overlay.spendsAny || !overlay.spends(value.bytes.subarray(at, at + OUTPOINT_BYTES)))
          json.add(at, value, height, tip - height + 1, maturity > EXTENSION_MATURITY);
      };
      if (!after?.startsWith(WAITING)) await coins.page(place, take);
      if (count === most) return { json, next: last.toString('hex'), newest, isOfMempool: overlay.isOfStored() };
      const waiting = this.#placedOf(await unstored(overlay, coins)).filter(([cursor]) => cursor > (after ?? ''));
      const shown = waiting.slice(0, most - count);
      for (const [, { name, value }] of shown) json.add(0, coinBytes(bytesOf(name), value), null, 0);
      const next = shown.length < waiting.length ? shown.at(-1)![0] : null;
      return { json, next, newest, isOfMempool: overlay.isOfStored() };
    });
  }

  /**
   * Returns the balance of a script. @param script its SHA-256, hex @throws {PlatformError} DATABASE_UNAVAILABLE,
   * COINS_INCOMPLETE
   */
  async balance(script: string): Promise<BalanceAnswer> {
    const scriptHash = Buffer.from(script, 'hex');
    const overlay = this.#options.mempool.overlay(scriptHash);
    return await this.#opened.coins.look(async (coins) => {
      const { confirmed, received, coins: confirmedCoins, firstHeight } = await coins.summary(scriptHash);
      const { added, pendingCoins } = await addedBy(overlay, coins);
      const taken = await takenBy(overlay, coins);
      const newest = await coins.newest();
      return {
        confirmed: String(confirmed),
        pending: String(added - taken),
        received: String(received),
        confirmedCoins,
        pendingCoins,
        firstHeight,
        newest,
        isOfMempool: overlay.isOfStored()
      };
    });
  }

  /** Returns waiting coins, largest first, each with the cursor behind it. */
  #placedOf(coins: readonly WaitingCoin[]): readonly Placed[] {
    const placed =
      this.#placed.get(coins) ??
      coins.map((coin): Placed => [waitingCursor(coin), coin]).sort(([a], [b]) => (a < b ? -1 : 1));
    this.#placed.set(coins, placed);
    return placed;
  }

  /** Names the state of coins and mempool. */
  get #version(): string {
    return `${this.#opened.version} ${this.#options.mempool.version}`;
  }

  get #opened() {
    const store = this.#options.store();
    if (store) return store;
    throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'the database is not open' });
  }
}

/** Returns a state as JSON, as it was at a snapshot. @param sync the state as JSON */
function syncText(sync: string, snapshot: Snapshot): string {
  return JSON.stringify(atSnapshot(JSON.parse(sync) as SyncStatus, snapshot));
}

/** Returns the most coins that fit into a page. */
const mostOfPage = (scriptHex: string): number => Math.floor(PAGE_BYTES / (COIN_JSON_BYTES + scriptHex.length));

/** Returns the cursor behind a waiting coin: it grows as values fall, and has the form of an outpoint. */
function waitingCursor({ name, value }: WaitingCoin): string {
  const falling = (MOST_VALUE - value).toString(16).padStart(16, '0');
  const outpoint = bytesOf(name);
  return `${WAITING}${falling}${outpoint.toString('hex', 0, 16)}${outpoint.toString('hex', HASH_BYTES)}`;
}

/**
 * Returns the coins that the mempool creates, without those that a block has by now. Of very many they are the largest, and none
 * while a block may have some.
 */
async function unstored(overlay: MempoolOverlay, coins: CoinView): Promise<readonly WaitingCoin[]> {
  const { pending, manyPending, isOfNow } = overlay;
  if (manyPending) return isOfNow() ? manyPending.largest : [];
  const stored = await coins.owners(pending.map(({ name }) => bytesOf(name)));
  const confirmed = new Set(stored.map(({ outpoint }) => nameOf(outpoint)));
  return pending.filter(({ name }) => !confirmed.has(name));
}

/** Returns the value and the number of the coins that the mempool creates. */
async function addedBy(overlay: MempoolOverlay, coins: CoinView) {
  const { pending, manyPending } = overlay;
  if (manyPending) return { added: manyPending.value, pendingCoins: pending.length };
  const found = await unstored(overlay, coins);
  return { added: found.reduce((sum, { value }) => sum + value, 0n), pendingCoins: found.length };
}

/** Returns the value of stored coins that the mempool spends. A block may have spent others by now. */
async function takenBy({ spent, manySpent }: MempoolOverlay, coins: CoinView): Promise<bigint> {
  if (manySpent !== null) return manySpent;
  const stored = await coins.owners(spent.map(({ name }) => bytesOf(name)));
  return stored.reduce((sum, { value }) => sum + value, 0n);
}
