import type { TrackerActorData, TrackerAsks } from '../../actors/tracker/actor.ts';
import { databaseOf } from '../config/database.ts';
import { networkOf, nodeRpcOf } from '../config/node.ts';
import { placeOf } from '../config/service.ts';
import type { TrackerConfig } from '../config/services/tracker.ts';
import { clearHalt } from '../db/clear-halt.ts';
import { chainPipeline } from '../follower/pipeline.ts';
import { actorReportOf } from '../follower/report.ts';
import type { Done, RunningService, Start } from '../service/define.ts';
import { startSupervised } from '../service/life/supervised.ts';
import { monotonicMs } from '../wire/state/monotonic.ts';
import { createTrackerApp } from './app.ts';
import type { TrackerReport } from './report.ts';
import { openTrackerStore } from './store.ts';

const ANSWER_LIMIT_MS = 15_000;

/** Starts the tracker. @throws {PlatformError} PORT_IN_USE, CONFIG_INVALID */
export function startTracker(config: TrackerConfig, { service, log }: Start): Promise<RunningService> {
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
    service,
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

/** Runs `--clear-halt`. @throws {PlatformError} DATABASE_REFUSED, DATABASE_UNAVAILABLE */
export async function clearTrackerHalt(config: TrackerConfig): Promise<Done> {
  const { undoDepth } = networkOf(config);
  const options = { queryTimeoutMs: config.DB_QUERY_TIMEOUT, undoDepth, nodeHeight: () => null };
  return await clearHalt((await openTrackerStore(databaseOf(config, 'UTXO'), options)).database);
}
