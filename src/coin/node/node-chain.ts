import { setTimeout as sleep } from 'node:timers/promises';
import Type, { type Static, type TSchema } from 'typebox';
import { hasCode, PlatformError } from '../../errors.ts';
import { shapeOf } from '../../wire/data/shape.ts';
import { OrNull } from '../../wire/or-null.ts';
import type { ChainNetwork } from '../chains.ts';
import { refuseWithoutScan } from './coin-lookup.ts';
import { refuseLoading } from './mempool-loading.ts';
import { malformed } from './node-answer.ts';
import { refuseAlone } from './node-peers.ts';
import type { NodeRpc } from './node-rpc.ts';

/** Longest wait of one call; below its time limit. */
const MAX_WAIT_MS = 10_000;

const HASH = Type.String({ pattern: '^[0-9a-f]{64}$' });
const HEIGHT = Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1 });

/** Returns the schema of a field that some nodes leave out or set to null. */
const OrAbsent = <T extends TSchema>(schema: T) => Type.Optional(OrNull(schema));

const InfoSchema = Type.Object({
  chain: Type.String(),
  blocks: HEIGHT,
  headers: OrAbsent(HEIGHT),
  bestblockhash: HASH,
  verificationprogress: Type.Union([Type.Number(), Type.String()]),
  initialblockdownload: OrAbsent(Type.Boolean()),
  pruned: OrAbsent(Type.Boolean()),
  pruneheight: OrAbsent(HEIGHT)
});
const IndexesSchema = Type.Object({
  txindex: Type.Optional(Type.Object({ synced: Type.Boolean(), best_block_height: HEIGHT }))
});

type Info = Static<typeof InfoSchema>;

/** The newest block of a coin node. */
export interface NodeTip {
  readonly height: number;
  readonly hash: string;
  /** Height of the node's best header chain; the tip's height when the node does not report it. */
  readonly headers: number;
  /** Verified part of the chain, 0 to 1. */
  readonly verificationProgress: number;
}

/** Requirements of a service on its node. */
export interface NodeNeeds {
  /** Whether any transaction must be readable by its id. */
  readonly hasIndex: boolean;
  /** Lowest block that must be readable; null when none is needed. */
  readonly blocksFrom: number | null;
  /** Whether the node must have downloaded its chain. */
  readonly isWhole?: boolean;
  /** Whether it must have loaded the mempool that it had before its last start. */
  readonly hasMempool?: boolean;
  /** Whether it must have peers. */
  readonly hasPeers?: boolean;
  /** Whether it must find the coins of an address. */
  readonly hasCoinScan?: boolean;
}

const validators = {
  info: shapeOf(InfoSchema),
  hash: shapeOf(HASH),
  hashes: shapeOf(Type.Array(HASH)),
  indexes: shapeOf(IndexesSchema)
};

/** Reads the chain of one coin node and checks every answer. Each call may throw NODE_UNREACHABLE or NODE_REFUSED. */
export class NodeChain {
  readonly #rpc: NodeRpc;
  #canWait = true;

  constructor(rpc: NodeRpc) {
    this.#rpc = rpc;
  }

