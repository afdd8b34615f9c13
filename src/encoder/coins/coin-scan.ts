import { setTimeout as sleep } from 'node:timers/promises';
import Type from 'typebox';
import { cannotScan, isUnknownCall } from '../../coin/node/coin-lookup.ts';
import { malformed, readNodeAmount } from '../../coin/node/node-answer.ts';
import type { NodeRpc } from '../../coin/node/node-rpc.ts';
import { hasCode, PlatformError } from '../../errors.ts';
import { placeFor } from '../../service/stream/place-for.ts';
import { shapeOf } from '../../wire/data/shape.ts';

/** A confirmed coin. `amount` is in satoshis. */
interface ScannedCoin {
  readonly txid: string;
  readonly vout: number;
  readonly amount: bigint;
  readonly height: number;
}

const NATURAL = Type.Union([Type.Integer({ minimum: 0 }), Type.String({ pattern: '^\\d{1,10}$' })]);
const HEX = '^(?:[0-9a-f]{2})*$';
const scanValidator = shapeOf(
  Type.Object({
    success: Type.Literal(true),
    unspents: Type.Array(
      Type.Object({
        txid: Type.String({ pattern: '^[0-9a-f]{64}$' }),
        vout: NATURAL,
        scriptPubKey: Type.String({ pattern: HEX }),
        amount: Type.Union([Type.String({ maxLength: 40 }), Type.Number()]),
        height: NATURAL
      })
    )
  })
);
const progressValidator = shapeOf(Type.Object({ progress: NATURAL }));

/** Most scripts that wait for the next scan. */
const MAX_WAITING = 32;
/** Most bytes of one scan's answer, some 20,000 coins: reading a longer one would delay every caller. */
const MOST_SCAN_BYTES = 8 * 2 ** 20;
/** Limit for one scan: reading all coins of a large main network takes minutes. */
const SCAN_MS = 15 * 60_000;
/** Time after which a caller gets the progress instead, and asks again for the result. */
const PATIENCE_MS = 20_000;
/** Time after which a script that waits is dropped when nobody has asked for it again: its callers have left. */
const KEPT_MS = 2 * 60_000;
const ASK_AGAIN_MS = 1_000;
/** Node error: a scan of another caller is under way. */
const ALREADY_SCANNING = -8;

/** A script that is looked for. */
class Wanted {
  /** The addresses under which its callers are counted, the first one first. */
  readonly askers: string[];
  readonly coins = Promise.withResolvers<readonly ScannedCoin[]>();
  askedAt = performance.now();

  constructor(asker: string) {
    this.askers = [asker];
  }

  /** The address that it counts for. */
  get address(): string {
    return this.askers[0]!;
  }

  /** Counts one more caller. */
  join(address: string): void {
    this.askedAt = performance.now();
    if (!this.askers.includes(address)) this.askers.push(address);
  }
}

/**
 * Looks for coins of scripts in the node's whole UTXO set. One scan runs at a time; the next one covers all scripts
 * that wait by then.
 */
export class CoinScan {
  readonly #rpc: Pick<NodeRpc, 'call'>;
  readonly #patienceMs: number;
  readonly #keptMs: number;
  readonly #waiting = new Map<string, Wanted>();
  /** Scripts that the scan under way looks for. */
  #asked: ReadonlyMap<string, Wanted> = new Map();
  #isRunning = false;

  constructor(rpc: Pick<NodeRpc, 'call'>, patienceMs = PATIENCE_MS, keptMs = KEPT_MS) {
    this.#rpc = rpc;
    this.#patienceMs = patienceMs;
    this.#keptMs = keptMs;
  }

