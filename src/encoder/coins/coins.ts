import { LRUCache } from 'lru-cache';
import Type from 'typebox';
import { toDecimal } from '../../coin/amount.ts';
import { refuseLoading } from '../../coin/node/mempool-loading.ts';
import { malformed, readNodeHash, readNodeHeight } from '../../coin/node/node-answer.ts';
import type { NodeRpc } from '../../coin/node/node-rpc.ts';
import { EXTENSION_MATURITY, readRawTransaction } from '../../coin/raw/raw-transaction.ts';
import { hasCode, PlatformError } from '../../errors.ts';
import type { Cost } from '../../service/ingress/work-budget.ts';
import type { RpcCaller } from '../../service/rpc/method.ts';
import { SharedTurns } from '../../service/turns/shared-turns.ts';
import { Turns } from '../../service/turns/turns.ts';
import { shapeOf } from '../../wire/data/shape.ts';
import type { Coin } from '../transaction/select-coins.ts';
import { CoinScan } from './coin-scan.ts';
import { type Added, findCrowded, readFamily } from './mempool-room.ts';
import { keyOf, type Outpoint } from './reservations.ts';
import type { SourcedCoin } from './spent.ts';

/** A coin of a block or of the mempool. */
export interface ChainCoin extends SourcedCoin {
  /** Null while no block has the coin. */
  readonly height: number | null;
}

/** A coin with its script and the whole transaction that created it. */
export interface PlacedCoin extends Coin {
  readonly script: Buffer;
  readonly transaction: Buffer;
}

/** Facts of the chain and settings that decide how coins are found. */
interface CoinRules {
  /** Blocks until a coinbase output may be spent. */
  readonly coinbaseMaturity: number;
  /** Whether coins may come from an extension block (MWEB). */
  readonly hasExtensionBlocks?: boolean;
  /** Longest time that a caller waits for a scan of the node. */
  readonly scanPatienceMs?: number;
  /** Source of coins in place of the node. */
  readonly tracker?: CoinTracker;
}

/** Charges the caller for work that was done for it. */
export type Charge = (cost: Cost) => void;

/** Caller that coins are looked for. */
type CoinAsker = Pick<RpcCaller, 'address' | 'charge' | 'aside'>;

const NOBODY: CoinAsker = { address: '', charge: () => undefined, aside: (wait) => wait() };

/** A UTXO tracker as source of coins. */
export interface CoinTracker {
  /**
   * Returns the coins of a script: confirmed ones first, each group largest first.
   *
   * @param scriptHex the output script
   * @param height the node's height, which the tracker must have reached
   * @param charge called for each page that is read
   * @throws {PlatformError} the codes of TRACKER_ERRORS
   */
  readonly coins: (scriptHex: string, height: number, charge: Charge) => Promise<TrackedCoins>;
}

/** Coins of a script, as one answer of a tracker tells them. */
export interface TrackedCoins {
  readonly coins: readonly ChainCoin[];
  /** Whether coins of the mempool may be missing, because the tracker has not read all of it yet. */
  readonly lacksMempool: boolean;
}

const OutputSchema = Type.Object({
  confirmations: Type.Integer({ minimum: 0 }),
  coinbase: Type.Boolean(),
  value: Type.Union([Type.Number(), Type.String({ maxLength: 40 })])
});
const outputValidator = shapeOf(OutputSchema);
const hexValidator = shapeOf(Type.String({ pattern: '^(?:[0-9a-f]{2})+$' }));

/** Coins of a script, and the monotonic millisecond until which they serve although the chain has grown. */
interface Known extends TrackedCoins {
  readonly goodUntil: number;
}

/** Most coins that are remembered, over all scripts. */
const MOST_KNOWN_COINS = 200_000;
/** Time for which callers share a tracker's answer. `spendable` finds what was spent meanwhile. */
const TRACKED_FOR_MS = 1_000;
/** Most lists of coins that are read from a tracker at once. */
const ASKS_AT_ONCE = 4;
/** Greatest position that nodes can be asked for: no transaction has so many outputs. */
const MOST_VOUT = 2 ** 31 - 1;
/** Most transactions whose relatives in the mempool are looked at for coins that were not chosen. */
const MOST_FAMILIES = 100;
/** Most calls in one batch to the node. */
const BATCH = 500;
/** Most transactions in one batch: they may be large. */
const TRANSACTIONS_AT_ONCE = 16;
/** Most bytes of transactions that are remembered. */
const MOST_KNOWN_BYTES = 32 * 2 ** 20;
/** Most bytes of all transactions from which the coins of one call come. */
const MOST_PLACED_BYTES = 32 * 2 ** 20;

