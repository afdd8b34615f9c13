import { hasCode, PlatformError } from '../errors.ts';
import type { NodeRpc } from './node-rpc.ts';
import { readRawTransaction } from './raw-transaction.ts';

/** Calls of one JSON-RPC batch: beyond that the answer is long in coming. */
const MAX_CALLS = 32;
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
    return (await this.blocks([hash]))[0]!;
  }

  /** Several small blocks by one request. */
  async blocks(hashes: readonly string[]): Promise<readonly Buffer[]> {
    const texts = await this.#texts(
      'getblock',
      hashes.map((hash) => [hash, false]),
      HEX
    );
    return texts.map((text) => Buffer.from(text, 'hex'));
  }

  /** Any transactions of the chain, in the order of their ids; the node needs `txindex=1`. */
  async transactions(txids: readonly string[]): Promise<readonly Buffer[]> {
    const found: Buffer[] = [];
    for (let first = 0; first < txids.length; first += MAX_CALLS) {
      const part = txids.slice(first, first + MAX_CALLS);
      const texts = await this.#texts(
        'getrawtransaction',
        part.map((txid) => [txid]),
        HEX
      );
      found.push(...texts.map((text, position) => checkedTransaction(Buffer.from(text, 'hex'), part[position]!)));
    }
    return found;
  }

  async #texts(method: string, calls: readonly (readonly unknown[])[], form: RegExp): Promise<readonly string[]> {
    const answers = await this.#rpc.batch(method, calls);
    return answers.map((answer) => {
      if (typeof answer === 'string' && form.test(answer)) return answer;
      throw new PlatformError('NODE_REFUSED', { reason: 'the answer is not the text that the method returns', method });
    });
  }
}

function checkedTransaction(bytes: Buffer, txid: string): Buffer {
  try {
    if (readRawTransaction(bytes).txid === txid) return bytes;
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
  }
  throw new PlatformError('NODE_REFUSED', { reason: 'the answer is not the transaction that was asked for', txid });
}
