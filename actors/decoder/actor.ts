import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { decoderMachine } from '../../machines/chain/chain-writer.ts';
import { MempoolLoop } from '../../src/chain/mempool-loop.ts';
import { scanParallelism } from '../../src/chain/range-feed.ts';
import { isNearTip } from '../../src/chain/report.ts';
import { ChainWork } from '../../src/chain/work.ts';
import { type Chain, chainNetwork, type Network } from '../../src/coin/chains.ts';
import { NodeChain } from '../../src/coin/node-chain.ts';
import { NodeRpc, type NodeRpcOptions } from '../../src/coin/node-rpc.ts';
import { BlockFeed } from '../../src/decoder/block-feed.ts';
import type { ScanRules } from '../../src/decoder/block-scan.ts';
import type { DecoderReport } from '../../src/decoder/health.ts';
import { MempoolPass } from '../../src/decoder/mempool-pass.ts';
import { type DecoderStore, openDecoderStore } from '../../src/decoder/store.ts';
import { createLogger } from '../../src/log.ts';
import type { DatabaseCoordinates } from '../../src/wire/database.ts';
import type { DecoderTasks } from '../../workers/decoder/tasks.ts';
import { ChainLoop } from '../chain/loop.ts';
import { hostActor } from '../runtime/actor-host.ts';
import { TaskPool } from '../runtime/task-pool.ts';

/** What a decoder actor's thread is started with. */
export interface DecoderActorData {
  readonly chain: Chain;
  readonly network: Network;
  readonly node: NodeRpcOptions;
  readonly coordinates: DatabaseCoordinates;
  readonly startBlock: number;
  readonly pollIntervalMs: number;
  readonly queryTimeoutMs: number;
  readonly rules: ScanRules;
  readonly logLevel: string;
}

/** What a decoder actor tells the main thread. */
export type DecoderNotices = { report: DecoderReport };

const RETRY_DELAY_MS = 3_000;
const REPORT_INTERVAL_MS = 250;

/** What the decoder waits for in a state. */
const WAITS: Readonly<Record<string, string>> = {
  connecting: 'database',
  reconnecting: 'database',
  waitingForNode: 'coin node',
  'parsing.caughtUp': 'next block',
  halted: 'operator'
};

const data = workerData as DecoderActorData;
const log = createLogger('decoder', data.logLevel).child({ database: data.coordinates.name });
const rpc = new NodeRpc(data.node);
const chain = new NodeChain(rpc);
const parallelism = scanParallelism(availableParallelism());
const tasks = new TaskPool<DecoderTasks>({ maxThreads: parallelism });
const feed = new BlockFeed({
  versions: data.rules.addresses,
  parallelism,
  scan: (range, signal) => tasks.run('decoder/scan-blocks', { node: data.node, range, rules: data.rules }, { signal })
});
const stopping = new AbortController();
const host = hostActor<Record<never, never>, Record<never, never>, DecoderNotices>({
  handlers: {},
  stop: async () => {
    stopping.abort();
    await ended;
  },
  log
});
const work = new ChainWork({
  service: 'decoder',
  network: chainNetwork(data.chain, data.network),
  startBlock: data.startBlock,
  pollIntervalMs: data.pollIntervalMs,
  chain,
  feed,
  take: async (store: DecoderStore, from, tip, signal) => feed.take(from, tip, await store.paidAddresses(), signal),
  openStore: () => openDecoderStore(data.coordinates, data.queryTimeoutMs),
  log
});
const loop = new ChainLoop({
  machine: decoderMachine,
  work,
  counters: [rpc, feed],
  retryDelayMs: RETRY_DELAY_MS,
  log,
  inspect: host.observe('decoder')
});
const pass = new MempoolPass({
  list: (signal) => chain.mempool(signal),
  scan: (txids, signal) => {
    const height = (work.facts.lastProcessedBlock ?? data.startBlock - 1) + 1;
    return tasks.run('decoder/scan-mempool', { node: data.node, txids, height, rules: data.rules }, { signal });
  },
  store: () => work.store?.mempool
});
const mempool = new MempoolLoop({ pass, log, inspect: host.observe('mempool') });
const ended = loop.run(stopping.signal).then(release, host.fail);
await report();

/** Tells the main thread how things stand, until the end. */
async function report(): Promise<void> {
  let state = '';
  let parseErrors = 0;
  while (!stopping.signal.aborted) {
    await loop.probe();
    parseErrors = work.store?.parseErrors ?? parseErrors;
    const current = { ...loop.report, parseErrors };
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