/** Answers that all callers share. */
class Memory {
  /** By script. An entry serves for one state of the chain, or until `goodUntil`. */
  readonly known = new LRUCache<string, { readonly state: string; readonly read: Promise<Known>; goodUntil: number }>({
    maxSize: MOST_KNOWN_COINS
  });
  /** By txid. A look-up takes the node tens of milliseconds, and the bytes of a txid never change. */
  readonly transactions = new LRUCache<string, Buffer>({
    maxSize: MOST_KNOWN_BYTES,
    sizeCalculation: ({ length }) => length
  });
  readonly scan: CoinScan;
  /** Asks of the tracker: each may have pages of coins in memory. */
  readonly asks = new SharedTurns<TrackedCoins>(new Turns({ atOnce: ASKS_AT_ONCE }));

  constructor(rpc: NodeRpc, { scanPatienceMs }: CoinRules) {
    this.scan = new CoinScan(rpc, scanPatienceMs);
  }
}

/** Finds the coins of any address: by a tracker, or by a node without a wallet, which knows confirmed ones only. */
export class NodeCoins {
  readonly #rpc: NodeRpc;
  readonly #rules: CoinRules;
  readonly #memory: Memory;
  readonly #asker: CoinAsker;

  constructor(rpc: NodeRpc, rules: CoinRules, memory = new Memory(rpc, rules), asker = NOBODY) {
    this.#rpc = rpc;
    this.#rules = rules;
    this.#memory = memory;
    this.#asker = asker;
  }

