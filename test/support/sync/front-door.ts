import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { Timeline } from '../../../actors/runtime/supervision/timeline.ts';
import { signingKey } from '../../../src/consensus/auth-signature.ts';
import { silentLogger } from '../../../src/log.ts';
import { createSyncMetrics } from '../../../src/observe/metrics/sync/metrics.ts';
import { ArtifactStore, type RunBuild } from '../../../src/replication/snapshot/artifact-store.ts';
import type { ConsoleFile } from '../../../src/service/routes/console-files.ts';
import { type ActorAsks, type AppDeps, createApp, type HttpConfig } from '../../../src/sync/app.ts';
import { FanOut, type FanOutOptions } from '../../../src/sync/fan-out/fan-out.ts';
import { type DatabaseId, databaseKey } from '../../../src/wire/data/database.ts';
import type { Catalog } from '../../../src/wire/log/catalog.ts';
import { actorKey } from '../../../src/wire/state/actor.ts';
import type { ActorView } from '../../../src/wire/state/actor-view.ts';
import type { DatabaseReport } from '../../../src/wire/state/report.ts';
import { atEnd } from '../cleanup.ts';

export const INDEXER: DatabaseId = { dbType: 'indexer', chain: 'bitcoin', network: 'regtest' };
export const DECODER: DatabaseId = { dbType: 'decoder', chain: 'bitcoin', network: 'regtest' };
export const INDEXER_HASHES = { ledger_hash: 'aa', actions_hash: 'bb', contract_hash: null };

export function reportOf(id: DatabaseId, changes: Partial<DatabaseReport> = {}): DatabaseReport {
  return {
    id,
    dbName: 'x',
    mode: 'server',
    phase: 'polling.caughtUp',
    circuit: 'closed',
    height: 7,
    blockTime: 1_700_000_000,
    hashes: id.dbType === 'indexer' ? INDEXER_HASHES : { block_hash: 'cc' },
    tip: 7,
    lagBlocks: 0,
    pollErrorCount: 0,
    lastError: null,
    schemaFingerprint: null,
    ...changes
  };
}

type Answers = Partial<Record<Parameters<ActorAsks['ask']>[0], (body: never) => unknown>>;

type Keys = 'SYNC_API_KEY' | 'SYNC_OPERATOR_KEY';

export interface FrontDoorOptions {
  /** Keys as the variables have them: several with commas between them. */
  readonly config?: Partial<Omit<HttpConfig, Keys> & FanOutOptions['config'] & Readonly<Record<Keys, string>>>;
  readonly reports?: readonly DatabaseReport[];
  readonly known?: readonly DatabaseId[];
  readonly discovered?: boolean;
  readonly answers?: Answers;
  readonly catalog?: Catalog;
  readonly runBuild?: RunBuild;
  readonly store?: Partial<Parameters<typeof ArtifactStore.open>[0]>;
  readonly clearHalt?: () => Promise<{ was: unknown }>;
  readonly timeline?: Timeline;
  readonly consoleFiles?: ReadonlyMap<string, ConsoleFile>;
  readonly actorsView?: () => readonly ActorView[];
  readonly waitsFor?: (id: DatabaseId) => string | null;
  /** Fan-out and directory of a feed; absent: the test feeds the front door. */
  readonly feed?: (config: FanOutOptions['config']) => Pick<AppDeps, 'fanOut' | 'directory'>;
}

/** An actor of which nothing is to be said. */
export function actorViewOf(id: DatabaseId): ActorView {
  const restarts = { inWindow: 0, budget: 10, total: 0, causes: [] };
  const state = { state: 'running', reason: null, generation: 1, machines: {}, waiting: null, beacon: null } as const;
  return { id, kind: 'source', ...state, restarts, transitions: [] };
}

export interface FrontDoor {
  readonly app: FastifyInstance;
  readonly fanOut: FanOut;
  readonly artifacts: ArtifactStore;
  readonly directory: string;
  /** Operator's acts, in order. */
  readonly acts: string[];
}

