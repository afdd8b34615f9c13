import { toDecimal } from '../coin/amount.ts';
import type { ChainNetwork } from '../coin/chains.ts';
import { readNodeHeight } from '../coin/node/node-answer.ts';
import type { NodeRpc } from '../coin/node/node-rpc.ts';
import { PlatformError } from '../errors.ts';
import { fillMempool } from './fill-mempool.ts';

/** Calls of a coin node that the wallet uses. */
type MinerRpc = Pick<NodeRpc, 'call' | 'batch'>;

const WALLET = 'platform';
/** Height above which the first reward may be spent. */
const FUNDED_HEIGHT = 101;
/** Most blocks of one call: a node answers that many well within its time. */
const BLOCKS_AT_ONCE = 100;
const METHOD_UNKNOWN = -32_601;
const TYPE_ERROR = -3;
const INSUFFICIENT_FUNDS = -6;
const NOT_FOUND = -5;
/** Reason of nodes for dust, which has the code of insufficient funds. */
const TOO_SMALL = /amount (?:is )?too small/i;

/** Reason of litecoind for its first block with an extension, which has no transaction then: nothing waits to go into it. */
const EXTENSION_EMPTY = /bad-txns-vin-empty/;

/** The wallet of a regtest node, and its mining. Every call may throw NODE_UNREACHABLE or NODE_REFUSED. */
export class MinerWallet {
  readonly #rpc: MinerRpc;
  readonly #network: ChainNetwork;

  constructor(rpc: MinerRpc, network: ChainNetwork) {
    this.#rpc = rpc;
    this.#network = network;
  }