  /** Returns the same coins for one caller, who is charged for rows, bytes and scan time, and waits without its turn. */
  askedBy(asker: CoinAsker): NodeCoins {
    return new NodeCoins(this.#rpc, this.#rules, this.#memory, asker);
  }

  /** The tracker that is asked in place of the node, if any. */
  get tracker(): CoinTracker | undefined {
    return this.#rules.tracker;
  }

  /**
   * Returns every coin of a script, confirmed ones first, each group largest first. Some may be spent in the mempool or
   * immature.
   *
   * @throws {PlatformError} NODE_UNREACHABLE, NODE_REFUSED, ANSWERS_WAITING, COINS_INSUFFICIENT when there are too many
   *   to read, and the codes of TRACKER_ERRORS
   */
  async ofScript(script: Uint8Array): Promise<readonly ChainCoin[]> {
    return (await this.read(script)).coins;
  }

  /** Returns what `ofScript` does, and whether some may be missing. @throws {PlatformError} its errors */
  async read(script: Uint8Array): Promise<TrackedCoins> {
    const key = Buffer.from(script).toString('hex');
    const { tracker } = this.#rules;
    const height = tracker ? readNodeHeight(await this.#rpc.call('getblockcount'), 'getblockcount') : 0;
    const state = tracker
      ? `${height} ${Math.floor(performance.now() / TRACKED_FOR_MS)}`
      : readNodeHash(await this.#rpc.call('getbestblockhash'), 'getbestblockhash');
    const known = this.#memory.known.get(key);
    const began = performance.now();
    const isKnown = known && (known.state === state || began < known.goodUntil);
    try {
      const read = () => {
        if (!isKnown) return this.#read(key, state, height);
        // Who waits for another's reading has a place of its own, or that of a crowd would count.
        return known.goodUntil === Number.POSITIVE_INFINITY ? this.#find(key, height) : known.read;
      };
      const found = await this.#asker.aside(() => this.#memory.scan.inTime(read(), tracker !== undefined));
      this.#asker.charge({ rows: found.coins.length });
      return found;
    } finally {
      // The first caller pays for the scan of the whole set.
      if (!isKnown && !tracker) this.#asker.charge({ ms: performance.now() - began });
    }
  }

  /** Reads the coins of a script and remembers them. Continues when its caller has left. */
  #read(key: string, state: string, height: number): Promise<Known> {
    const read = this.#find(key, height);
    // All callers share a reading that is under way.
    const entry = { state, read, goodUntil: Number.POSITIVE_INFINITY };
    const { known } = this.#memory;
    known.set(key, entry, { size: 1 });
    const isLast = () => known.peek(key) === entry;
    read.then(
      ({ coins, goodUntil }) => {
        entry.goodUntil = goodUntil;
        if (isLast()) known.set(key, entry, { size: coins.length + 1 });
      },
      (caught) => {
        // Too many coins stay too many until the next block.
        if (hasCode(caught, 'COINS_INSUFFICIENT')) entry.goodUntil = 0;
        else if (isLast()) known.delete(key);
      }
    );
    return read;
  }

  async #find(key: string, height: number): Promise<Known> {
    const { tracker } = this.#rules;
    if (!tracker) return await this.#scanned(key);
    const { address, charge } = this.#asker;
    const ask = () => tracker.coins(key, height, (cost) => charge(cost));
    return { ...(await this.#memory.asks.take({ address }, `${key} ${height}`, ask, true)), goodUntil: 0 };
  }

  /**
   * Returns those of the coins that can be spent now, in their order.
   *
   * @throws {PlatformError} TRACKER_UNAVAILABLE when the tracker told another amount than the node: what is left over
   *   would be a fee that nobody was told; NODE_BEHIND while transactions that spend coins are being loaded;
   *   NODE_UNREACHABLE, NODE_REFUSED
   */
  async spendable<C extends Outpoint & { readonly amount?: bigint }>(
    coins: readonly C[]
  ): Promise<readonly (C & { readonly confirmations: number })[]> {
    await refuseLoading(this.#rpc);
    const possible = coins.filter(({ vout }) => vout <= MOST_VOUT);
    const outputs = await this.#batch(
      'gettxout',
      possible.map(({ txid, vout }) => [txid, vout, true])
    );
    const unspent = possible.flatMap((coin, position) => {
      const output = outputs[position];
      if (output === null) return [];
      if (!outputValidator.Check(output)) throw malformed('gettxout');
      if (coin.amount !== undefined) this.#refuseOtherAmount(coin, coin.amount, output.value);
      const isYoung = output.coinbase && output.confirmations < this.#rules.coinbaseMaturity;
      return isYoung ? [] : [{ ...coin, confirmations: output.confirmations }];
    });
    return await this.#withoutYoungPayouts(unspent);
  }

  /** @param value coins by the node, a number of floating point in a batch */
  #refuseOtherAmount(coin: Outpoint, amount: bigint, value: number | string): void {
    if (Number(toDecimal(amount)) === Number(value)) return;
    const { tracker } = this.#rules;
    if (!tracker) throw malformed('gettxout');
    const reason = `the UTXO tracker tells another amount of ${keyOf(coin)} than the node: ${toDecimal(amount)} in place of ${value} coins`;
    throw new PlatformError('TRACKER_UNAVAILABLE', { reason });
  }

  /** Drops immature payouts of extension blocks. `gettxout` does not mark them: the transaction itself does. */
  async #withoutYoungPayouts<C extends Outpoint & { readonly confirmations: number }>(coins: readonly C[]) {
    if (!this.#rules.hasExtensionBlocks) return coins;
    const isYoung = ({ confirmations }: C) => confirmations > 0 && confirmations < EXTENSION_MATURITY;
    const transactions = await this.#transactionsOf(coins.filter(isYoung));
    return coins.filter((coin) => {
      const transaction = isYoung(coin) && coin.vout > 0 ? transactions.get(coin.txid) : undefined;
      return !transaction || !readRawTransaction(transaction).isPayout;
    });
  }

  /**
   * Returns those of some unconfirmed coins that cannot be spent before a block: their mempool relatives reach the
   * nodes' limits.
   *
   * @throws {PlatformError} NODE_UNREACHABLE, NODE_REFUSED
   */
  async crowded<C extends Outpoint>(unconfirmed: readonly C[], added: Added): Promise<readonly C[]> {
    return findCrowded(unconfirmed, await this.#families(parentsOf(unconfirmed)), added);
  }

  /**
   * Returns those of some unconfirmed coins that cannot be spent before a block even without the others; coins of the first
   * transactions only, since the node is asked for the relatives of each.
   *
   * @throws {PlatformError} NODE_UNREACHABLE, NODE_REFUSED
   */
  async crowdedAlone<C extends Outpoint>(unconfirmed: readonly C[], added: Added): Promise<readonly C[]> {
    const families = await this.#families(parentsOf(unconfirmed).slice(0, MOST_FAMILIES));
    return unconfirmed.filter((coin) => findCrowded([coin], families, added).length > 0);
  }

  /** Returns the mempool relatives of transactions, by their ids. */
  async #families(parents: readonly string[]): Promise<ReadonlyMap<string, ReturnType<typeof readFamily>>> {
    if (parents.length === 0) return new Map();
    const [own, above] = await Promise.all([
      this.#batch(
        'getmempoolentry',
        parents.map((txid) => [txid])
      ),
      this.#batch(
        'getmempoolancestors',
        parents.map((txid) => [txid, true])
      )
    ]);
    return new Map(parents.map((txid, at) => [txid, readFamily(txid, own[at], above[at])]));
  }

