import { encodePayload } from '../../../src/coin/payload/payload.ts';
import { returnScript } from '../coin/carriers.ts';
import { SIGNED, type TransactionParts, writeBlock, writeTransaction } from '../coin/raw-writer.ts';

/** Text and payments of a transaction. */
export interface RawStep {
  /** Script of the coin that it spends: its source. */
  readonly script: Buffer;
  /** Empty: it only pays. */
  readonly text: string;
  /** Amounts in base units. */
  readonly pays: readonly { readonly script: Buffer; readonly amount: bigint }[];
}

export interface RawBlock {
  readonly height: number;
  readonly hash: string;
  readonly time: number;
  readonly bytes: Buffer;
  /** Ids of the transactions of the steps, in their order. */
  readonly txids: readonly string[];
}

const COIN = 100_000_000n;

/** A chain of raw blocks, each with a reward that has a coin for every transaction of its block. */
export class RawChain {
  readonly blocks: RawBlock[] = [];
  readonly #magic: string;
  readonly #transactions = new Map<string, Buffer>();

  constructor(magic: string) {
    this.#magic = magic;
  }

  transaction(txid: string): Buffer | undefined {
    return this.#transactions.get(txid);
  }

  add(time: number, steps: readonly RawStep[]): RawBlock {
    const height = this.blocks.length;
    const script = Buffer.from(`04${height.toString(16).padStart(8, '0')}`, 'hex');
    const reward: TransactionParts = {
      inputs: [{ txid: '0'.repeat(64), vout: 2 ** 32 - 1, script }],
      outputs: [
        ...steps.map((step) => ({ amount: COIN, script: step.script })),
        { amount: 0n, script: Buffer.alloc(1) }
      ],
      witnesses: []
    };
    const { txid } = writeTransaction(reward);
    const spending = steps.map(({ text, pays }, vout): TransactionParts => {
      const data = text === '' ? [] : [returnScript(encodePayload(txid, text, { magic: this.#magic }))];
      return {
        inputs: [{ txid, vout, script: SIGNED }],
        outputs: [...pays, ...data.map((own) => ({ amount: 0n, script: own }))],
        witnesses: []
      };
    });
    const transactions = [reward, ...spending];
    const written = transactions.map((parts) => writeTransaction(parts));
    for (const { txid: own, bytes } of written) this.#transactions.set(own, bytes);
    const block = writeBlock({ previousHash: this.blocks.at(-1)?.hash ?? '', time, transactions });
    const made = { height, time, ...block, txids: written.slice(1).map((one) => one.txid) };
    this.blocks.push(made);
    return made;
  }
}
