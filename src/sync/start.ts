import { statfs } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { KeptPauses } from '../../actors/runtime/supervision/kept-pauses.ts';
import { TaskPool } from '../../actors/runtime/task-pool.ts';
import type { SyncTasks } from '../../workers/sync/tasks.ts';
import { hubsOf } from '../config/hub-client.ts';
import type { SyncConfig } from '../config/services/sync.ts';
import { connect } from '../db/connection.ts';
import { hasCode } from '../errors.ts';
import { createHubClient } from '../hub/client.ts';
import { KnownDatabases } from '../hub/known-databases.ts';
import type { Logger } from '../log.ts';
import { createSyncMetrics } from '../observe/metrics/sync/metrics.ts';
import { ArtifactStore } from '../replication/snapshot/artifact-store.ts';
import type { Start } from '../service/define.ts';
import { openService } from '../service/life/open-service.ts';
import { type DatabaseId, databaseKey } from '../wire/data/database.ts';
import { waitOf } from '../wire/state/condition.ts';
import { coordinatesOf } from './actor-specs.ts';
import { createActors } from './actors.ts';
import { createApp } from './app.ts';
import { CatalogCache } from './catalog.ts';
import { FanOut } from './fan-out/fan-out.ts';
import { openFinderKey } from './finder-key.ts';
import { followRoster } from './follow-roster.ts';
import { watchDatabases } from './hub-watch.ts';
import { openRelay } from './relay/open.ts';
import { takeSnapshot } from './relay-snapshot.ts';
import { ResumePointStore } from './resume-point-store.ts';
import { Roster } from './roster.ts';
import { readSourceCa } from './source-ca.ts';
import { openSourceKey } from './source-key.ts';
import { openStateDirectories } from './state-directories.ts';
import { openValidatorIdentity } from './validator-key.ts';

const HUB_TIMEOUT_MS = 10_000;
/** A source's feed reaches its tip within some polls; a snapshot is not held back for longer. */
const SETTLE_DEADLINE_MS = 10_000;
/** A source waits for its own broadcast before it answers. */
const MISSED_DEADLINE_MS = 15_000;

/** A running sync service. */
interface SyncService {
  /** The port it listens on. */
  readonly port: number;
  /** Fulfilled by `stop`; rejected by a fatal error: HUB_UNREACHABLE at start, an actor's error of policy `exit`. */
  readonly ended: Promise<void>;
  /** Stops actors between two groups, closes subscribers with 1012, finishes requests; bounded by SHUTDOWN_GRACE_MS. */
  stop(): Promise<void>;
}

/**
 * Composes one process: supervisor, task pool and front door, with one actor for each database that the hub names.
 *
 * Replicas of other clients that the option `adopt` names may be taken over.
 *
 * @returns when the front door listens; the first databases follow when the hub has answered
 * @throws {PlatformError} PORT_IN_USE, CONFIG_INVALID, STATE_UNUSABLE, STATE_LOCKED, DATABASE_REFUSED (REPLICA_DB_*), DISK_FULL
 */