  /**
   * Finds the coins of a script, largest first.
   *
   * A scan under way goes on when its callers leave: on a main network it takes longer than they wait, so they leave by rule and ask
   * again, and a node cannot take up a scan that was stopped. One runs at a time, for 15 minutes at most. A script that waits for the
   * next scan keeps its place for two minutes after it was last asked for.
   *
   * @param address under which the caller is counted: while too many wait, the newest of the network that has the most gives way,
   *   unless others ask for the same
   * @throws {PlatformError} ANSWERS_WAITING when too many scripts wait; COINS_INSUFFICIENT when the coins exceed the
   *   size limit; NODE_UNREACHABLE, NODE_REFUSED
   */
  find(scriptHex: string, address: string): Promise<readonly ScannedCoin[]> {
    const wanted = this.#waiting.get(scriptHex) ?? this.#asked.get(scriptHex);
    if (wanted) {
      wanted.join(address);
      return wanted.coins.promise;
    }
    this.#dropLeft();
    this.#makeRoom(address);
    const own = new Wanted(address);
    this.#waiting.set(scriptHex, own);
    if (!this.#isRunning) void this.#run();
    return own.coins.promise;
  }

  /** Drops the scripts that nobody has asked for again. */
  #dropLeft(): void {
    for (const [script, { askedAt, coins }] of this.#waiting) {
      if (performance.now() - askedAt <= this.#keptMs) continue;
      this.#waiting.delete(script);
      coins.reject(new PlatformError('ANSWERS_WAITING', { reason: 'its callers have left: ask again' }));
    }
  }

  /** Makes room for one more of an address. A script that others ask for counts as theirs. @throws {PlatformError} ANSWERS_WAITING */
  #makeRoom(address: string): void {
    for (;;) {
      const place = placeFor(this.#waiting.values(), address, MAX_WAITING);
      if (place === null) throw tooManyWait();
      if (place === 'free') return;
      place.askers.shift();
      if (place.askers.length > 0) continue;
      for (const [script, each] of this.#waiting) if (each === place) this.#waiting.delete(script);
      place.coins.reject(tooManyWait());
    }
  }

  /**
   * Returns the result if it comes within the caller's patience.
   *
   * @param isTracked whether a UTXO tracker is asked, not the node
   * @throws {PlatformError} ANSWERS_WAITING with the progress
   */
  async inTime<T>(found: Promise<T>, isTracked = false): Promise<T> {
    const late = Symbol('late');
    const timer = new AbortController();
    const first = await Promise.race([
      found,
      sleep(this.#patienceMs, late, { signal: timer.signal, ref: false }).catch(() => late)
    ]).finally(() => timer.abort());
    if (first !== late) return first as T;
    if (isTracked)
      throw new PlatformError('ANSWERS_WAITING', {
        reason: 'the UTXO tracker still tells the coins of this address. Ask again, or name coins in utxos'
      });
    const progress = await this.#rpc.call('scantxoutset', ['status']).catch(() => null);
    const part = progressValidator.Check(progress)
      ? `${progress.progress} % of its coins are read`
      : 'it has just begun';
    const reason = `the node looks for the coins of this address: ${part}. Ask again, name coins in utxos, or let the encoder ask a UTXO tracker`;
    throw new PlatformError('ANSWERS_WAITING', { reason });
  }

  /** Scans until no script waits. Never throws. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    for (; this.#waiting.size > 0; this.#dropLeft()) {
      const asked = [...this.#waiting];
      this.#asked = new Map(asked);
      this.#waiting.clear();
      await this.#answer(asked);
      this.#asked = new Map();
    }
    this.#isRunning = false;
  }

  /**
   * Scans for some scripts. When the coins of all are too many, scans each half alone, so that one address does not
   * spoil the others' result. Never throws.
   */
  async #answer(asked: readonly (readonly [script: string, Wanted])[]): Promise<void> {
    try {
      const found = await this.#scan(asked.map(([script]) => script));
      for (const [script, { coins }] of asked) coins.resolve(found.get(script) ?? []);
    } catch (caught) {
      const isTooLong = hasCode(caught, 'NODE_REFUSED') && caught.detail['limitBytes'] === MOST_SCAN_BYTES;
      if (isTooLong && asked.length > 1) {
        const middle = Math.ceil(asked.length / 2);
        for (const half of [asked.slice(0, middle), asked.slice(middle)]) await this.#answer(half);
        return;
      }
      for (const [, { coins }] of asked) coins.reject(isTooLong ? tooMany() : caught);
    }
  }

  async #scan(scripts: readonly string[]): Promise<ReadonlyMap<string, readonly ScannedCoin[]>> {
    const found = await this.#start(scripts.map((script) => `raw(${script})`));
    if (!scanValidator.Check(found)) throw malformed('scantxoutset');
    const coins = found.unspents
      .map(({ txid, vout, scriptPubKey, amount, height }) => ({
        scriptPubKey,
        coin: { txid, vout: Number(vout), amount: readNodeAmount(amount, 'scantxoutset'), height: Number(height) }
      }))
      .sort((a, b) => Number(b.coin.amount - a.coin.amount));
    return new Map(
      Map.groupBy(coins, ({ scriptPubKey }) => scriptPubKey)
        .entries()
        .map(([script, own]) => [script, own.map(({ coin }) => coin)])
    );
  }

  /** Starts a scan. Waits while the node still runs an abandoned scan, or one of another program. */
  async #start(descriptors: readonly string[]): Promise<unknown> {
    for (const end = performance.now() + SCAN_MS; ; await sleep(ASK_AGAIN_MS, undefined, { ref: false })) {
      try {
        return await this.#rpc.call('scantxoutset', ['start', descriptors], undefined, SCAN_MS, MOST_SCAN_BYTES);
      } catch (caught) {
        if (isUnknownCall(caught)) throw cannotScan(caught);
        const isBusy = hasCode(caught, 'NODE_REFUSED') && caught.detail['rpcCode'] === ALREADY_SCANNING;
        if (!isBusy || performance.now() > end) throw caught;
      }
    }
  }
}

const tooManyWait = () =>
  new PlatformError('ANSWERS_WAITING', {
    reason: `${MAX_WAITING} addresses wait for the node to look for their coins`
  });

function tooMany(): PlatformError {
  const reason =
    'the address has too many coins to be looked for in the node: name those to spend in utxos, or let the encoder ask a UTXO tracker (UTXO_TRACKER_URL)';
  return new PlatformError('COINS_INSUFFICIENT', { reason });
}
