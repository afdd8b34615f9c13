import type { Server } from 'node:http';
import type { ExplorerAsks } from '../../actors/explorer/actor.ts';
import { readNetwork } from '../coin/find-network.ts';
import { hubsOf } from '../config/hub-client.ts';
import type { Sources } from '../config/load.ts';
import { placeOf } from '../config/service.ts';
import { type ExplorerConfig, httpsPlaceOf } from '../config/services/explorer.ts';
import { HUB_TIMEOUT_MS } from '../discovery/settings.ts';
import { createHubClient } from '../hub/client.ts';
import { warnOfChanges, watchHub } from '../hub/hub-watch.ts';
import type { Logger } from '../log.ts';
import type { RunningService, Start } from '../service/define.ts';
import type { HttpApp } from '../service/ingress/listen.ts';
import { listenTls } from '../service/ingress/listen-tls.ts';
import { openSupervised } from '../service/life/supervised.ts';
import { createExplorerApp } from './app.ts';
import { explorerPipeline } from './pipeline.ts';
import { actorReportOf, type ExplorerReport } from './report.ts';
import { cursorSecretOf } from './start/cursor-secret.ts';
import { replicasOf } from './start/database-pairs.ts';
import { exploredNetworks, indexerPlaceOf, needsHub } from './start/explored-networks.ts';
import { reportOf, ServedCoins } from './start/served-coins.ts';

/** Starts the explorer, and HTTPS when a certificate is set. @throws {PlatformError} PORT_IN_USE, CONFIG_INVALID */
export async function startExplorer(config: ExplorerConfig, start: Start): Promise<RunningService> {
  const https = httpsPlaceOf(config);
  const { log } = start;
  let server: Server | undefined;
  const running = await startHttp(config, start, (app) => {
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

async function startHttp(
  config: ExplorerConfig,
  { service, log, local }: Start,
  onApp: (app: HttpApp) => void
): Promise<RunningService> {
  let coins: ServedCoins | undefined;
  const cursorSecret = await cursorSecretOf(config, log);
  let hubAnsweredAt: number | undefined;
  const hubAgeS = () => (hubAnsweredAt === undefined ? null : Math.floor((performance.now() - hubAnsweredAt) / 1000));
  const opened = await openSupervised<ExplorerReport, ExplorerAsks>({
    service,
    config,
    log,
    place: placeOf(config, 'EXPLORER'),
    reportOf: actorReportOf,
    isProof: true,
    serves: (code) => coins?.list().some(({ network }) => network.code === code.toUpperCase()) ?? false,
    pipeline: (id, view) => explorerPipeline(id, reportOf(view)),
    createApp: (parts) => {
      const app = createExplorerApp({ ...parts, config, coins: () => coins?.list() ?? [], hubAgeS });
      onApp(app);
      return app;
    }
  });
  coins = new ServedCoins({
    loops: opened,
    log,
    readLimitMs: config.DB_QUERY_TIMEOUT,
    cursorSecret,
    graceMs: config.SHUTDOWN_GRACE_MS,
    logLevel: config.LOG_LEVEL
  });
  const only = config.NETWORK === undefined ? undefined : readNetwork(config.NETWORK);
  if (only) await coins.serve([{ network: only, replicas: replicasOf(config), api: indexerPlaceOf(config, local) }]);
  if (hubsOf(config).length === 0 || !needsHub(local)) return opened;
  const onAnswer = () => {
    hubAnsweredAt = performance.now();
  };
  return followHub(opened, coins, { config, log, local, only, onAnswer });
}

interface Following {
  readonly config: ExplorerConfig;
  readonly log: Logger;
  readonly local: Sources;
  readonly only: ReturnType<typeof readNetwork> | undefined;
  /** Called whenever the hub answers. */
  readonly onAnswer: () => void;
}

/** Serves the databases that the hub names, and follows changes. */
function followHub(
  opened: RunningService & { readonly ended: Promise<void> },
  coins: ServedCoins,
  { config, log, local, only, onAnswer }: Following
): RunningService {
  const stopping = new AbortController();
  const warn = warnOfChanges(log);
  const hub = createHubClient({ hosts: hubsOf(config), apiKey: config.HUB_API_KEY, timeoutMs: HUB_TIMEOUT_MS });
  const watching = watchHub({
    hub,
    log,
    signal: stopping.signal,
    repollMs: config.HUB_REPOLL_INTERVAL,
    // With NETWORK set it serves already; otherwise it has nothing to serve before the first answer.
    maxWaitMs: only ? Number.POSITIVE_INFINITY : config.MAX_HUB_WAIT_MS,
    onAnswer: (answered) => void (answered && onAnswer()),
    namesOf: (configs) => {
      const { networks, incomplete } = exploredNetworks(configs, local, only);
      return new Set([...networks.map(({ network }) => network.name), ...incomplete.map(({ name }) => name)]);
    },
    onConfigs: async (configs) => {
      const { networks, incomplete, problems } = exploredNetworks(configs, local, only);
      const nothing = networks.length + incomplete.length === 0;
      warn(nothing ? ['the hub does not name the databases of any indexer and decoder'] : problems);
      await coins.serve(networks, incomplete);
    }
  });
  return {
    ended: Promise.race([opened.ended, watching]).then(() => undefined),
    stop: async () => {
      stopping.abort();
      await watching.catch(() => undefined); // `ended` has reported it already
      await opened.stop();
    }
  };
}
