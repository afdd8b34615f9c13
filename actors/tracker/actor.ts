import { workerData } from 'node:worker_threads';
import { trackerMachine } from '../../machines/follower/chain-writer.ts';
import { RawChain } from '../../src/coin/node/raw-chain.ts';
import { RangeFeed } from '../../src/follower/range-feed.ts';
import { ChainThread, type ChainThreadData } from '../../src/follower/thread.ts';
import { ChainWork } from '../../src/follower/work.ts';
import { type BalanceAnswer, type CoinsQuestion, TrackerAnswers } from '../../src/tracker/answers.ts';
import type { BlockChanges } from '../../src/tracker/coins/changes.ts';
import { receivedChanges } from '../../src/tracker/coins/reduce.ts';
import { MempoolCoins } from '../../src/tracker/mempool-coins.ts';
import { mempoolReport, type TrackerReport } from '../../src/tracker/report.ts';
import { GROUP_BYTES, MOST_GROUP_BLOCKS, openTrackerStore, type TrackerStore } from '../../src/tracker/store.ts';
import type { TrackerTasks } from '../../workers/tracker/tasks.ts';
import { Transferred } from '../runtime/channel.ts';
import { hostActor } from '../runtime/thread/actor-host.ts';

/** Start data of a tracker actor's thread. */
export interface TrackerActorData extends ChainThreadData {
  readonly mempoolIntervalMs: number;
}

/** Requests that a tracker actor answers. */
export type TrackerAsks = {
  findCoins: { request: CoinsQuestion; reply: Uint8Array<ArrayBuffer> };
  findBalance: { request: { readonly script: string }; reply: BalanceAnswer };
};

/** Notices from a tracker actor to the main thread. */
type TrackerNotices = { report: TrackerReport };

const data = workerData as TrackerActorData;
const { node } = data;
const thread = new ChainThread<TrackerTasks>('tracker', data);
const { log, network, rpc, chain, parallelism, tasks } = thread;
const raw = new RawChain(rpc);
const rules = { isMergeMined: data.chain === 'dogecoin', coinbaseMaturity: network.coinbaseMaturity };
const feed = new RangeFeed<object, BlockChanges>({
  parallelism,
  mostBlocks: MOST_GROUP_BLOCKS,
  rangeBytes: GROUP_BYTES,
  scan: (range, signal) => tasks.run('tracker/scan-blocks', { node, range, rules }, { signal })
});
const work: ChainWork<BlockChanges, TrackerStore> = new ChainWork({
  command: 'utxo',
  network,
  // An output of any block may be spent later.
  startBlock: 0,
  pollIntervalMs: data.pollIntervalMs,
  chain,
  needsIndex: false,
  feed,
  take: async (store, from, tip, signal) => {
    const last = await store.prepare(tip);
    return (await feed.take(from, last, {}, signal)).blocks;
  },
  openStore: () =>
    openTrackerStore(data.coordinates, {
      queryTimeoutMs: data.queryTimeoutMs,
      undoDepth: network.undoDepth,
      nodeHeight: () => work.facts.nodeHeight,
      reduce: async (changes) => receivedChanges(await tasks.run('tracker/reduce-changes', changes))
    }),
  onChange: () => {
    coins.distrust();
    thread.tell();
  },
  log
});
const coins: MempoolCoins = new MempoolCoins({
  list: (signal) => chain.mempool(signal),
  read: (txids) => raw.presentTransactions(txids),
  coins: () => work.store?.coins
});
const answers = new TrackerAnswers({ store: () => work.store, mempool: coins });
const host = hostActor<TrackerAsks, Record<never, never>, TrackerNotices>({
  handlers: {
    findCoins: async (question) => {
      const json = await answers.coins(question);
      return new Transferred(json, [json.buffer]);
    },
    findBalance: ({ script }) => answers.balance(script)
  },
  stop: thread.stop,
  log
});
await thread.run<TrackerReport>({
  host,
  machine: trackerMachine,
  work,
  feed,
  mempoolPass: coins,
  mempoolRestMs: data.mempoolIntervalMs,
  reportOf: (report) => ({
    ...report,
    ...work.reorgs,
    mempool: mempoolReport(coins, data.mempoolIntervalMs),
    firstSync: work.store?.firstSync ?? null
  })
});
