import type { Server } from 'node:http';
import type { ExplorerActorData, ExplorerAsks } from '../../../actors/explorer/actor.ts';
import { databaseOf } from '../../config/database.ts';
import {
  type ExplorerConfig,
  exploredNetwork,
  explorerChecks,
  explorerVariables,
  httpsPlaceOf
} from '../../config/explorer.ts';
import { placeOf } from '../../config/service.ts';
import { createExplorerApp } from '../../explorer/app.ts';
import { explorerPipeline } from '../../explorer/pipeline.ts';
import { actorReportOf, type ExplorerReport } from '../../explorer/report.ts';
import type { Logger } from '../../log.ts';
import type { FrontDoor } from '../../service/ingress/listen.ts';
import { listenTls } from '../../service/ingress/listen-tls.ts';
import type { Command, Environment } from '../command.ts';
import { readOptions } from '../options.ts';
import { loadSettings } from '../settings.ts';
import { type RunningService, runService } from './run-service.ts';
import { startSupervised } from './supervised.ts';

/** `platform-node explorer`: answers from the ledger of a network, until a signal ends it. */
export const explorerCommand = {
  name: 'explorer',
  summary: 'answers for balances, tokens, actions and blocks from the ledger of an indexer',
  variables: explorerVariables,
  checks: explorerChecks,

  async run(argv: readonly string[], env: Environment): Promise<number> {
    readOptions(argv, {});
    const loaded = await loadSettings(explorerCommand, env);
    return await runService('explorer', loaded, startExplorer);
  }
} satisfies Command<typeof explorerVariables>;

/** Of a question, beside what the read itself may take. */
const PATIENCE_MS = 1_000;

/** Starts it, and HTTPS beside it where a certificate is set. */
async function startExplorer(config: ExplorerConfig, log: Logger): Promise<RunningService> {
  const https = httpsPlaceOf(config);
  let server: Server | undefined;
  const running = await startHttp(config, log, (app) => {
    server = app.server as Server;
  });
  if (!https) return running;
  try {
    const endTls = await listenTls(server!, https);
    log.info(`explorer listens on https://${https.host}:${https.port}`);
    const stop = async () => {
      endTls();
      await running.stop();
    };
    return { ...running, stop };
  } catch (caught) {
    await running.stop();
    throw caught;
  }
}

function startHttp(config: ExplorerConfig, log: Logger, onApp: (app: FrontDoor) => void): Promise<RunningService> {
  const network = exploredNetwork(config);
  const id = { kind: 'explorer', chain: network.chain, network: network.network } as const;
  const readLimitMs = config.DB_QUERY_TIMEOUT;
  const workerData: ExplorerActorData = {
    chain: network.chain,
    network: network.network,
    decoder: databaseOf(config, 'DECODER'),
    indexer: databaseOf(config, 'INDEXER'),
    readLimitMs,
    logLevel: config.LOG_LEVEL
  };
  return startSupervised<ExplorerReport, ExplorerAsks>({
    id,
    code: network.code,
    config,
    log,
    workerData,
    place: placeOf(config, 'EXPLORER'),
    reportOf: actorReportOf,
    pipeline: ({ report }) => explorerPipeline(id, report),
    createApp: ({ supervisor, view, ...parts }) => {
      const coin = {
        network,
        report: () => view().report,
        read: (question: ExplorerAsks['read']['request']) =>
          supervisor.handle(id).ask('read', question, { deadlineMs: readLimitMs + PATIENCE_MS })
      };
      const app = createExplorerApp({ ...parts, config, coins: () => [coin] });
      onApp(app);
      return app;
    }
  });
}
