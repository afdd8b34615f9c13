import { hasCode, PlatformError } from '../../errors.ts';
import { hashId } from '../raw/hash-id.ts';
import { HEADER_BYTES } from '../raw/raw-block.ts';
import { readRawTransaction } from '../raw/raw-transaction.ts';
import { readSpentScripts } from '../raw/spent-outputs.ts';
import type { NodeRpc } from './node-rpc.ts';

/** Most calls in one JSON-RPC batch: a longer answer takes too long. */
const MAX_CALLS = 32;
/**
 * Most bytes of an answer with several small blocks. Larger blocks are read one by one: a decoder holds several at a
 * time.
 */
const SMALL_BLOCKS_BYTES = 2 * 2 ** 20;
const HEX = /^(?:[0-9a-f]{2})+$/;

/** HTTP GET routes to try. A route becomes false once the node has refused it, or a gateway before it has answered in its place. */
export interface RestRoutes {
  /** Whole blocks: cheaper for a node than hex in JSON, but few nodes serve them by default. */
  blocks: boolean;
  /** Outputs that a block spends, from Bitcoin Core 30 on. */
  spentOutputs: boolean;
}

/** Transactions of a mempool that were found. */
export interface PresentTransactions {
  readonly found: readonly Buffer[];
  /** Ids of transactions that cannot be read. */
  readonly odd: readonly string[];
}

/** Reads blocks and transactions of one coin node as bytes. Each call may throw NODE_UNREACHABLE or NODE_REFUSED. */
export class RawChain {
  readonly #rpc: NodeRpc;
  readonly #routes: RestRoutes;

  /** @param routes state of the routes, which this updates */
  constructor(rpc: NodeRpc, routes: RestRoutes = { blocks: true, spentOutputs: true }) {
    this.#rpc = rpc;
    this.#routes = routes;
  }

  /** Returns the hashes of consecutive blocks. */
  async hashes(from: number, count: number): Promise<readonly string[]> {
    const calls = Array.from({ length: count }, (_, position) => [from + position]);
    return await this.#texts('getblockhash', calls, /^[0-9a-f]{64}$/);
  }

  /** Returns a block. */
  async block(hash: string): Promise<Buffer> {
    const bytes = await this.#get('blocks', `/rest/block/${hash}.bin`);
    if (bytes && hashId(bytes.subarray(0, HEADER_BYTES)) === hash) return bytes;
    const [block] = await this.#blocks([hash]);
    if (bytes) this.#routes.blocks = false;
    return block!;
  }

  /**
   * Returns the scripts that transactions of a block spend first, in one request.
   *
   * @param wanted positions of the transactions in the block
   * @returns scripts by position; null when the node does not serve them, or what it serves has another form
   */
  async spentScripts(hash: string, wanted: ReadonlySet<number>): Promise<ReadonlyMap<number, Buffer> | null> {
    const bytes = await this.#get('spentOutputs', `/rest/spenttxouts/${hash}.bin`);
    try {
      return bytes && readSpentScripts(bytes, wanted);
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw cause;
      this.#routes.spentOutputs = false;
      return null;
    }
  }

  /** Reads several small blocks in one request. @returns null when they are too large together */
  async smallBlocks(hashes: readonly string[]): Promise<readonly Buffer[] | null> {
    try {
      return await this.#blocks(hashes, SMALL_BLOCKS_BYTES);
    } catch (caught) {
      if (hasCode(caught, 'NODE_REFUSED') && caught.detail['limitBytes'] === SMALL_BLOCKS_BYTES) return null;
      throw caught;
    }
  }

  /** Returns transactions of chain or mempool, in the order of their ids. The node needs `txindex=1`. */
  async transactions(txids: readonly string[]): Promise<readonly Buffer[]> {
    const found: Buffer[] = [];
    for await (const { txid, text } of this.#printed(txids, false)) {
      const bytes = readTransaction(text!, txid);
      if (bytes) found.push(bytes);
      else
        throw new PlatformError('NODE_REFUSED', {
          reason: 'the answer is not the transaction that was asked for',
          txid
        });
    }
    return found;
  }

  /**
   * Returns those of the transactions that the node still has.
   *
   * A transaction is odd when it cannot be read or has another id than the one it was listed by: Litecoin lists a
   * transaction of the extension block alone by the hash of its kernel.
   */
  async presentTransactions(txids: readonly string[]): Promise<PresentTransactions> {
    const [found, odd]: [Buffer[], string[]] = [[], []];
    for await (const { txid, text } of this.#printed(txids, true)) {
      if (text === null) continue;
      const bytes = readTransaction(text, txid);
      if (bytes) found.push(bytes);
      else odd.push(txid);
    }
    return { found, odd };
  }

  async #get(route: keyof RestRoutes, path: string): Promise<Buffer | null> {
    if (!this.#routes[route]) return null;
    try {
      return await this.#rpc.get(path);
    } catch (caught) {
      if (isFaultOfServer(caught)) return null; // a gateway may pass on POST alone
      if (!hasCode(caught, 'NODE_REFUSED')) throw caught;
      this.#routes[route] = false;
      return null;
    }
  }

  async #blocks(hashes: readonly string[], maxBytes?: number): Promise<readonly Buffer[]> {
    const calls = hashes.map((hash) => [hash, false]);
    const texts = await this.#texts('getblock', calls, HEX, maxBytes === undefined ? {} : { maxBytes });
    return texts.map((text) => Buffer.from(text, 'hex'));
  }

  /** Yields the hex of transactions; null when the node does not have one and `isPartial` is set. */
  async *#printed(txids: readonly string[], isPartial: boolean) {
    for (let first = 0; first < txids.length; first += MAX_CALLS) {
      const part = txids.slice(first, first + MAX_CALLS);
      const calls = part.map((txid) => [txid]);
      const texts = await this.#texts('getrawtransaction', calls, HEX, { isPartial });
      for (const [position, text] of texts.entries()) yield { txid: part[position]!, text };
    }
  }

  async #texts(method: string, calls: Calls, form: RegExp, bounds?: { maxBytes?: number }): Promise<readonly string[]>;
  async #texts(
    method: string,
    calls: Calls,
    form: RegExp,
    options: { isPartial: boolean }
  ): Promise<readonly (string | null)[]>;
  async #texts(
    method: string,
    calls: Calls,
    form: RegExp,
    options: { maxBytes?: number; isPartial?: boolean } = {}
  ): Promise<readonly (string | null)[]> {
    const answers = await this.#rpc.batch(method, calls, options);
    const { isPartial = false } = options;
    return answers.map((answer) => {
      if (typeof answer === 'string' && form.test(answer)) return answer;
      if (isPartial && answer === null) return null;
      throw new PlatformError('NODE_REFUSED', { reason: 'the answer is not the text that the method returns', method });
    });
  }
}

type Calls = readonly (readonly unknown[])[];

const isFaultOfServer = (caught: unknown): boolean =>
  hasCode(caught, 'NODE_UNREACHABLE') && Number(caught.detail['status']) >= 500;

/** Returns the bytes of a transaction; null when they are malformed or another transaction. */
function readTransaction(text: string, txid: string): Buffer | null {
  const bytes = Buffer.from(text, 'hex');
  try {
    return readRawTransaction(bytes).txid === txid ? bytes : null;
  } catch (caught) {
    if (caught instanceof RangeError) return null;
    throw caught;
  }
}