  /**
   * Checks network and history of the node, and returns its tip.
   *
   * @throws {PlatformError} NODE_MISMATCH for another chain or network; NODE_REFUSED with the remedy when it lacks
   *   history or the look-up of coins; NODE_BEHIND while it downloads its chain, loads its mempool, or has no peers
   */
  async verify(expected: ChainNetwork, needs: NodeNeeds, signal?: AbortSignal): Promise<NodeTip> {
    const info = await this.verifyNetwork(expected, signal);
    refuseLack(info, needs);
    if (needs.hasIndex) await this.#verifyIndex(signal);
    if (needs.isWhole) refuseDownloading(info, expected);
    if (needs.hasMempool) await refuseLoading(this.#rpc, signal);
    if (needs.hasPeers) await refuseAlone(this.#rpc, expected, signal);
    if (needs.hasCoinScan) await refuseWithoutScan(this.#rpc, signal);
    return tipOf(info);
  }

  /** Checks the network of the node only. @throws {PlatformError} NODE_MISMATCH */
  async verifyNetwork(expected: ChainNetwork, signal?: AbortSignal): Promise<Info> {
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
    return info;
  }

  /**
   * Waits until the node's tip reaches a height or the time is over.
   *
   * @param timeoutMs waited in full when the node cannot be asked to wait
   */
  async waitForHeight(height: number, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const waitMs = Math.min(timeoutMs, MAX_WAIT_MS);
    if (this.#canWait) {
      try {
        return void (await this.#rpc.call('waitforblockheight', [height, waitMs], signal, waitMs));
      } catch (caught) {
        if (!hasCode(caught, 'NODE_REFUSED')) throw caught;
        this.#canWait = false;
      }
    }
    await sleep(waitMs, undefined, { signal });
  }

  /** Returns the ids of all transactions in the mempool. @throws {PlatformError} NODE_BEHIND while the node loads it */
  async mempool(signal?: AbortSignal): Promise<readonly string[]> {
    await refuseLoading(this.#rpc, signal);
    const [txids] = await this.#rpc.batch('getrawmempool', [[]], signal ? { signal } : {});
    return checked(validators.hashes, txids, 'getrawmempool');
  }

  /** Returns the newest block. */
  async tip(signal?: AbortSignal): Promise<NodeTip> {
    return tipOf(checked(validators.info, await this.#rpc.call('getblockchaininfo', [], signal), 'getblockchaininfo'));
  }

  /** Returns the hash of a block. @throws {PlatformError} NODE_REFUSED with rpcCode -8 above the node's tip */
  async hashAt(height: number, signal?: AbortSignal): Promise<string> {
    return checked(validators.hash, await this.#rpc.call('getblockhash', [height], signal), 'getblockhash');
  }

  /**
   * Checks that the node has an index of transactions. @throws {PlatformError} NODE_REFUSED with the remedy;
   * NODE_UNREACHABLE while the index is built
   */
  async #verifyIndex(signal?: AbortSignal): Promise<void> {
    const indexes = await this.#rpc.call('getindexinfo', [], signal).catch((caught: unknown) => {
      if (hasCode(caught, 'NODE_REFUSED')) return null; // older nodes do not know the call: reading a transaction fails then
      throw caught;
    });
    if (!validators.indexes.Check(indexes)) return;
    if (!indexes.txindex) {
      throw new PlatformError('NODE_REFUSED', {
        reason: 'the node has no index of transactions: set txindex=1 and restart it'
      });
    }
    if (!indexes.txindex.synced) {
      const reason = `the node builds its index of transactions, and is at block ${indexes.txindex.best_block_height}`;
      throw new PlatformError('NODE_UNREACHABLE', { reason });
    }
  }
}

/** Refuses a node that lacks needed history, or does not say what it lacks. @throws {PlatformError} NODE_REFUSED with the remedy */
function refuseLack({ pruned, pruneheight: lowest }: Info, { hasIndex, blocksFrom }: NodeNeeds): void {
  if (!pruned) return;
  if (hasIndex) {
    const reason =
      'the node is pruned and has no index of transactions: set prune=0 and txindex=1, and let it sync again';
    throw new PlatformError('NODE_REFUSED', { reason });
  }
  if (blocksFrom === null) return;
  if (lowest == null) throw malformed('getblockchaininfo');
  if (blocksFrom >= lowest) return;
  const reason = `the node is pruned and lacks blocks below ${lowest}, of which ${blocksFrom} is needed: set prune=0, and let it sync again`;
  throw new PlatformError('NODE_REFUSED', { reason });
}

/**
 * Refuses a node that is in its initial download, or whose headers show that it lacks more blocks than a rollback may remove:
 * a node whose tip is younger than a day says that its download is over.
 *
 * @throws {PlatformError} NODE_BEHIND
 */
function refuseDownloading(
  { blocks, headers, verificationprogress, initialblockdownload }: Info,
  { network, undoDepth }: ChainNetwork
): void {
  const isInitial = initialblockdownload && network !== 'regtest';
  if (!isInitial && (headers ?? blocks) - blocks <= undoDepth) return;
  const percent = (Number(verificationprogress) * 100).toFixed(1);
  const state = isInitial ? 'is in its initial download' : 'is still downloading its chain';
  const reason = `the node ${state}: block ${blocks} of ${headers ?? 'unknown'}, ${percent}% verified`;
  throw new PlatformError('NODE_BEHIND', { reason });
}

function tipOf({ blocks, headers, bestblockhash, verificationprogress }: Info): NodeTip {
  const verificationProgress = Number(verificationprogress);
  return { height: blocks, headers: headers ?? blocks, hash: bestblockhash, verificationProgress };
}

/** The parts of a compiled schema that are used here. */
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
