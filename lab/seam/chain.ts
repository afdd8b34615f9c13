import { chainNetwork } from '../../src/coin/chains.ts';
import { encodePayload } from '../../src/coin/payload/payload.ts';
import { varInt } from '../../src/coin/raw/byte-writer.ts';
import { addressOf } from '../../src/coin/script/address.ts';
import { type Program, payTo, readProgram } from '../../src/coin/script/pay-scripts.ts';
import { returnScript } from '../../test/support/coin/carriers.ts';
import {
  SIGNED,
  SIGNED_TAPROOT,
  type TransactionParts,
  writeBlock,
  writeTransaction
} from '../../test/support/coin/raw-writer.ts';
import type { Random } from '../reference/random.ts';

/** Its script addresses have two spellings, and its blocks an extension. */
export const NETWORK = chainNetwork('litecoin', 'regtest');
export const MAGIC = 'SEAM';

/** Owner of coins. */
export interface Party {
  readonly script: Buffer;
  /** As decoders write it; undefined: no address stands for the script. */
  readonly address: string | undefined;
  /** Every spelling of it. */
  readonly spellings: readonly string[];
}

function partyOf(kind: Program['kind'], byte: number, sizeBytes = 20): Party {
  const script = payTo({ kind, bytes: Buffer.alloc(sizeBytes, byte) });
  const { addresses } = NETWORK;
  const address = addressOf(script, addresses)!;
  const old = addressOf(script, { ...addresses, p2sh: addresses.p2shAccepted[1]! })!;
  const capitals = address.startsWith(`${addresses.bech32}1`) ? [address.toUpperCase()] : [];
  return { script, address, spellings: [...new Set([address, old, ...capitals])] };
}

const nobody = (script: string): Party => ({ script: Buffer.from(script, 'hex'), address: undefined, spellings: [] });
const KEY = `02${'11'.repeat(32)}`;

export const OWNERS: readonly Party[] = [
  partyOf('keyHash', 1),
  partyOf('witnessKeyHash', 2),
  partyOf('scriptHash', 3),
  partyOf('scriptHash', 4),
  partyOf('witnessScriptHash', 5, 32),
  partyOf('taproot', 6, 32)
];
/** A bare key, bare multisig, and a witness of a version that no rule spends. */
export const NOBODIES: readonly Party[] = [
  nobody(`21${KEY}ac`),
  nobody(`5121${KEY}21${KEY}52ae`),
  nobody(`5214${'22'.repeat(20)}`)
];

export interface Said {
  readonly from: Party;
  /** Empty: it only pays. */
  readonly action: string;
  readonly payments: readonly { readonly to: Party; readonly amount: bigint }[];
}

export interface ChainBlockBytes {
  readonly height: number;
  readonly hash: string;
  readonly time: number;
  readonly bytes: Buffer;
}

const REWARD = 10_000n;
const PAYOUT_FLAG = 8;
const OP_8 = Buffer.from('5820'.padEnd(68, '0'), 'hex');

/** Parts that the branches of a chain share. */
interface Shared {
  readonly transactions: Map<string, Buffer>;
  /** Rewards so far: no two are one transaction. */
  readonly rewards: { count: number };
}

/** A chain of raw blocks whose transactions spend outputs that exist. */
export class RawChainMaker {
  readonly blocks: ChainBlockBytes[];
  readonly #random: Random;
  /** Transactions of all branches. */
  readonly #transactions: Map<string, Buffer>;
  readonly #rewards: { count: number };

  constructor(random: Random, parts?: Shared & Pick<RawChainMaker, 'blocks'>) {
    this.#random = random;
    this.blocks = parts?.blocks ?? [];
    this.#transactions = parts?.transactions ?? new Map();
    this.#rewards = parts?.rewards ?? { count: 0 };
  }

  /** A chain that has the blocks so far and goes on by itself. */
  fork(): RawChainMaker {
    const shared = { transactions: this.#transactions, rewards: this.#rewards };
    return new RawChainMaker(this.#random, { blocks: [...this.blocks], ...shared });
  }

  transaction(txid: string): Buffer {
    return this.#transactions.get(txid)!;
  }

  /** Adds a block in which these say or pay what they say, in order; the last transaction pays out of the extension block. */
  add(time: number, payloads: readonly Said[], payout: Said['payments']): ChainBlockBytes {
    const height = this.blocks.length;
    const reward = this.#reward(height, payloads.length);
    const bodies = [reward, ...payloads.map((one, place) => this.#write(one, reward, place))];
    const last = this.#payout(reward, payout);
    const previousHash = this.blocks.at(-1)?.hash ?? '';
    const { bytes, hash } = writeBlock({ previousHash, time, transactions: bodies });
    const count = varInt(bodies.length).length;
    const behind = bytes.subarray(80 + count);
    const whole = Buffer.concat([bytes.subarray(0, 80), varInt(bodies.length + 1), behind, last]);
    const block = { height, hash, time, bytes: whole };
    this.blocks.push(block);
    return block;
  }

  /** Has a coin for each transaction of its block: coins are made where they are needed. */
  #reward(height: number, count: number): TransactionParts {
    this.#rewards.count += 1;
    const script = Buffer.from(`04${this.#rewards.count.toString(16).padStart(8, '0')}`, 'hex');
    const parties = [...OWNERS, ...NOBODIES];
    const outputs = Array.from({ length: count + 1 }, () => parties)
      .flat()
      .map(({ script: own }) => {
        return { amount: REWARD, script: own };
      });
    const input = { txid: '0'.repeat(64), vout: 2 ** 32 - 1, script };
    const parts = { inputs: [input], outputs: [...outputs, { amount: BigInt(height), script: OP_8 }], witnesses: [] };
    this.#keep(parts);
    return parts;
  }

  #write({ from, action, payments }: Said, reward: TransactionParts, place: number): TransactionParts {
    const parties = [...OWNERS, ...NOBODIES];
    const { txid } = writeTransaction(reward);
    const vout = place * parties.length + parties.indexOf(from);
    const paid = payments.map(({ to, amount }) => ({ amount, script: to.script }));
    const data = action === '' ? [] : [returnScript(encodePayload(txid, action, { magic: MAGIC }))];
    const outputs = [...paid, ...data.map((script) => ({ amount: 0n, script }))];
    if (this.#random.below(2) === 0) outputs.reverse();
    const witnesses = readProgram(from.script)?.kind === 'taproot' ? [SIGNED_TAPROOT] : [];
    const parts = { inputs: [{ txid, vout, script: SIGNED }], outputs, witnesses };
    this.#keep(parts);
    return parts;
  }

  /** The transaction by which a block pays out of its extension block: nobody's coins. @see LIP 3 */
  #payout(reward: TransactionParts, payments: Said['payments']): Buffer {
    const { txid } = writeTransaction(reward);
    const outputs = [
      { amount: 1n, script: OP_8 },
      ...payments.map(({ to, amount }) => ({ amount, script: to.script }))
    ];
    const inputs = [{ txid, vout: reward.outputs.length - 1, script: Buffer.alloc(0) }];
    const { bytes, txid: own } = writeTransaction({ inputs, outputs, witnesses: [] });
    const marked = [Buffer.from([0, PAYOUT_FLAG]), bytes.subarray(4, -4), Buffer.from([0])];
    const whole = Buffer.concat([bytes.subarray(0, 4), ...marked, bytes.subarray(-4)]);
    this.#transactions.set(own, whole);
    return whole;
  }

  #keep(parts: TransactionParts): void {
    const { txid, bytes } = writeTransaction(parts);
    this.#transactions.set(txid, bytes);
  }
}
