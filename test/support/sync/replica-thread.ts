import type { ResourceLimits } from 'node:worker_threads';
import { ActorHandle, actorEntry } from '../../../actors/runtime/supervision/actor-handle.ts';
import type { ActorNotices, MainAsks, ReplicaActorData, ReplicaAsks } from '../../../src/replication/protocol.ts';
import type { DatabaseCoordinates, DbType } from '../../../src/wire/data/database.ts';
import type { DatabaseReport } from '../../../src/wire/state/report.ts';
import balanceTops from '../../../workers/sync/balance-tops.ts';
import merkleEpochs from '../../../workers/sync/merkle-epochs.ts';
import { atEnd } from '../cleanup.ts';
import { UNHEARD } from '../unheard.ts';
import { PAIR_KEY } from './sync-pair.ts';
import { eventually, temporaryDirectory } from './sync-process.ts';

/** A real replica actor in its thread, and what it last said. */
export class ReplicaThread {
  readonly handle: ActorHandle<ReplicaAsks, MainAsks, ActorNotices>;
  report: DatabaseReport | undefined;

  constructor(
    to: DatabaseCoordinates,
    dbType: DbType,
    sources: readonly string[],
    options: Partial<ReplicaActorData> = {},
    resourceLimits: ResourceLimits = {}
  ) {
    const workerData: ReplicaActorData = {
      id: { dbType, chain: 'litecoin', network: 'regtest' },
      generation: 1,
      coordinates: to,
      sources: sources.map((url) => ({ url, apiKey: PAIR_KEY })),
      verifyHashes: true,
      hashConfirmTimeoutMs: 1_000,
      maxRollbackDepth: 100,
      epochSize: 100,
      stateDomain: null,
      reconnectDelayMs: 100,
      localTables: [],
      maxRowBytes: 2 ** 20,
      stateDirectory: temporaryDirectory('replica-state'),
      circuitFailures: 5,
      circuitCooldownMs: 100,
      logLevel: process.env['REPLICA_LOG'] ?? 'silent',
      ...options
    };
    this.handle = new ActorHandle<ReplicaAsks, MainAsks, ActorNotices>({
      entry: actorEntry('replica'),
      name: `test ${to.name}`,
      workerData,
      resourceLimits,
      mailboxLimit: 64,
      onFault: () => undefined,
      listeners: {
        ...UNHEARD,
        report: (report) => {
          this.report = report;
        }
      },
      handlers: {
        'sync/balance-tops': balanceTops,
        'sync/merkle-epochs': merkleEpochs,
        'resume.keep': () => ({}),
        broadcast: () => ({})
      }
    });
    atEnd(() => this.handle.terminate());
  }

  /** Returns its report of a source. */
  source(url: string) {
    return this.report?.replica?.sources.find((source) => source.url === url);
  }

  /** Fulfilled when it is live at this block. */
  async isLiveAt(height: number): Promise<void> {
    await this.until(`live at block ${height}`, ({ phase, height: at }) => phase === 'live' && at === height);
  }

  async until(what: string, holds: (report: DatabaseReport) => boolean): Promise<void> {
    await eventually(what, async () => this.report !== undefined && holds(this.report)).catch((fault: Error) => {
      throw new Error(`${fault.message}; it said ${JSON.stringify(this.report)}`);
    });
  }

  async end(): Promise<void> {
    await this.handle.ask('stop', { graceMs: 5_000 }).catch(() => undefined);
    await this.handle.terminate();
  }
}