  /** Opens the node's wallet, or creates one. On a fresh regtest chain it mines the first coins. */
  async prepare(signal?: AbortSignal): Promise<void> {
    await this.#open(signal);
    const missing = FUNDED_HEIGHT - (await this.#height(signal));
    if (this.#network.network === 'regtest' && missing > 0) await this.mine(missing, signal);
  }

  /**
   * Mines blocks.
   *
   * @param to address that gets the rewards; by default the wallet's
   * @returns hashes, oldest first; fewer than asked for when the difficulty is too high
   */
  async mine(count: number, signal?: AbortSignal, to?: string): Promise<readonly string[]> {
    const address = to ?? (await this.newAddress(signal));
    const hashes: string[] = [];
    while (hashes.length < count) {
      const found = await this.#generate(Math.min(BLOCKS_AT_ONCE, count - hashes.length), address, signal);
      if (found.length === 0) break;
      for (const hash of found) hashes.push(hash);
    }
    return hashes;
  }

  /** Returns the number of transactions that wait for a block. */
  async waiting(signal?: AbortSignal): Promise<number> {
    const { size } = Object(await this.#rpc.call('getmempoolinfo', [], signal)) as { size?: unknown };
    if (!/^\d{1,9}$/.test(String(size)))
      throw new PlatformError('NODE_REFUSED', { reason: 'getmempoolinfo has no whole number as size' });
    return Number(size);
  }

  /**
   * Pays an address.
   *
   * @param amount base units
   * @returns the txid
   * @throws {PlatformError} COINS_INSUFFICIENT, also when the mempool does not take the payment; REQUEST_INVALID for
   *   dust and for an amount above all coins
   */
  async pay(address: string, amount: bigint): Promise<string> {
    const txid = await this.#send(address, amount);
    if (await this.#isStranded(txid)) {
      const reason =
        'the mempool did not take the payment, which was abandoned: it has too many unconfirmed ancestors. Mine a block (generate_blocks), then pay again';
      throw new PlatformError('COINS_INSUFFICIENT', { reason });
    }
    return txid;
  }

  /**
   * Returns whether the mempool lacks a payment. Nodes return a txid even when their mempool refuses the transaction;
   * this then abandons it, which frees its coins.
   */
  async #isStranded(txid: string): Promise<boolean> {
    try {
      await this.#rpc.call('getmempoolentry', [txid]);
      return false;
    } catch (caught) {
      if (rpcCodeOf(caught) !== NOT_FOUND) throw caught;
    }
    try {
      await this.#rpc.call('abandontransaction', [txid]);
      return true;
    } catch (caught) {
      if (rpcCodeOf(caught) === NOT_FOUND) return false; // a block has it by now
      throw caught;
    }
  }

  async #send(address: string, amount: bigint): Promise<string> {
    try {
      return String(await this.#rpc.call('sendtoaddress', [address, toDecimal(amount)]));
    } catch (caught) {
      const [rpcCode, reason] = [rpcCodeOf(caught), reasonOf(caught)];
      const isWrong = rpcCode === TYPE_ERROR || (rpcCode === INSUFFICIENT_FUNDS && TOO_SMALL.test(reason));
      if (isWrong) throw new PlatformError('REQUEST_INVALID', { reason: `amount: ${reason}` }, { cause: caught });
      if (rpcCode !== INSUFFICIENT_FUNDS) throw caught;
      throw new PlatformError('COINS_INSUFFICIENT', { reason }, { cause: caught });
    }
  }

  /** Sends small payments into the mempool. @see fillMempool */
  async fill(count: number): Promise<number> {
    return await fillMempool(count, {
      rpc: this.#rpc,
      network: this.#network,
      newAddress: () => this.newAddress(),
      mineBlock: async () => (await this.mine(1)).length
    });
  }

  /** Removes a block and all above it from the chain. @throws {PlatformError} RECORD_UNKNOWN */
  async invalidate(hash: string): Promise<void> {
    await ofBlock(this.#rpc.call('invalidateblock', [hash]));
  }

  /** Undoes `invalidate`. @throws {PlatformError} RECORD_UNKNOWN */
  async reconsider(hash: string): Promise<void> {
    await ofBlock(this.#rpc.call('reconsiderblock', [hash]));
  }

  /** Stops the node's clock. @param timestamp seconds since 1970; 0 lets it run again */
  async mockTime(timestamp: number): Promise<void> {
    await this.#rpc.call('setmocktime', [timestamp]);
  }

  /** Returns a new address of the wallet. */
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
   * Mines blocks. Litecoin mines its first block with an extension only when a payment into the extension waits: this
   * makes one when the node refuses that block.
   */
  async #generate(count: number, address: string, signal?: AbortSignal): Promise<readonly string[]> {
    const before = await this.#height(signal);
    try {
      return (await this.#rpc.call('generatetoaddress', [count, address], signal)) as string[];
    } catch (caught) {
      // Any other refusal stays when that is paid, and each attempt would pay again.
      if (this.#network.chain !== 'litecoin' || !EXTENSION_EMPTY.test(reasonOf(caught))) throw caught;
      const hidden = await this.#rpc.call('getnewaddress', ['', 'mweb'], signal).catch(() => Promise.reject(caught));
      await this.#rpc.call('sendtoaddress', [hidden, '1'], signal);
      await this.#rpc.call('generatetoaddress', [1, address], signal);
    }
    const heights = Array.from({ length: (await this.#height(signal)) - before }, (_, at) => [before + 1 + at]);
    return (await this.#rpc.batch('getblockhash', heights, signal ? { signal } : {})) as string[];
  }

  async #height(signal?: AbortSignal): Promise<number> {
    return readNodeHeight(await this.#rpc.call('getblockcount', [], signal), 'getblockcount');
  }
}

/** Waits for a call that names a block. @throws {PlatformError} RECORD_UNKNOWN when the node does not have it */
async function ofBlock(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (caught) {
    if (rpcCodeOf(caught) !== NOT_FOUND) throw caught;
    throw new PlatformError('RECORD_UNKNOWN', { reason: reasonOf(caught) }, { cause: caught });
  }
}

function rpcCodeOf(caught: unknown): unknown {
  return caught instanceof PlatformError ? caught.detail['rpcCode'] : undefined;
}

function reasonOf(caught: unknown): string {
  return caught instanceof PlatformError ? String(caught.detail['reason']) : String(caught);
}
