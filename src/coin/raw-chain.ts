import { hasCode, PlatformError } from '../errors.ts';
import type { NodeRpc } from './node-rpc.ts';
import { readRawTransaction } from './raw-transaction.ts';

/** Calls of one JSON-RPC batch: beyond that the answer is long in coming. */
const MAX_CALLS = 32;
/** The answer with several small blocks: what is longer is asked for block by block, for a decoder keeps some of them at a time. */
const SMALL_BLOCKS_BYTES = 2 * 2 ** 20;
const HEX = /^(?:[0-9a-f]{2})+$/;

/** Blocks and transactions of one coin node as bytes. Each call may throw NODE_UNREACHABLE or NODE_REFUSED. */
export class RawChain {
  readonly #rpc: NodeRpc;
  #hasRest: boolean;

  /** @param hasRest  whether to ask for blocks by HTTP GET first, which costs a node less than hex within JSON */
  constructor(rpc: NodeRpc, hasRest = true) {
    this.#rpc = rpc;
    this.#hasRest = hasRest;
  }

  /** False once the node refused a block by HTTP GET. */
  get hasRest(): boolean {
    return this.#hasRest;
  }

  /** Hashes of so many blocks in a row. */
  async hashes(from: number, count: number): Promise<readonly string[]> {
    const calls = Array.from({ length: count }, (_, position) => [from + position]);
    return await this.#texts('getblockhash', calls, /^[0-9a-f]{64}$/);
  }

  async block(hash: string): Promise<Buffer> {
    if (this.#hasRest) {
      try {
        return await this.#rpc.get(`/rest/block/${hash}.bin`);
      } catch (caught) {
        if (!hasCode(caught, 'NODE_REFUSED')) throw caught;
        this.#hasRest = false; // few nodes serve it unless they are told to
      }
    }
    return (await this.#blocks([hash]))[0]!;
  }

  /** Several small blocks by one request. @returns null when they turn out to be large together */
  async smallBlocks(hashes: readonly string[]): Promise<readonly Buffer[] | null> {
    try {
      return await this.#blocks(hashes, SMALL_BLOCKS_BYTES);
    } catch (caught) {
      if (hasCode(caught, 'NODE_REFUSED') && caught.detail['limitBytes'] === SMALL_BLOCKS_BYTES) return null;
      throw caught;
    }
  }

  /** Any transactions of the chain or the mempool, in the order of their ids; the node needs `txindex=1`. */
  async transactions(txids: readonly string[]): Promise<readonly Buffer[]> {
    return await this.#transactions(txids, false);
  }

  /** Those of the transactions that the node still has. */
  async presentTransactions(txids: readonly string[]): Promise<readonly Buffer[]> {
    return await this.#transactions(txids, true);
  }

  async #blocks(hashes: readonly string[], maxBytes?: number): Promise<readonly Buffer[]> {
    const calls = hashes.map((hash) => [hash, false]);
    const texts = await this.#texts('getblock', calls, HEX, maxBytes === undefined ? {} : { maxBytes });
    return texts.map((text) => Buffer.from(text, 'hex'));
  }

  async #transactions(txids: readonly string[], isPartial: boolean): Promise<readonly Buffer[]> {
    const found: Buffer[] = [];
    for (let first = 0; first < txids.length; first += MAX_CALLS) {
      const part = txids.slice(first, first + MAX_CALLS);
      const calls = part.map((txid) => [txid]);
      for (const [position, text] of (await this.#texts('getrawtransaction', calls, HEX, { isPartial })).entries()) {
        if (text !== null) found.push(checkedTransaction(Buffer.from(text, 'hex'), part[position]!));
      }
    }
    return found;
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

function checkedTransaction(bytes: Buffer, txid: string): Buffer {
  try {
    if (readRawTransaction(bytes).txid === txid) return bytes;
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
  }
  throw new PlatformError('NODE_REFUSED', { reason: 'the answer is not the transaction that was asked for', txid });
}
