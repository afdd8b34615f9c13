import { databaseOf } from '../config/database.ts';
import { hubsOf } from '../config/hub-client.ts';
import { placeOf } from '../config/service.ts';
import { type IndexerConfig, indexedNetwork, pricesDatabase } from '../config/services/indexer.ts';
import { clearHalt } from '../db/clear-halt.ts';
import type { Done, RunningService, Start } from '../service/define.ts';
import { startSupervised } from '../service/life/supervised.ts';
import type { IndexerAsks } from './api/answers.ts';
import { createIndexerApp } from './api/app.ts';
import { actorReportOf } from './api/health.ts';
import { indexerPipeline } from './api/pipeline.ts';
import type { IndexerReport } from './loop/report.ts';
import type { IndexerActorData } from './loop/thread.ts';
import { rulesOf } from './profile/rules.ts';
import { IndexerStore } from './store/store.ts';

const ANSWER_LIMIT_MS = 5_000;
/** Limit for a trial: some wait for others. */
const TRIAL_LIMIT_MS = 10_000;
/** V8's default is a little faster and takes more memory: `npm run bench -- indexer` shows both. */
const YOUNG_GENERATION_MB = 16;

/** Starts the indexer. @throws {PlatformError} PORT_IN_USE, CONFIG_INVALID */
export function startIndexer(config: IndexerConfig, { service, log }: Start): Promise<RunningService> {
  const network = indexedNetwork(config);
  const id = { kind: 'indexer', chain: network.chain, network: network.network } as const;
  const workerData: IndexerActorData = {
    chain: network.chain,
    network: network.network,
    profile: config.PLATFORM_PROFILE,
    commitmentDomain: config.COMMITMENT_DOMAIN,
    decoder: databaseOf(config, 'DECODER'),
    indexer: databaseOf(config, 'INDEXER'),
    prices: pricesDatabase(config),
    pollIntervalMs: config.INDEXER_POLL_INTERVAL,
    queryTimeoutMs: config.DB_QUERY_TIMEOUT,
    blockLimitMs: config.INDEXER_BLOCK_TIMEOUT,
    hubs: hubsOf(config),
    hubKey: config.HUB_API_KEY,
    logLevel: config.LOG_LEVEL
  };
  return startSupervised<IndexerReport, IndexerAsks>({
    service,
    id,
    code: network.code,
    config,
    log,
    workerData,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    place: placeOf(config, 'INDEXER'),
    reportOf: actorReportOf,
    pipeline: (view) => indexerPipeline(id, view),
    createApp: ({ supervisor, ...parts }) =>
      createIndexerApp({
        ...parts,
        config,
        network,
        profile: config.PLATFORM_PROFILE,
        findStakes: (question) => supervisor.handle(id).ask('findStakes', question, { deadlineMs: ANSWER_LIMIT_MS }),
        tryAction: (question) => supervisor.handle(id).ask('tryAction', question, { deadlineMs: TRIAL_LIMIT_MS }),
        findRound: (round) => supervisor.handle(id).ask('findRound', { round }, { deadlineMs: ANSWER_LIMIT_MS }),
        findHashes: (height) => supervisor.handle(id).ask('findHashes', { height }, { deadlineMs: ANSWER_LIMIT_MS }),
        findAction: (actionIndex) =>
          supervisor.handle(id).ask('findAction', { actionIndex }, { deadlineMs: ANSWER_LIMIT_MS })
      })
  });
}

/** Runs `--clear-halt`. @throws {PlatformError} DATABASE_REFUSED, DATABASE_UNAVAILABLE */
export async function clearIndexerHalt(config: IndexerConfig): Promise<Done> {
  const rules = rulesOf(config.PLATFORM_PROFILE, indexedNetwork(config), config.COMMITMENT_DOMAIN);
  return await clearHalt(await IndexerStore.open(databaseOf(config, 'INDEXER'), rules, config.DB_QUERY_TIMEOUT / 1000));
}
