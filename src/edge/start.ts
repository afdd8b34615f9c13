import { Timeline } from '../../actors/runtime/supervision/timeline.ts';
import { placeOf } from '../config/service.ts';
import type { EdgeConfig } from '../config/services/edge.ts';
import { PlatformError } from '../errors.ts';
import { createSyncMetrics } from '../observe/metrics/sync/metrics.ts';
import type { RunningService, Start } from '../service/define.ts';
import { openService } from '../service/life/open-service.ts';
import { createApp } from '../sync/app.ts';
import { FanOut } from '../sync/fan-out/fan-out.ts';
import { NatsLink } from '../sync/relay/link.ts';
import { type BlockHashes, type DatabaseId, hashesOf } from '../wire/data/database.ts';
import { SNAPSHOT_HEADERS } from '../wire/data/snapshot.ts';
import type { StoredSnapshot } from '../wire/data/stored-snapshot.ts';
import { EdgeDirectory } from './directory.ts';
import { EdgeFeeds } from './feeds.ts';
import { Origin } from './origin.ts';
import { EdgeSnapshots } from './snapshots.ts';
import { ValuesReader } from './values.ts';

/** Messages that are kept for subscribers that come back, of each database. */
const WINDOW = { messages: 2_000, bytes: 256 * 2 ** 20 };
/** An edge builds no snapshots. */
const NO_BUILDS = { built: 0, failed: 0, shared: 0, running: 0, oldestBuildMs: 0 };

/** A running edge. */
interface Edge extends RunningService {
  /** The port it listens on. */
  readonly port: number;
}

/**
 * Composes an edge: the sync server's front door, fed by the streams in NATS.
 *
 * @returns when the front door listens; the databases follow when NATS has answered
 * @throws {PlatformError} PORT_IN_USE, CONFIG_INVALID
 */
export async function startEdge(config: EdgeConfig, { service, log }: Start): Promise<Edge> {
  const link = new NatsLink({
    urls: config.SYNC_NATS_URL ?? [],
    creds: config.SYNC_NATS_CREDS,
    token: config.SYNC_NATS_TOKEN,
    log
  });
  const fanOut = new FanOut({
    config,
    log,
    lastReport: (id) => directory.lastReport(id),
    hasOthers: true,
    window: WINDOW
  });
  const { SNAPSHOT_CACHE_DIR: cache, SNAPSHOT_CACHE_MAX_BYTES: maxBytes } = config;
  const snapshots = await EdgeSnapshots.open({ link, directory: cache, maxBytes, log });
  const feeds = new EdgeFeeds({ link, fanOut, onFork: (id, fork) => snapshots.invalidate(id, fork), log });
  const onSilence = (id: DatabaseId) => fanOut.tellStatus(id);
  const stoppedS = (id: DatabaseId) => feeds.of(id)?.stoppedS() ?? 0;
  const values = new ValuesReader({ link, ids: () => feeds.ids, snapshots, log, stoppedS, onSilence });
  const directory = new EdgeDirectory(feeds, values);
  const origin = new Origin(config.SYNC_ORIGIN_URL, config.SYNC_ORIGIN_KEY);
  const metrics = createSyncMetrics({
    mode: 'server',
    fanOut: () => fanOut.counts,
    snapshots: () => ({ ...NO_BUILDS, bytes: snapshots.bytes }),
    hubIsUp: () => null,
    waitingTasks: () => 0,
    freeBytes: async () => ({}),
    databases: () =>
      directory.views().map((actor) => ({
        actor,
        report: directory.lastReport(actor.id),
        subscribers: fanOut.subscribers(actor.id)
      }))
  });
  return openService({
    service,
    mode: 'server',
    config,
    log,
    metrics,
    place: { ...placeOf(config, 'EDGE'), exposure: 'everyone who reaches this port can read the databases' },
    open: (base) => ({
      app: createApp({
        ...base,
        config: {
          ...config,
          SYNC_MODE: 'server',
          SYNC_API_KEY: config.EDGE_API_KEY,
          SYNC_OPERATOR_KEY: config.EDGE_OPERATOR_KEY,
          SYNC_COMPATIBLE_CLIENTS: false,
          SYNC_SINCE_INCLUSIVE: false
        },
        log,
        sourceKey: null,
        artifacts: null,
        origin,
        stored: {
          find: (id, coding, tag) => {
            const feed = feeds.of(id);
            const height = feed?.position?.height;
            const isOnChain = (each: StoredSnapshot) => feed!.mayBe(each.height, hashesIn(id, each));
            return height === undefined ? null : snapshots.find(id, coding, height, tag, isOnChain);
          }
        },
        fanOut,
        directory,
        catalog: { read: () => directory.catalog() },
        actorsView: () => directory.views(),
        timeline: new Timeline(),
        control: { kill: refuse, restart: refuse, pause: refuse, verify: refuse, clearHalt: refuse }
      }),
      endWork: () => feeds.close(),
      closeRest: [() => values.close(), () => snapshots.close(), () => link.close(), () => origin.close()]
    })
  });
}

/** Returns the hashes of a snapshot's block, as its headers name them. */
function hashesIn({ dbType }: DatabaseId, { headers }: StoredSnapshot): BlockHashes {
  return hashesOf(dbType, {
    ledger_hash: headers[SNAPSHOT_HEADERS.ledgerHash],
    actions_hash: headers[SNAPSHOT_HEADERS.actionsHash],
    contract_hash: headers[SNAPSHOT_HEADERS.contractHash],
    block_hash: headers[SNAPSHOT_HEADERS.blockHash]
  });
}

/** Feeds are no threads: nobody ends them or starts them anew. */
async function refuse(_id: DatabaseId | object): Promise<never> {
  throw new PlatformError('WRONG_MODE', { reason: 'an edge has no actors' });
}
