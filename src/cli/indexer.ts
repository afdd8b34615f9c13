import type { IndexerActorData, IndexerAsks, IndexerNotices } from '../../actors/indexer/actor.ts';
import { actorEntry } from '../../actors/runtime/actor-handle.ts';
import { Supervisor } from '../../actors/runtime/supervisor.ts';
import { databaseOf } from '../config/database.ts';
import { type IndexerConfig, indexedNetwork, indexerChecks, indexerVariables } from '../config/indexer.ts';
import { createIndexerApp } from '../indexer/api/app.ts';
import { actorReportOf, type IndexerView } from '../indexer/api/health.ts';
import { indexerPipeline } from '../indexer/api/pipeline.ts';
import type { IndexerReport } from '../indexer/loop/loop.ts';
import { rulesOf } from '../indexer/rules/rules.ts';
import { IndexerStore } from '../indexer/store/store.ts';
import type { Logger } from '../log.ts';
import { createMetrics } from '../observe/metrics/metrics.ts';
import { openServiceBase } from '../service/base.ts';
import { listen } from '../service/ingress/listen.ts';
import type { ActorId } from '../wire/actor.ts';
import type { Command, Environment } from './command.ts';
import { readOptions } from './options.ts';
import { type RunningService, runService } from './run-service.ts';
import { loadSettings } from './settings.ts';

/** `platform-node indexer`: the actions of a decoder database into a ledger, until a signal ends it. */
export const indexerCommand = {
  name: 'indexer',
  summary: 'carries out the actions of a decoder database and writes the ledger',
  variables: indexerVariables,
  checks: indexerChecks,
  options: ['--clear-halt    let a halted indexer go on, and end'],

  async run(argv: readonly string[], env: Environment): Promise<number> {
    const options = readOptions(argv, { 'clear-halt': { type: 'boolean' } });
    const loaded = await loadSettings(indexerCommand, env);
    if (options['clear-halt']) return await clearHalt(loaded.values);
    return await runService('indexer', loaded, startIndexer);
  }
} satisfies Command<typeof indexerVariables>;

const ANSWER_LIMIT_MS = 5_000;

/**
 * Starts the front door, then the loop in a thread of its own.
 *
 * @throws {PlatformError} PORT_IN_USE, CONFIG_INVALID
 */
async function startIndexer(config: IndexerConfig, log: Logger): Promise<RunningService> {
  const network = indexedNetwork(config);
  const id: ActorId = { kind: 'indexer', chain: network.chain, network: network.network };
  const fatal = Promise.withResolvers<void>();
  let lastReport: IndexerReport | null = null;
  const reportNow = () => (lastReport ? actorReportOf(lastReport) : undefined);
  const metrics = createMetrics({
    service: 'indexer',
    actors: () => supervisor.list().map((actor) => ({ actor, report: reportNow() }))
  });
  const base = await openServiceBase('indexer', config.OTEL_EXPORTER_OTLP_ENDPOINT, metrics);
  const supervisor = new Supervisor<IndexerAsks, Record<never, never>, IndexerNotices, ActorId>({
    log,
    handlers: {},
    ...base.observers,
    listeners: { report: (report) => keepReport(report) },
    onFatal: fatal.reject
  });
  const keepReport = (report: IndexerReport) => {
    const before = lastReport?.lastIndexedBlock ?? null;
    const height = report.lastIndexedBlock;
    lastReport = report;
    if (before === null || height === null || height <= before) return;
    supervisor.timeline.add(id, { kind: 'blocks', at: Date.now(), direction: 'in', first: before + 1, last: height });
  };
  const view = (): IndexerView => {
    const [actor] = supervisor.list();
    return {
      report: actor?.state === 'running' ? lastReport : null,
      crash: actor?.state === 'starting' ? null : (actor?.reason?.message ?? null)
    };
  };
  const app = createIndexerApp({
    ...base,
    config,
    log,
    view,
    network,
    findAction: (actionIndex) =>
      supervisor.handle(id).ask('findAction', { actionIndex }, { deadlineMs: ANSWER_LIMIT_MS }),
    serves: (asked) => asked.toUpperCase() === network.code,
    actors: {
      list: () => supervisor.list(),
      timeline: supervisor.timeline,
      control: supervisor,
      describe: () => ({ report: reportNow() ?? null }),
      pipeline: () => indexerPipeline(id, view())
    }
  });
  await listen(app, {
    service: 'indexer',
    host: config.INDEXER_API_HOST,
    port: config.INDEXER_API_PORT,
    variables: { host: 'INDEXER_API_HOST', port: 'INDEXER_API_PORT', key: 'INDEXER_API_KEY' },
    hasKey: config.INDEXER_API_KEY !== undefined,
    log
  });
  const workerData: IndexerActorData = {
    chain: network.chain,
    network: network.network,
    profile: config.PLATFORM_PROFILE,
    commitmentDomain: config.COMMITMENT_DOMAIN,
    decoder: databaseOf(config, 'DECODER'),
    indexer: databaseOf(config, 'INDEXER'),
    pollIntervalMs: config.INDEXER_POLL_INTERVAL,
    queryTimeoutMs: config.DB_QUERY_TIMEOUT,
    blockLimitMs: config.INDEXER_BLOCK_TIMEOUT,
    logLevel: config.LOG_LEVEL
  };
  supervisor.start({ id, kind: 'indexer', entry: actorEntry('indexer'), workerData });
  return {
    ended: fatal.promise,
    stop: async () => {
      await supervisor.stopAll(config.SHUTDOWN_GRACE_MS);
      await app.close();
      await base.close();
    }
  };
}

async function clearHalt(config: IndexerConfig): Promise<number> {
  const rules = rulesOf(config.PLATFORM_PROFILE, indexedNetwork(config), config.COMMITMENT_DOMAIN);
  const store = await IndexerStore.open(databaseOf(config, 'INDEXER'), rules, config.DB_QUERY_TIMEOUT / 1000);
  try {
    const halt = await store.clearHalt();
    console.log(halt ? `cleared: ${halt.reason}` : 'no halt stands');
    return 0;
  } finally {
    store.close();
  }
}
