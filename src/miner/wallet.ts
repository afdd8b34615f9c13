import { toDecimal } from '../coin/amount.ts';
import type { ChainNetwork } from '../coin/chains.ts';
import type { NodeRpc } from '../coin/node/node-rpc.ts';
import { hasCode, PlatformError } from '../errors.ts';

/** The calls of a coin node that the wallet is made of. */
export type MinerRpc = Pick<NodeRpc, 'call' | 'batch'>;

const WALLET = 'platform';
/** A first reward may be spent above this height. */
const FUNDED_HEIGHT = 101;
/** Of one call: a node answers them well within its time. */
const BLOCKS_AT_ONCE = 100;
const OUTPUTS_AT_ONCE = 1_000;
/** What a small payment of `fill` spends and pays, in base units; of dogecoin a thousand times as much. */
const PART = 50_000n;
const PART_FEE = 10_000n;
const METHOD_UNKNOWN = -32_601;
const INSUFFICIENT_FUNDS = -6;
const NOT_FOUND = -5;

/** The wallet of a regtest node, and what it mines. Every call may throw NODE_UNREACHABLE or NODE_REFUSED. */
export class MinerWallet {
  readonly #rpc: MinerRpc;
  readonly #network: ChainNetwork;

  constructor(rpc: MinerRpc, network: ChainNetwork) {
    this.#rpc = rpc;
    this.#network = network;
  }