/** The real front door over actors that are a table of answers. Everything is closed after the test file. */
export async function openFrontDoor(options: FrontDoorOptions = {}): Promise<FrontDoor> {
  const directory = mkdtempSync(join(tmpdir(), 'platform-http-'));
  const config = {
    SYNC_MODE: 'server' as const,
    SYNC_COMPATIBLE_CLIENTS: false,
    SYNC_SINCE_INCLUSIVE: false,
    SNAPSHOT_RATE_FULL: 12,
    SNAPSHOT_RATE_INCR: 600,
    HTTP_MAX_PER_IP: 256,
    MAX_CONNECTIONS: 10_000,
    PUBLIC_HOSTS: undefined,
    TRUST_PROXY: undefined,
    CORS_ORIGINS: undefined,
    CONSOLE_SERVICES: undefined,
    CONSOLE_SERVICES_KEY: undefined,
    READY_MAX_LAG: 3,
    SHUTDOWN_GRACE_MS: 1_000,
    WS_MAX_PER_IP: 100,
    WS_MAX_MESSAGE_BYTES: 256 * 2 ** 20,
    WS_BACKPRESSURE_MAX_BYTES: 16 * 2 ** 20,
    WS_BACKPRESSURE_STALL_MS: 30_000,
    WS_STATUS_INTERVAL: 60_000,
    WS_PING_INTERVAL: 30_000,
    VALIDATOR_HEARTBEAT_TTL: 60_000,
    VALIDATOR_PUBKEYS: undefined,
    SYNC_PUBLIC_HOSTS: undefined,
    ...options.config,
    SYNC_API_KEY: options.config?.SYNC_API_KEY?.split(','),
    SYNC_OPERATOR_KEY: options.config?.SYNC_OPERATOR_KEY?.split(',')
  };
  const reports = new Map(
    (options.reports ?? [reportOf(INDEXER), reportOf(DECODER)]).map((r) => [databaseKey(r.id), r])
  );
  const known = options.known ?? [...reports.values()].map(({ id }) => id);
  const acts: string[] = [];
  const artifacts = await ArtifactStore.open({
    directory: join(directory, 'snapshots'),
    maxBytes: 2 ** 30,
    maxBuilds: 2,
    budgetMs: 60_000,
    runBuild: options.runBuild ?? (async () => Promise.reject(new Error('no tasks in this frontDoor'))),
    log: silentLogger,
    ...options.store
  });
  const fed = options.feed?.(config);
  const fanOut =
    fed?.fanOut ?? new FanOut({ config, log: silentLogger, lastReport: (id) => reports.get(databaseKey(id)) });
  const app = createApp({
    version: '0.0.0',
    config,
    log: silentLogger,
    sourceKey: config.SYNC_MODE === 'server' ? signingKey('5e'.repeat(32)) : null,
    artifacts,
    fanOut,
    catalog: { read: async () => options.catalog ?? { generated_at: '2026-01-02T03:04:05.000Z', databases: [] } },
    actorsView: options.actorsView ?? (() => known.map(actorViewOf)),
    timeline: options.timeline ?? new Timeline(),
    metrics: createSyncMetrics({
      mode: config.SYNC_MODE,
      fanOut: () => fanOut.counts,
      snapshots: () => artifacts.counts,
      hubIsUp: () => true,
      waitingTasks: () => 0,
      freeBytes: async () => ({ state: 1 }),
      databases: () =>
        known.map((id) => ({ actor: actorViewOf(id), report: reports.get(databaseKey(id)), subscribers: [] }))
    }),
    consoleFiles: options.consoleFiles ?? new Map(),
    control: {
      kill: async (id) => void acts.push(`kill ${actorKey(id)}`),
      restart: async (id) => void acts.push(`restart ${actorKey(id)}`),
      verify: async (id) => void acts.push(`verify ${databaseKey(id)}`),
      pause: async (id) => void acts.push(`pause ${actorKey(id)}`),
      clearHalt: options.clearHalt ?? (async () => ({ was: null }))
    },
    directory: fed?.directory ?? {
      discovered: options.discovered ?? true,
      list: () => known,
      isUp: (id) => reports.has(databaseKey(id)),
      waitsFor: options.waitsFor ?? (() => null),
      lastReport: (id) => reports.get(databaseKey(id)),
      lookup: () => ({
        ask: async (type: keyof Answers, body: unknown) => {
          const answer = options.answers?.[type];
          if (!answer) throw new Error(`nobody answers ${type} in this frontDoor`);
          return answer(body as never) as never;
        }
      })
    }
  });
  atEnd(async () => {
    await app.close();
    await artifacts.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return { app, fanOut, artifacts, directory: join(directory, 'snapshots'), acts };
}

/** Every route that the app answers, read from its router. */
export async function routesOf(app: FastifyInstance): Promise<{ readonly method: string; readonly path: string }[]> {
  await app.ready();
  const above: string[] = [];
  return [...app.printRoutes({ commonPrefix: false }).matchAll(/^([│ ]*)[├└]── (\S*)(?: \(([A-Z, ]+)\))?$/gm)].flatMap(
    ([, indent = '', part = '', methods]) => {
      const depth = indent.length / 4;
      above.splice(depth, above.length, part);
      return methods === undefined ? [] : methods.split(', ').map((method) => ({ method, path: above.join('') }));
    }
  );
}
