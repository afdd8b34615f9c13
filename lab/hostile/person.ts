import { hash } from 'node:crypto';
import type { NodeRpc } from '../../src/coin/node/node-rpc.ts';
import { returnScript } from '../../src/coin/payload/lane-writer.ts';
import { writeFrame } from '../../src/coin/payload/payload.ts';
import { DEFAULT_PROFILE } from '../../src/coin/profile.ts';
import { readRawTransaction } from '../../src/coin/raw/raw-transaction.ts';
import type { FormOutput } from '../../src/coin/raw/transaction-form.ts';
import { DEVNET } from '../../src/devnet/settings.ts';
import { firstSpent } from '../../src/encoder/coins/spent.ts';
import { writePsbt } from '../../src/encoder/transaction/psbt.ts';
import { readSender, type Sender } from '../../src/encoder/transaction/sender.ts';
import { publicKeyOf, signPsbt } from '../../test/support/encoder/signer.ts';

export interface OwnCoin {
  readonly txid: string;
  readonly vout: number;
  readonly amount: bigint;
}

const FEE = 20_000n;
const FEE_PER_BYTE = 12n;

/** A key with a segwit address and coins. Its change stays with it, and can be spent unconfirmed. */
export class Person {
  readonly name: string;
  readonly key: Buffer;
  readonly sender: Sender;
  readonly #rpc: NodeRpc;
  readonly #coins: OwnCoin[] = [];

  constructor(rpc: NodeRpc, name: string) {
    this.name = name;
    this.key = hash('sha256', `hostile ${name}`, 'buffer');
    this.sender = readSender(publicKeyOf(this.key).toString('hex'), undefined, DEVNET);
    this.#rpc = rpc;
  }

  get address(): string {
    return this.sender.address;
  }

  get script(): Buffer {
    return this.sender.script;
  }

  own(coin: OwnCoin): void {
    this.#coins.push(coin);
  }

  /** Its largest coin, which it does not own from then on. */
  take(): OwnCoin {
    this.#coins.sort((a, b) => Number(b.amount - a.amount));
    const coin = this.#coins.shift();
    if (!coin) throw new Error(`${this.name} has no coin left`);
    return coin;
  }

  /** Says an action in an OP_RETURN output, and pays others in the same transaction. @returns the transaction's id */
  async act(action: string, outputs: readonly FormOutput[] = []): Promise<string> {
    const coin = this.take();
    const data = returnScript(coin.txid, writeFrame(action), DEFAULT_PROFILE.payloadMagic);
    const hex = await this.spend(coin, [{ amount: 0n, script: data }, ...outputs]);
    return readRawTransaction(Buffer.from(hex, 'hex')).txid;
  }

  /** Pays outputs without an action. @returns the transaction's id */
  async pay(outputs: readonly FormOutput[]): Promise<string> {
    const hex = await this.spend(this.take(), outputs);
    return readRawTransaction(Buffer.from(hex, 'hex')).txid;
  }

  /** Spends coins of one's own together, and owns what comes of it. */
  async gather(coins: readonly OwnCoin[]): Promise<void> {
    const form = {
      inputs: coins.map((coin) => ({ ...coin, sequence: 0xffffffff, unlock: this.sender.unlock })),
      outputs: [{ amount: coins.reduce((sum, { amount }) => sum + amount, 0n) / 2n, script: this.script }]
    };
    const spent = firstSpent(
      this.sender,
      coins.map((coin) => ({ ...coin, transaction: null }))
    );
    const hex = signPsbt(writePsbt(form, spent).toString('hex'), this.key);
    const txid = String(await this.#rpc.call('sendrawtransaction', [hex]));
    this.own({ txid, vout: 0, amount: form.outputs[0]!.amount });
  }

  /** Sends a transaction of one input; the change comes back. @returns it, signed */
  async spend(coin: OwnCoin, outputs: readonly FormOutput[]): Promise<string> {
    const paid = outputs.reduce((sum, { amount }) => sum + amount, 0n);
    const size = outputs.reduce((sum, { script }) => sum + script.length + 9, 0);
    const change = coin.amount - paid - FEE - FEE_PER_BYTE * BigInt(size);
    const form = {
      inputs: [{ ...coin, sequence: 0xffffffff, unlock: this.sender.unlock }],
      outputs: [...outputs, { amount: change, script: this.script }]
    };
    const psbt = writePsbt(form, firstSpent(this.sender, [{ ...coin, transaction: null }])).toString('hex');
    const hex = signPsbt(psbt, this.key);
    const txid = String(await this.#rpc.call('sendrawtransaction', [hex]));
    this.own({ txid, vout: outputs.length, amount: change });
    return hex;
  }
}
