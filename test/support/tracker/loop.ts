import { trackerMachine } from '../../../machines/follower/chain-writer.ts';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { NodeChain } from '../../../src/coin/node/node-chain.ts';
import { NodeRpc, type NodeRpcOptions } from '../../../src/coin/node/node-rpc.ts';
import { RangeFeed } from '../../../src/follower/range-feed.ts';
import { ChainWork } from '../../../src/follower/work.ts';
import { silentLogger } from '../../../src/log.ts';
import type { BlockChanges } from '../../../src/tracker/coins/changes.ts';
import { MOST_GROUP_BLOCKS, openTrackerStore, type TrackerStore } from '../../../src/tracker/store.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import scanBlocks from '../../../workers/tracker/scan-blocks.ts';
import { runLoop } from '../follower/run-loop.ts';

const NETWORK = chainNetwork('litecoin', 'regtest');
const RULES = { isMergeMined: false, coinbaseMaturity: NETWORK.coinbaseMaturity };

/** A tracker of the test's own, fast to poll and to retry; it is stopped after the test file. */
export function startTracker(database: DatabaseCoordinates, { url, user, password }: NodeRpcOptions) {
  const node = { url, user, password };
  const rpc = new NodeRpc({ ...node, retries: 0 });
  const feed = new RangeFeed<object, BlockChanges>({
    parallelism: 2,
    retries: 0,
    mostBlocks: MOST_GROUP_BLOCKS,
    scan: (range) => scanBlocks({ node, range, rules: RULES })
  });
  const groups: number[] = [];
  const work: ChainWork<BlockChanges, TrackerStore> = new ChainWork({
    command: 'utxo',
    network: NETWORK,
    startBlock: 0,
    pollIntervalMs: 20,
    chain: new NodeChain(rpc),
    needsIndex: false,
    feed,
    take: async (store, from, tip, signal) => {
      const { blocks } = await feed.take(from, await store.prepare(tip), {}, signal);
      groups.push(blocks.length);
      return blocks;
    },
    openStore: () =>
      openTrackerStore(database, { undoDepth: NETWORK.undoDepth, nodeHeight: () => work.facts.nodeHeight }),
    log: silentLogger
  });
  const readTip = async () => String((await work.store?.readTip())?.hash);
  const { reachTip, loop, stop, states } = runLoop({ machine: trackerMachine, work, rpc, feed, readTip });
  return {
    work,
    loop,
    stop,
    states,
    /** Numbers of blocks that were written at once. */
    groups,
    /** Waits until the node's block is the last one that was written. */
    reach: (hash: unknown) => reachTip(String(hash))
  };
}
