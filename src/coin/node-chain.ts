import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { PlatformError } from '../errors.ts';
import type { ChainNetwork } from './chains.ts';
import type { NodeRpc } from './node-rpc.ts';

const HEX = Type.String({ pattern: '^(?:[0-9a-f]{2})*$' });
const HASH = Type.String({ pattern: '^[0-9a-f]{64}$' });
const HEIGHT = Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1 });

const OutputSchema = Type.Object({
  value: Type.Optional(Type.Union([Type.String({ maxLength: 40 }), Type.Number()])),
  n: Type.Optional(HEIGHT),
  scriptPubKey: Type.Optional(
    Type.Object({
      hex: HEX,
      type: Type.String(),
      address: Type.Optional(Type.String({ maxLength: 120 })),
      addresses: Type.Optional(Type.Array(Type.String({ maxLength: 120 })))
    })
  )
});
export const TransactionSchema = Type.Object({
  txid: HASH,
  vin: Type.Array(
    Type.Object({
      txid: Type.Optional(HASH),
      vout: Type.Optional(HEIGHT),
      scriptSig: Type.Optional(Type.Object({ hex: HEX })),
      txinwitness: Type.Optional(Type.Array(HEX))
    })
  ),
  vout: Type.Array(OutputSchema)
});
/** The transactions are checked one by one, so that a strange one does not hide its block. */
const BlockSchema = Type.Object({
  hash: HASH,
  height: HEIGHT,
  time: HEIGHT,
  previousblockhash: Type.Optional(HASH),
  tx: Type.Array(Type.Object({ txid: HASH }))
});
const InfoSchema = Type.Object({
  chain: Type.String(),
  blocks: HEIGHT,
  bestblockhash: HASH,
  verificationprogress: Type.Union([Type.Number(), Type.String()])
});

/** An output as `getblock` and `getrawtransaction` print it; what holds coins of an extension block has no script. */
export type NodeOutput = Static<typeof OutputSchema>;
export type NodeTransaction = Static<typeof TransactionSchema>;
export type NodeBlock = Static<typeof BlockSchema>;

/** The newest block that a coin node knows. */
export interface NodeTip {
  readonly height: number;
  readonly hash: string;
  /** 0 to 1: how far the node has verified the chain. */
  readonly verificationProgress: number;
}

const validators = {
  info: Compile(InfoSchema),
  hash: Compile(HASH),
  block: Compile(BlockSchema),
  transaction: Compile(TransactionSchema)
};

/** The chain as one coin node tells it, every answer checked. Each call may throw NODE_UNREACHABLE or NODE_REFUSED. */
export class NodeChain {
  readonly #rpc: NodeRpc;

  constructor(rpc: NodeRpc) {
    this.#rpc = rpc;
  }

  /** @throws {PlatformError} NODE_MISMATCH when the node serves another chain or network */
  async verify(expected: ChainNetwork, signal?: AbortSignal): Promise<NodeTip> {
    const info = checked(validators.info, await this.#rpc.call('getblockchaininfo', [], signal), 'getblockchaininfo');
    if (info.chain !== expected.nodeChain) {
      const reason = `NETWORK is ${expected.name}, but the node serves the chain "${info.chain.slice(0, 40)}"`;
      throw new PlatformError('NODE_MISMATCH', { reason });
    }
    const genesisHash = await this.hashAt(0, signal);
    if (genesisHash !== expected.genesisHash) {
      const reason = `NETWORK is ${expected.name}, but the node's first block is that of another chain`;
      throw new PlatformError('NODE_MISMATCH', { reason, genesisHash });
    }
    return tipOf(info);
  }

  async tip(signal?: AbortSignal): Promise<NodeTip> {
    return tipOf(checked(validators.info, await this.#rpc.call('getblockchaininfo', [], signal), 'getblockchaininfo'));
  }

  /** @throws {PlatformError} NODE_REFUSED with rpcCode -8 above the node's tip */
  async hashAt(height: number, signal?: AbortSignal): Promise<string> {
    return checked(validators.hash, await this.#rpc.call('getblockhash', [height], signal), 'getblockhash');
  }

  async block(hash: string, signal?: AbortSignal): Promise<NodeBlock> {
    return checked(validators.block, await this.#rpc.call('getblock', [hash, 2], signal), 'getblock');
  }

  /** An output of any transaction of the chain; the node needs `txindex=1`. */
  async output(txid: string, vout: number, signal?: AbortSignal): Promise<NodeOutput> {
    const answer = await this.#rpc.call('getrawtransaction', [txid, true], signal);
    const output = checked(validators.transaction, answer, 'getrawtransaction').vout[vout];
    if (output) return output;
    throw new PlatformError('NODE_REFUSED', {
      reason: 'a transaction lacks an output that another spends',
      txid,
      vout
    });
  }
}

function tipOf({ blocks, bestblockhash, verificationprogress }: Static<typeof InfoSchema>): NodeTip {
  return { height: blocks, hash: bestblockhash, verificationProgress: Number(verificationprogress) };
}

/** What a compiled schema of any type offers. */
interface Checker<T> {
  Check(value: unknown): value is T;
  Errors(value: unknown): readonly { readonly instancePath: string; readonly message: string }[];
}

function checked<T>(checker: Checker<T>, answer: unknown, method: string): T {
  if (checker.Check(answer)) return answer;
  const [fault] = checker.Errors(answer);
  const reason = `the node's answer is malformed at ${fault?.instancePath ?? '/'}: ${fault?.message ?? ''}`;
  throw new PlatformError('NODE_REFUSED', { reason, method });
}
