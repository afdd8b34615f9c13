import { workerData } from 'node:worker_threads';
import { decoderMachine } from '../../machines/follower/chain-writer.ts';
import { BlockFeed } from '../../src/decoder/block-feed.ts';
import type { ScanRules } from '../../src/decoder/block-scan.ts';
import type { DecoderReport } from '../../src/decoder/health.ts';
import { MempoolPass } from '../../src/decoder/mempool-pass.ts';
import { type DecoderStore, type DecoderStoreOptions, openDecoderStore } from '../../src/decoder/store.ts';
import { ChainThread, type ChainThreadData } from '../../src/follower/thread.ts';
import { ChainWork } from '../../src/follower/work.ts';
import type { DecoderTasks } from '../../workers/decoder/tasks.ts';
import { hostActor } from '../runtime/thread/actor-host.ts';

/** Start data of a decoder actor's thread. */
export interface DecoderActorData extends ChainThreadData {
  readonly startBlock: number;
  readonly rules: ScanRules;
  /** @see DecoderStoreOptions */
  readonly dispenserLimitHeight: number;
  /** Settings by which its rows are made. */
  readonly base: NonNullable<DecoderStoreOptions['base']>;
}

/** Notices from a decoder actor to the main thread. */
type DecoderNotices = { report: DecoderReport };

const data = workerData as DecoderActorData;
const { node, rules, startBlock } = data;
const thread = new ChainThread<DecoderTasks>('decoder', data);
const { log, network, chain, parallelism, tasks } = thread;
const host = hostActor<Record<never, never>, Record<never, never>, DecoderNotices>({
  handlers: {},
  stop: thread.stop,
  log
});
const feed = new BlockFeed({
  versions: rules.addresses,
  parallelism,
  scan: (range, signal) => tasks.run('decoder/scan-blocks', { node, range, rules }, { signal })
});
const work = new ChainWork({
  command: 'decoder',
  network,
  startBlock,
  pollIntervalMs: data.pollIntervalMs,
  chain,
  feed,
  take: async (store: DecoderStore, from, tip, signal) =>
    feed.take(from, tip, await store.paymentMarks(rules.addresses), signal),
  openStore: () => openDecoderStore(data.coordinates, data),
  log
});
const mempoolPass = new MempoolPass({
  list: (signal) => chain.mempool(signal),
  scan: (txids, signal) => {
    const height = (work.facts.lastProcessedBlock ?? startBlock - 1) + 1;
    return tasks.run('decoder/scan-mempool', { node, txids, height, rules }, { signal });
  },
  store: () => work.store?.mempool
});
let parseErrors = 0;
await thread.run<DecoderReport>({
  host,
  machine: decoderMachine,
  work,
  feed,
  mempoolPass,
  reportOf: (report) => {
    parseErrors = work.store?.parseErrors ?? parseErrors;
    return { ...report, parseErrors, mempoolSkipped: mempoolPass.oddCount };
  }
});
