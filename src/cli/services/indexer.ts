import type { IndexerActorData, IndexerAsks } from '../../../actors/indexer/actor.ts';
import { databaseOf } from '../../config/database.ts';
import { hubsOf } from '../../config/hub-client.ts';
import { placeOf } from '../../config/service.ts';
import {
  type IndexerConfig,
  indexedNetwork,
  indexerChecks,
  indexerVariables,
  pricesDatabase
} from '../../config/services/indexer.ts';
import { createIndexerApp } from '../../indexer/api/app.ts';
import { actorReportOf } from '../../indexer/api/health.ts';
import { indexerPipeline } from '../../indexer/api/pipeline.ts';
import type { IndexerReport } from '../../indexer/loop/report.ts';
import { rulesOf } from '../../indexer/rules/rules.ts';
import { IndexerStore } from '../../indexer/store/store.ts';
import type { Logger } from '../../log.ts';
import { clearHalt } from '../clear-halt.ts';
import type { Command, Environment } from '../command.ts';
import { readOptions } from '../options.ts';
import { loadSettings } from '../settings.ts';
import { type RunningService, runService } from './run-service.ts';
import { startSupervised } from './supervised.ts';

/** Command `platform-node indexer`: indexes the actions of a decoder database into a ledger until a signal. */
export const indexerCommand = {
  name: 'indexer',
  summary: 'carries out the actions of a decoder database and writes the ledger',
  variables: indexerVariables,
  checks: indexerChecks,
  options: ['--clear-halt    let a halted indexer continue, and end'],

  async run(argv: readonly string[], env: Environment): Promise<number> {
    const options = readOptions(argv, { 'clear-halt': { type: 'boolean' } });
    const loaded = await loadSettings(indexerCommand, env);
    if (options['clear-halt']) return await clearHalt(await openStore(loaded.values));
    return await runService('indexer', loaded, startIndexer);
  }
} satisfies Command<typeof indexerVariables>;

const ANSWER_LIMIT_MS = 5_000;
/** Limit for a trial: some wait for others. */
const TRIAL_LIMIT_MS = 10_000;
/** V8's default is a little faster and takes more memory: `npm run bench -- indexer` shows both. */
const YOUNG_GENERATION_MB = 16;

function startIndexer(config: IndexerConfig, log: Logger): Promise<RunningService> {
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
        findHashes: (height) => supervisor.handle(id).ask('findHashes', { height }, { deadlineMs: ANSWER_LIMIT_MS }),
        findAction: (actionIndex) =>
          supervisor.handle(id).ask('findAction', { actionIndex }, { deadlineMs: ANSWER_LIMIT_MS })
      })
  });
}

/** Opens the store for a command of the operator. */
async function openStore(config: IndexerConfig): Promise<IndexerStore> {
  const rules = rulesOf(config.PLATFORM_PROFILE, indexedNetwork(config), config.COMMITMENT_DOMAIN);
  return await IndexerStore.open(databaseOf(config, 'INDEXER'), rules, config.DB_QUERY_TIMEOUT / 1000);
}
