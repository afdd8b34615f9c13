import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { trackerMachine } from '../../machines/chain/chain-writer.ts';
import { MempoolLoop } from '../../src/chain/mempool-loop.ts';
import { RangeFeed, scanParallelism } from '../../src/chain/range-feed.ts';
import { isNearTip } from '../../src/chain/report.ts';
import { ChainWork } from '../../src/chain/work.ts';
import { type Chain, chainNetwork, type Network } from '../../src/coin/chains.ts';
import { NodeChain } from '../../src/coin/node-chain.ts';
import { NodeRpc, type NodeRpcOptions } from '../../src/coin/node-rpc.ts';
import { RawChain } from '../../src/coin/raw-chain.ts';
import { createLogger } from '../../src/log.ts';
import { type BalanceAnswer, type CoinsAnswer, type CoinsQuestion, TrackerAnswers } from '../../src/tracker/answers.ts';
import type { BlockChanges } from '../../src/tracker/changes.ts';
import { MempoolCoins } from '../../src/tracker/mempool-coins.ts';
import type { TrackerReport } from '../../src/tracker/report.ts';
import { MOST_GROUP_BLOCKS, openTrackerStore, type TrackerStore } from '../../src/tracker/store.ts';
import type { DatabaseCoordinates } from '../../src/wire/database.ts';
import type { TrackerTasks } from '../../workers/tracker/tasks.ts';
import { ChainLoop } from '../chain/loop.ts';
import { hostActor } from '../runtime/actor-host.ts';
import { TaskPool } from '../runtime/task-pool.ts';

/** What a tracker actor's thread is started with. */
export interface TrackerActorData {
  readonly chain: Chain;
  readonly network: Network;
  readonly node: NodeRpcOptions;
  readonly coordinates: DatabaseCoordinates;
  readonly pollIntervalMs: number;
  readonly mempoolIntervalMs: number;
  readonly queryTimeoutMs: number;
  readonly logLevel: string;
}

/** What a tracker actor is asked. */
export type TrackerAsks = {
  findCoins: { request: CoinsQuestion; reply: CoinsAnswer };
  findBalance: { request: { readonly script: string }; reply: BalanceAnswer };
};

/** What a tracker actor tells the main thread. */
export type TrackerNotices = { report: TrackerReport };

const RETRY_DELAY_MS = 3_000;
const REPORT_INTERVAL_MS = 250;

/** What the tracker waits for in a state. */
const WAITS: Readonly<Record<string, string>> = {
  connecting: 'database',
  reconnecting: 'database',
  waitingForNode: 'coin node',
  'parsing.caughtUp': 'next block',
  halted: 'operator'
};

const data = workerData as TrackerActorData;
const log = createLogger('tracker', data.logLevel).child({ database: data.coordinates.name });
const network = chainNetwork(data.chain, data.network);
const rpc = new NodeRpc(data.node);
const chain = new NodeChain(rpc);
const raw = new RawChain(rpc);
const parallelism = scanParallelism(availableParallelism());
const tasks = new TaskPool<TrackerTasks>({ maxThreads: parallelism });
const isMergeMined = data.chain === 'dogecoin';
const feed = new RangeFeed<object, BlockChanges>({
  parallelism,
  mostBlocks: MOST_GROUP_BLOCKS,
  scan: (range, signal) => tasks.run('tracker/scan-blocks', { node: data.node, range, isMergeMined }, { signal })
});
const work: ChainWork<BlockChanges, TrackerStore> = new ChainWork({
  service: 'tracker',
  network,
  // Whatever was made before a first block could be spent after it.
  startBlock: 0,
  pollIntervalMs: data.pollIntervalMs,
  chain,
  feed,
  take: async (_, from, tip, signal) => (await feed.take(from, tip, {}, signal)).blocks,
  openStore: () =>
    openTrackerStore(data.coordinates, {
      queryTimeoutMs: data.queryTimeoutMs,
      undoDepth: network.undoDepth,
      nodeHeight: () => work.facts.nodeHeight
    }),
  log
});
const coins = new MempoolCoins({
  list: (signal) => chain.mempool(signal),
  read: (txids) => raw.presentTransactions(txids),
  coins: () => work.store?.coins
});
const answers = new TrackerAnswers({
  coins: () => work.store?.coins,
  mempool: coins,
  maturity: network.coinbaseMaturity
});
const stopping = new AbortController();
const host = hostActor<TrackerAsks, Record<never, never>, TrackerNotices>({
  handlers: {
    findCoins: (question) => answers.coins(question),
    findBalance: ({ script }) => answers.balance(script)
  },
  stop: async () => {
    stopping.abort();
    await ended;
  },
  log
});
const loop = new ChainLoop({
  machine: trackerMachine,
  work,
  counters: [rpc, feed],
  retryDelayMs: RETRY_DELAY_MS,
  log,
  inspect: host.observe('tracker')
});
const mempool = new MempoolLoop({
  pass: coins,
  restMs: data.mempoolIntervalMs,
  log,
  inspect: host.observe('mempool')
});
const ended = loop.run(stopping.signal).then(release, host.fail);
await report();

/** Tells the main thread how things stand, until the end. */
async function report(): Promise<void> {
  let state = '';
  while (!stopping.signal.aborted) {
    await loop.probe();
    const current = { ...loop.report, ...work.reorgs, isMempoolReady: coins.isReady };
    host.tell('report', current);
    mempool.setSynced(isNearTip(current));
    if (current.state !== state) host.waiting(WAITS[current.state] ?? null);
    state = current.state;
    await sleep(REPORT_INTERVAL_MS);
  }
}

async function release(): Promise<void> {
  mempool.stop();
  await tasks.close();
  await rpc.close();
}