  /**
   * Returns coins with the transactions that created them, even when they are spent.
   *
   * @param script the output script that each coin must have
   * @throws {PlatformError} COIN_UNUSABLE, also when the transactions are too long; NODE_UNREACHABLE, NODE_REFUSED
   */
  async sourced(places: readonly Outpoint[], script: Uint8Array): Promise<readonly SourcedCoin[]> {
    return (await this.placed(places)).map((coin) => withScript(coin, script));
  }

  /**
   * Returns coins of any script, with script and transaction. @throws {PlatformError} COIN_UNUSABLE, NODE_UNREACHABLE,
   * NODE_REFUSED
   */
  async placed(places: readonly Outpoint[]): Promise<readonly PlacedCoin[]> {
    const placed = await this.#placedWithin(places, MOST_PLACED_BYTES);
    const beyond = places[placed.length];
    if (beyond) throw unusable(beyond, TOO_LONG);
    return placed;
  }

  /**
   * Adds transactions to the first coins, up to `mostBytes` in total; the other coins get null.
   *
   * @throws {PlatformError} COIN_UNUSABLE, NODE_UNREACHABLE, NODE_REFUSED
   */
  async sourcedWithin<C extends SourcedCoin>(coins: readonly C[], script: Uint8Array, mostBytes: number) {
    if (mostBytes === 0) return coins;
    const placed = await this.#placedWithin(coins, mostBytes);
    return coins.map((coin, at): SourcedCoin => {
      const own = placed[at];
      return own ? withScript(own, script) : { ...coin, transaction: null };
    });
  }

