import assert from 'node:assert/strict';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ChainLoop } from '../../../actors/chain/loop.ts';
import { trackerMachine } from '../../../machines/chain/chain-writer.ts';
import { RangeFeed } from '../../../src/chain/range-feed.ts';
import { ChainWork } from '../../../src/chain/work.ts';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { NodeChain } from '../../../src/coin/node-chain.ts';
import { NodeRpc, type NodeRpcOptions } from '../../../src/coin/node-rpc.ts';
import { silentLogger } from '../../../src/log.ts';
import type { BlockChanges } from '../../../src/tracker/changes.ts';
import { MOST_GROUP_BLOCKS, openTrackerStore, type TrackerStore } from '../../../src/tracker/store.ts';
import type { DatabaseCoordinates } from '../../../src/wire/database.ts';
import scanBlocks from '../../../workers/tracker/scan-blocks.ts';

const stops: (() => Promise<void>)[] = [];
after(async () => {
  for (const stop of stops) await stop().catch(() => undefined);
});

const NETWORK = chainNetwork('litecoin', 'regtest');

/** A tracker of the test's own, fast to poll and to retry; it is stopped after the test file. */
export function startTracker(database: DatabaseCoordinates, { url, user, password }: NodeRpcOptions) {
  const node = { url, user, password };
  const rpc = new NodeRpc({ ...node, retries: 0 });
  const feed = new RangeFeed<object, BlockChanges>({
    parallelism: 2,
    retries: 0,
    mostBlocks: MOST_GROUP_BLOCKS,
    scan: (range) => scanBlocks({ node, range, isMergeMined: false })
  });
  const groups: number[] = [];
  const work: ChainWork<BlockChanges, TrackerStore> = new ChainWork({
    service: 'tracker',
    network: NETWORK,
    startBlock: 0,
    pollIntervalMs: 20,
    chain: new NodeChain(rpc),
    feed,
    take: async (_, from, tip, signal) => {
      const { blocks } = await feed.take(from, tip, {}, signal);
      groups.push(blocks.length);
      return blocks;
    },
    openStore: () =>
      openTrackerStore(database, { undoDepth: NETWORK.undoDepth, nodeHeight: () => work.facts.nodeHeight }),
    log: silentLogger
  });
  const loop = new ChainLoop({
    machine: trackerMachine,
    work,
    counters: [rpc, feed],
    retryDelayMs: 50,
    log: silentLogger
  });
  const stopping = new AbortController();
  const ended = loop.run(stopping.signal).finally(() => rpc.close());
  const stop = async () => {
    stopping.abort();
    await ended;
  };
  stops.push(stop);
  ended.catch(() => undefined); // told to whoever stops it
  return {
    work,
    stop,
    /** How many blocks were written at once, one number for each time. */
    groups,
    /** Waits until the node's block is the last one that was written. */
    async reach(hash: unknown) {
      const deadline = Date.now() + 20_000;
      for (;;) {
        const tip = await work.store?.readTip().catch(() => null);
        if (tip?.hash === hash && loop.report.state === 'parsing.caughtUp') return;
        assert.ok(Date.now() < deadline, `at ${tip?.height} in state ${loop.report.state}`);
        await Promise.race([sleep(20), ended]);
      }
    }
  };
}