  /** Opens the node's wallet, makes one where there is none, and mines its first coins on a fresh regtest chain. */
  async prepare(signal?: AbortSignal): Promise<void> {
    await this.#open(signal);
    const missing = FUNDED_HEIGHT - (await this.#height(signal));
    if (this.#network.network === 'regtest' && missing > 0) await this.mine(missing, signal);
  }

  /**
   * @param to  who gets the rewards; the wallet when absent
   * @returns hashes, oldest first; fewer than asked for where the difficulty is too high
   */
  async mine(count: number, signal?: AbortSignal, to?: string): Promise<readonly string[]> {
    const address = to ?? (await this.newAddress(signal));
    const hashes: string[] = [];
    while (hashes.length < count) {
      const found = await this.#generate(Math.min(BLOCKS_AT_ONCE, count - hashes.length), address, signal);
      if (found.length === 0) break;
      hashes.push(...found);
    }
    return hashes;
  }

  /** How many transactions wait for a block. */
  async waiting(signal?: AbortSignal): Promise<number> {
    const { size } = Object(await this.#rpc.call('getmempoolinfo', [], signal)) as { size?: unknown };
    if (!Number.isSafeInteger(Number(size)))
      throw new PlatformError('NODE_REFUSED', { reason: 'the node does not say how large its mempool is' });
    return Number(size);
  }

  /** Pays an address. @param amount base units @returns the txid @throws {PlatformError} COINS_INSUFFICIENT */
  async pay(address: string, amount: bigint): Promise<string> {
    const call = this.#rpc.call('sendtoaddress', [address, toDecimal(amount)]);
    return String(await named(call, INSUFFICIENT_FUNDS, 'COINS_INSUFFICIENT'));
  }

  /**
   * Sends so many small payments into the mempool. Its coins are made by payments of their own, in a block that it mines.
   *
   * @throws {PlatformError} COINS_INSUFFICIENT; what was sent before stays
   */
  async fill(count: number): Promise<void> {
    const coins: Part[] = [];
    while (coins.length < count) coins.push(...(await this.#split(Math.min(OUTPUTS_AT_ONCE, count - coins.length))));
    await this.mine(1);
    const rest = toDecimal(this.#scaled(PART - PART_FEE));
    for (let from = 0; from < coins.length; from += OUTPUTS_AT_ONCE) {
      const parts = coins.slice(from, from + OUTPUTS_AT_ONCE);
      const payments = parts.map(({ txid, vout, address }) => [[{ txid, vout }], { [address]: rest }]);
      const raw = await this.#rpc.batch('createrawtransaction', payments);
      const signed = (await this.#rpc.batch(
        'signrawtransactionwithwallet',
        raw.map((hex) => [hex])
      )) as readonly { readonly hex: string }[];
      await this.#rpc.batch(
        'sendrawtransaction',
        signed.map(({ hex }) => [hex])
      );
    }
  }

  /** Takes a block and all above it off the chain. @throws {PlatformError} RECORD_UNKNOWN */
  async invalidate(hash: string): Promise<void> {
    await named(this.#rpc.call('invalidateblock', [hash]), NOT_FOUND, 'RECORD_UNKNOWN');
  }

  /** Undoes `invalidate`. @throws {PlatformError} RECORD_UNKNOWN */
  async reconsider(hash: string): Promise<void> {
    await named(this.#rpc.call('reconsiderblock', [hash]), NOT_FOUND, 'RECORD_UNKNOWN');
  }

  /** Stops the node's clock. @param timestamp seconds since 1970; 0 lets it run again */
  async mockTime(timestamp: number): Promise<void> {
    await this.#rpc.call('setmocktime', [timestamp]);
  }

  async newAddress(signal?: AbortSignal): Promise<string> {
    return String(await this.#rpc.call('getnewaddress', [], signal));
  }

  async #open(signal?: AbortSignal): Promise<void> {
    try {
      const loaded = (await this.#rpc.call('listwallets', [], signal)) as readonly string[];
      if (loaded.length > 1) {
        const reason = `the node has ${loaded.length} wallets open, and the miner needs one: close the others (unloadwallet)`;
        throw new PlatformError('NODE_REFUSED', { reason });
      }
      if (loaded.length === 1) return;
      const { wallets } = (await this.#rpc.call('listwalletdir', [], signal)) as {
        readonly wallets: readonly { readonly name: string }[];
      };
      const isKnown = wallets.some(({ name }) => name === WALLET);
      await this.#rpc.call(isKnown ? 'loadwallet' : 'createwallet', [WALLET], signal);
    } catch (caught) {
      // Older nodes have one wallet, which is always open.
      if (rpcCodeOf(caught) !== METHOD_UNKNOWN) throw caught;
    }
  }

  /**
   * Litecoin mines its first block with an extension only when a payment into the extension waits: the payment is made
   * when the node refuses that block.
   */
  async #generate(count: number, address: string, signal?: AbortSignal): Promise<readonly string[]> {
    const before = await this.#height(signal);
    try {
      return (await this.#rpc.call('generatetoaddress', [count, address], signal)) as string[];
    } catch (caught) {
      if (this.#network.chain !== 'litecoin' || !hasCode(caught, 'NODE_REFUSED')) throw caught;
      const hidden = await this.#rpc.call('getnewaddress', ['', 'mweb'], signal).catch(() => Promise.reject(caught));
      await this.#rpc.call('sendtoaddress', [hidden, '1'], signal);
      await this.#rpc.call('generatetoaddress', [1, address], signal);
    }
    const heights = Array.from({ length: (await this.#height(signal)) - before }, (_, at) => [before + 1 + at]);
    return (await this.#rpc.batch('getblockhash', heights, signal ? { signal } : {})) as string[];
  }

  async #height(signal?: AbortSignal): Promise<number> {
    return Number(await this.#rpc.call('getblockcount', [], signal));
  }

  async #split(count: number): Promise<readonly Part[]> {
    const addresses = (await this.#rpc.batch(
      'getnewaddress',
      Array.from({ length: count }, () => [])
    )) as readonly string[];
    const part = toDecimal(this.#scaled(PART));
    const outputs = Object.fromEntries(addresses.map((address) => [address, part]));
    const txid = String(
      await named(this.#rpc.call('sendmany', ['', outputs]), INSUFFICIENT_FUNDS, 'COINS_INSUFFICIENT')
    );
    const sent = (await this.#rpc.call('getrawtransaction', [txid, true])) as { readonly vout: readonly Output[] };
    const own = new Set(addresses);
    return sent.vout.flatMap(({ n, scriptPubKey }) => {
      const address = scriptPubKey.address ?? scriptPubKey.addresses?.[0];
      return address !== undefined && own.has(address) ? [{ txid, vout: Number(n), address }] : [];
    });
  }

  #scaled(amount: bigint): bigint {
    return this.#network.chain === 'dogecoin' ? amount * 1_000n : amount;
  }
}

interface Part {
  readonly txid: string;
  readonly vout: number;
  readonly address: string;
}

interface Output {
  readonly n: number | string;
  readonly scriptPubKey: { readonly address?: string; readonly addresses?: readonly string[] };
}

/** A call whose refusal with one code of the node has a name here. */
async function named<T>(call: Promise<T>, rpcCode: number, code: 'COINS_INSUFFICIENT' | 'RECORD_UNKNOWN'): Promise<T> {
  try {
    return await call;
  } catch (caught) {
    if (rpcCodeOf(caught) !== rpcCode) throw caught;
    throw new PlatformError(code, { reason: reasonOf(caught) }, { cause: caught });
  }
}

function rpcCodeOf(caught: unknown): unknown {
  return caught instanceof PlatformError ? caught.detail['rpcCode'] : undefined;
}

function reasonOf(caught: unknown): string {
  return caught instanceof PlatformError ? String(caught.detail['reason']) : String(caught);
}