  /** Returns the leading coins whose transactions fit `mostBytes` in total. */
  async #placedWithin(places: readonly Outpoint[], mostBytes: number): Promise<readonly PlacedCoin[]> {
    const transactions = await this.#transactionsOf(places, mostBytes);
    const isAll = totalBytes(transactions) <= mostBytes;
    const read = new Map([...transactions].map(([txid, bytes]) => [txid, readRawTransaction(bytes)]));
    const end = isAll ? -1 : places.findIndex(({ txid }) => !transactions.has(txid));
    return places.slice(0, end === -1 ? places.length : end).map(({ txid, vout }) => {
      const transaction = transactions.get(txid);
      if (!transaction) throw unusable({ txid, vout }, 'the node knows no such transaction');
      const output = read.get(txid)!.output(vout);
      if (!output) throw unusable({ txid, vout }, 'the transaction has no such output');
      return { txid, vout, amount: output.amount, script: output.script, transaction };
    });
  }

  /**
   * Returns whether the node's chain or mempool has a transaction now: it may have dropped one that was read before, and its index
   * still tells those of blocks that a reorg took away.
   */
  async isAtNode(txid: string): Promise<boolean> {
    const [found] = await this.#batch('getrawtransaction', [[txid, true]]);
    const { blockhash, confirmations } = Object(found) as { blockhash?: unknown; confirmations?: unknown };
    return found !== null && (blockhash == null || Number(confirmations) > 0);
  }

  /** Returns the node's `getmempoolentry` for a transaction; null when its mempool does not have it. */
  async mempoolEntry(txid: string): Promise<unknown> {
    return (await this.#batch('getmempoolentry', [[txid]]))[0] ?? null;
  }

  /**
   * Returns a transaction by its id; undefined when the node does not know it. @throws {PlatformError}
   * NODE_UNREACHABLE, NODE_REFUSED
   */
  async transaction(txid: string): Promise<Buffer | undefined> {
    return (await this.#transactionsOf([{ txid, vout: 0 }])).get(txid);
  }

  /**
   * Returns transactions by id, in the order of the places. Those that the node does not know are missing.
   *
   * @param mostBytes limit for all of them: those after the one that exceeds it are missing too
   */
  async #transactionsOf(
    places: readonly Outpoint[],
    mostBytes = Number.POSITIVE_INFINITY
  ): Promise<ReadonlyMap<string, Buffer>> {
    const found = new Map<string, Buffer>();
    const txids = [...new Set(places.map(({ txid }) => txid))];
    let sizeBytes = 0;
    for (let from = 0; from < txids.length && sizeBytes <= mostBytes; from += TRANSACTIONS_AT_ONCE) {
      for (const [txid, bytes] of await this.#fetch(txids.slice(from, from + TRANSACTIONS_AT_ONCE))) {
        if (sizeBytes <= mostBytes) found.set(txid, bytes);
        sizeBytes += bytes.length;
      }
    }
    return found;
  }

  async #fetch(txids: readonly string[]): Promise<ReadonlyMap<string, Buffer>> {
    const { transactions } = this.#memory;
    const unknown = txids.filter((txid) => !transactions.has(txid));
    const answers = await this.#batch(
      'getrawtransaction',
      unknown.map((txid) => [txid])
    );
    const fetched = new Map<string, Buffer>();
    for (const [position, txid] of unknown.entries()) {
      const answer = answers[position];
      if (answer === null) continue;
      if (!hexValidator.Check(answer)) throw malformed('getrawtransaction');
      const bytes = Buffer.from(answer, 'hex');
      if (readRawTransaction(bytes).txid !== txid) throw malformed('getrawtransaction');
      fetched.set(txid, bytes);
    }
    const all = txids.flatMap((txid) => {
      const bytes = fetched.get(txid) ?? transactions.get(txid);
      return bytes ? [[txid, bytes] as const] : [];
    });
    for (const [txid, bytes] of fetched) transactions.set(txid, bytes);
    this.#asker.charge({ bytes: totalBytes(fetched) });
    return new Map(all);
  }

  /** Scans for coins. The result serves as long again as the scan took; `spendable` finds what was spent meanwhile. */
  async #scanned(scriptHex: string): Promise<Known> {
    const began = performance.now();
    const found = await this.#memory.scan.find(scriptHex, this.#asker.address);
    const now = performance.now();
    const coins = found.map((coin) => ({ ...coin, transaction: null }));
    return { coins, lacksMempool: false, goodUntil: 2 * now - began };
  }

  async #batch(method: string, calls: readonly (readonly unknown[])[]): Promise<readonly unknown[]> {
    const answers: unknown[] = [];
    for (let start = 0; start < calls.length; start += BATCH)
      answers.push(...(await this.#rpc.batch(method, calls.slice(start, start + BATCH), { isPartial: true })));
    return answers;
  }
}

/** Returns the ids of the transactions that created coins, each once. */
const parentsOf = (coins: readonly Outpoint[]): readonly string[] => [...new Set(coins.map(({ txid }) => txid))];

function withScript({ script: own, ...coin }: PlacedCoin, script: Uint8Array): SourcedCoin {
  if (!own.equals(script)) throw unusable(coin, 'it is not a coin of the address');
  return coin;
}

const TOO_LONG = `the transactions that the coins come from are longer than ${MOST_PLACED_BYTES} bytes: spend fewer coins at once`;
const totalBytes = (transactions: ReadonlyMap<string, Buffer>) =>
  transactions.values().reduce((sum, { length }) => sum + length, 0);

/** Returns the error for a coin that cannot be spent. */
export const unusable = (coin: Outpoint, reason: string): PlatformError =>
  new PlatformError('COIN_UNUSABLE', { reason: `${keyOf(coin)}: ${reason}` });
