import type { TrackerActorData, TrackerAsks } from '../../../actors/tracker/actor.ts';
import { monotonicMs } from '../../chain/monotonic.ts';
import { chainPipeline } from '../../chain/pipeline.ts';
import { actorReportOf } from '../../chain/report.ts';
import { databaseOf } from '../../config/database.ts';
import { networkOf, nodeRpcOf } from '../../config/node.ts';
import { placeOf } from '../../config/service.ts';
import { type TrackerConfig, trackerChecks, trackerVariables } from '../../config/services/tracker.ts';
import type { Logger } from '../../log.ts';
import { createTrackerApp } from '../../tracker/app.ts';
import type { TrackerReport } from '../../tracker/report.ts';
import { openTrackerStore, type TrackerStore } from '../../tracker/store.ts';
import { clearHalt } from '../clear-halt.ts';
import type { Command, Environment } from '../command.ts';
import { readOptions } from '../options.ts';
import { loadSettings } from '../settings.ts';
import { type RunningService, runService } from './run-service.ts';
import { startSupervised } from './supervised.ts';

/** Command `platform-node utxo`: keeps the unspent outputs of a coin node's chain until a signal. */
export const utxoCommand = {
  name: 'utxo',
  summary: 'keeps the unspent outputs of a chain, for the encoder and for wallets',
  variables: trackerVariables,
  checks: trackerChecks,
  options: ['--clear-halt    allow the deep rollback that a stopped tracker refused, and end'],

  async run(argv: readonly string[], env: Environment): Promise<number> {
    const options = readOptions(argv, { 'clear-halt': { type: 'boolean' } });
    const loaded = await loadSettings(utxoCommand, env);
    if (options['clear-halt']) return await clearHalt((await openStore(loaded.values)).database);
    return await runService('tracker', loaded, startTracker);
  }
} satisfies Command<typeof trackerVariables>;

const ANSWER_LIMIT_MS = 15_000;

function startTracker(config: TrackerConfig, log: Logger): Promise<RunningService> {
  const network = networkOf(config);
  const id = { kind: 'tracker', chain: network.chain, network: network.network } as const;
  const workerData: TrackerActorData = {
    chain: network.chain,
    network: network.network,
    node: nodeRpcOf(config),
    coordinates: databaseOf(config, 'UTXO'),
    pollIntervalMs: config.UTXO_TRACKER_POLL_INTERVAL,
    mempoolIntervalMs: config.UTXO_TRACKER_MEMPOOL_INTERVAL,
    queryTimeoutMs: config.DB_QUERY_TIMEOUT,
    logLevel: config.LOG_LEVEL
  };
  return startSupervised<TrackerReport, TrackerAsks>({
    id,
    code: network.code,
    config,
    log,
    workerData,
    place: placeOf(config, 'UTXO_TRACKER'),
    reportOf: actorReportOf,
    pipeline: (view) => chainPipeline(id, view, monotonicMs()),
    createApp: ({ supervisor, ...parts }) =>
      createTrackerApp({
        ...parts,
        config,
        network,
        findCoins: (question) => supervisor.handle(id).ask('findCoins', question, { deadlineMs: ANSWER_LIMIT_MS }),
        findBalance: (script) => supervisor.handle(id).ask('findBalance', { script }, { deadlineMs: ANSWER_LIMIT_MS })
      })
  });
}

function openStore(config: TrackerConfig): Promise<TrackerStore> {
  const { undoDepth } = networkOf(config);
  const options = { queryTimeoutMs: config.DB_QUERY_TIMEOUT, undoDepth, nodeHeight: () => null };
  return openTrackerStore(databaseOf(config, 'UTXO'), options);
}