export async function startSync(config: SyncConfig, { service, log, options }: Start): Promise<SyncService> {
  const adopted = new Set((options['adopt'] as readonly string[] | undefined) ?? []);
  const adopts = (id: DatabaseId) => adopted.has('all') || adopted.has(databaseKey(id));
  const directories = await openStateDirectories(config, log);
  await checkReplicaAccount(config, log);
  const sourceCa = await readSourceCa(config);
  const validator = config.SYNC_MODE === 'client' ? await openValidatorIdentity(config) : null;
  const finderKey = config.SYNC_MODE === 'server' ? await openFinderKey(config.SYNC_STATE_DIR) : '';
  const sourceKey = config.SYNC_MODE === 'server' ? await openSourceKey(config.SYNC_STATE_DIR) : null;
  if (validator) log.info({ validator: validator.id }, 'sources list this client under its validator id');

  const roster = new Roster();
  // Builds take minutes: they leave a thread to the tasks that take milliseconds.
  const tasks = new TaskPool<SyncTasks>({
    maxThreads: Math.max(availableParallelism(), config.MAX_CONCURRENT_SNAPSHOTS + 1)
  });
  let hubIsUp: boolean | null = null;
  const metrics = createSyncMetrics({
    mode: config.SYNC_MODE,
    fanOut: () => fanOut.counts,
    snapshots: () => artifacts.counts,
    hubIsUp: () => hubIsUp,
    waitingTasks: () => tasks.queueDepth,
    freeBytes: async () => ({
      state: await freeBytes(directories.state),
      snapshots: await freeBytes(directories.snapshots)
    }),
    databases: () =>
      supervisor.list().map((actor) => ({
        actor,
        report: reportOf(actor.id),
        subscribers: fanOut.subscribers(actor.id),
        stream: relay?.view(actor.id)
      }))
  });
  const broadcasts = await ResumePointStore.open(join(config.SYNC_STATE_DIR, 'broadcasts'), log);
  const whereIs = (id: DatabaseId) => {
    const found = roster.find(id);
    return found && coordinatesOf(config, found.coordinates);
  };
  const reportOf = (id: DatabaseId) =>
    directory.list().find((entry) => databaseKey(entry.id) === databaseKey(id))?.report;
  const catalog = new CatalogCache({
    cacheMs: config.CATALOG_CACHE_MS,
    log,
    list: () => roster.ids(),
    whereIs,
    lastReport: reportOf
  });
  const isRunning = (id: DatabaseId) =>
    supervisor.list().some((view) => view.state === 'running' && databaseKey(view.id) === databaseKey(id));
  const relay = openRelay(config, log, isRunning);
  const fanOut = new FanOut({ config, log, lastReport: reportOf, hasOthers: relay !== null });
  const { supervisor, directory, artifacts, ...opened } = await openService({
    service,
    mode: config.SYNC_MODE,
    config,
    log,
    metrics,
    place: {
      host: config.SYNC_API_HOST,
      port: config.SYNC_API_PORT,
      variables: { host: 'SYNC_API_HOST', port: 'SYNC_API_PORT', key: 'SYNC_API_KEY' },
      hasKey: config.SYNC_API_KEY !== undefined,
      exposure: 'everyone who reaches this port can read the databases'
    },
    open: async (base, fail) => {
      const artifacts = await ArtifactStore.open({
        directory: directories.snapshots,
        maxBytes: config.SNAPSHOT_CACHE_MAX_BYTES,
        maxBuilds: config.MAX_CONCURRENT_SNAPSHOTS,
        budgetMs: config.SNAPSHOT_BUILD_BUDGET_MS,
        runBuild: (input, options) => tasks.run('sync/build-snapshot', input, options),
        log,
        trace: base.trace,
        source: {
          missed: async ({ id, query: { since } }, head) => {
            const asked = { since: since!, ...head };
            return (await directory.lookup(id).ask('snapshot.missed', asked, { deadlineMs: MISSED_DEADLINE_MS }))
              .missed;
          },
          pauseGroups: async ({ id }, buildId, height) =>
            directory.lookup(id).ask('snapshot.pauseGroups', { buildId, height }, { deadlineMs: SETTLE_DEADLINE_MS }),
          reconcile: async ({ id }, buildId, checksums) =>
            directory.lookup(id).ask('snapshot.reconcile', { buildId, checksums }, { deadlineMs: SETTLE_DEADLINE_MS })
        }
      });
      const { supervisor, directory } = createActors({
        log,
        tasks: {
          'sync/balance-tops': (batch) => tasks.run('sync/balance-tops', batch),
          'sync/merkle-epochs': (epochs) => tasks.run('sync/merkle-epochs', epochs)
        },
        fanOut,
        broadcasts,
        relay,
        pauses: new KeptPauses(config.SYNC_STATE_DIR, log),
        whereIs,
        onFatal: fail,
        ...base.observers,
        trace: base.trace
      });
      const app = createApp({
        ...base,
        config,
        log,
        sourceKey,
        hubIsUp: () => hubIsUp,
        stateDirectory: config.SYNC_STATE_DIR,
        artifacts,
        fanOut,
        relay,
        catalog,
        actorsView: () => supervisor.list(),
        timeline: supervisor.timeline,
        control: {
          kill: (id) => supervisor.kill(id),
          restart: (id) => supervisor.restart(id, config.SHUTDOWN_GRACE_MS),
          pause: (id, by) => supervisor.pause(id, by, config.SHUTDOWN_GRACE_MS),
          verify: async (id) => void (await directory.lookup(id).ask('verify.request', {})),
          clearHalt: (id) => directory.lookup(id).ask('halt.clear', {})
        },
        directory: {
          get discovered() {
            return roster.discovered;
          },
          list: () => roster.ids(),
          lookup: (id) => directory.lookup(id),
          lastReport: reportOf,
          isUp: (id) => supervisor.state(id) === 'running',
          waitsFor: (id) => waitOf(supervisor.view(id))
        }
      });
      relay?.keepValues(async (url) => {
        const key = config.SYNC_API_KEY?.[0];
        const { statusCode, body } = await app.inject({ url, headers: key ? { authorization: `Bearer ${key}` } : {} });
        return statusCode === 200 ? body : null;
      });
      relay?.keepSnapshots(config.SYNC_RELAY_SNAPSHOT_BLOCKS, (id, coding) =>
        takeSnapshot(artifacts, directory, id, coding)
      );
      return {
        app,
        supervisor,
        directory,
        artifacts,
        endWork: (graceMs: number) => supervisor.stopAll(graceMs),
        closeRest: [artifacts, tasks, broadcasts, ...(relay ? [relay] : [])].map((part) => () => part.close())
      };
    }
  });

  const stopping = new AbortController();
  const hubs = hubsOf(config);
  const asked = { mode: config.SYNC_MODE, hubs: hubs.map(({ host, port: hubPort }) => `${host}:${hubPort}`) };
  const watching = watchDatabases({
    hub: createHubClient({
      hosts: hubs,
      apiKey: config.HUB_API_KEY,
      timeoutMs: HUB_TIMEOUT_MS
    }),
    needsCoordinates: !config.REPLICA_DB_HOST,
    memory: config.REPLICA_DB_HOST ? new KnownDatabases(config.SYNC_STATE_DIR, asked) : undefined,
    onAnswer: (answered) => {
      hubIsUp = answered;
    },
    repollMs: config.HUB_REPOLL_INTERVAL,
    maxWaitMs: config.MAX_HUB_WAIT_MS,
    log,
    signal: stopping.signal,
    onDatabases: (named) =>
      followRoster(named, {
        config,
        log,
        roster,
        supervisor,
        whereIs,
        resume: (id) => broadcasts.last(id),
        adopts,
        sourceCa,
        finderKey,
        validator
      })
  });
  watching.catch(opened.fail);

  return {
    port: opened.port,
    ended: opened.ended,
    async stop() {
      stopping.abort();
      await watching.catch(() => undefined); // `ended` has reported it already
      await opened.stop();
      directories.release();
    }
  };
}

async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/**
 * Checks the account of the replicas. One account serves all of them, so its refusal is final. The actors wait for a
 * MariaDB that is down.
 */
async function checkReplicaAccount(config: SyncConfig, log: Logger): Promise<void> {
  if (!config.REPLICA_DB_HOST) return;
  const {
    REPLICA_DB_HOST: host,
    REPLICA_DB_PORT: port,
    REPLICA_DB_USER: user = '',
    REPLICA_DB_PASS: pass = ''
  } = config;
  try {
    const connection = await connect({
      host,
      port,
      user,
      pass,
      ...(config.SYNC_DB_CA && { tls: { ca: config.SYNC_DB_CA } })
    });
    await connection.end();
  } catch (caught) {
    if (hasCode(caught, 'DATABASE_REFUSED')) throw caught;
    log.error({ err: caught }, `MariaDB at REPLICA_DB_HOST does not answer yet`);
  }
}
