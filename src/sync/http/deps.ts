import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import type { SyncConfig } from '../../config/services/sync.ts';
import type { SigningKey } from '../../consensus/auth-signature.ts';
import type { Logger } from '../../log.ts';
import type { RequestMetrics } from '../../observe/metrics/metrics.ts';
import type { ReplicaAsks, SourceAsks } from '../../replication/protocol.ts';
import type { Artifact, ArtifactStore } from '../../replication/snapshot/artifact-store.ts';
import type { ConsoleFile } from '../../service/routes/console-files.ts';
import type { ActorControl } from '../../service/routes/debug.ts';
import type { DatabaseId } from '../../wire/data/database.ts';
import type { SnapshotCoding } from '../../wire/data/snapshot.ts';
import type { Catalog } from '../../wire/log/catalog.ts';
import type { ActorView } from '../../wire/state/actor-view.ts';
import type { DatabaseReport } from '../../wire/state/report.ts';
import type { TimelineReader } from '../../wire/state/timeline.ts';
import type { FanOut } from '../fan-out/fan-out.ts';
import type { PublisherView } from '../relay/publisher.ts';

/** The part of the configuration that the front door reads. */
export type HttpConfig = Pick<
  SyncConfig,
  | 'SYNC_MODE'
  | 'SYNC_API_KEY'
  | 'SYNC_OPERATOR_KEY'
  | 'SYNC_COMPATIBLE_CLIENTS'
  | 'SYNC_SINCE_INCLUSIVE'
  | 'SNAPSHOT_RATE_FULL'
  | 'SNAPSHOT_RATE_INCR'
  | 'HTTP_MAX_PER_IP'
  | 'WS_MAX_PER_IP'
  | 'MAX_CONNECTIONS'
  | 'TRUST_PROXY'
  | 'PUBLIC_HOSTS'
  | 'CONSOLE_SERVICES'
  | 'CONSOLE_SERVICES_KEY'
  | 'CORS_ORIGINS'
  | 'READY_MAX_LAG'
  | 'SHUTDOWN_GRACE_MS'
>;

/** Requests that routes send to an actor: to a source in server mode, to a replica in client mode. */
type Asks = SourceAsks & Pick<ReplicaAsks, 'transparency.roots'>;

export interface ActorAsks {
  ask<K extends keyof Asks>(
    type: K,
    body: Asks[K]['request'],
    options?: { readonly deadlineMs?: number }
  ): Promise<Asks[K]['reply']>;
}

/** The one thing routes know about actors: which there are, how to ask one, and what it last reported. */
export interface ActorDirectory {
  /** False until the hub has answered once: an unknown database is then 503, not 404. */
  readonly discovered: boolean;
  list(): readonly DatabaseId[];
  /** @throws {PlatformError} DATABASE_UNKNOWN, ACTOR_NOT_READY */
  lookup(id: DatabaseId): ActorAsks;
  /** Undefined before the first. A dead actor's last report stays. */
  lastReport(id: DatabaseId): DatabaseReport | undefined;
  /** False while the actor's thread is down. */
  isUp(id: DatabaseId): boolean;
  /** Returns what its actor waits for, or the error that stopped it; null while it works. */
  waitsFor(id: DatabaseId): string | null;
}

/** Actions that an operator may apply to a sync actor. */
export interface SyncActorControl extends ActorControl {
  /** Client mode: compares the replica with its source as soon as it is at rest. */
  verify(id: DatabaseId): Promise<void>;
  /** Client mode: ends a durable halt. @returns what was cleared; null when the replica was not halted */
  clearHalt(id: DatabaseId): Promise<{ readonly was: unknown }>;
}

/** Another server, to which requests are passed on. */
interface OriginAnswers {
  /** Answers a request with the other server's answer. @throws {PlatformError} what keeps it from that */
  answer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
  /** Returns the identity that the other server signs a challenge with, where it has one. @throws {PlatformError} as `answer` */
  identify(id: DatabaseId, challenge: string): Promise<unknown>;
}

/** Full snapshots that another server has built. */
interface StoredSnapshots {
  /** Finds the newest one, or that with the entity tag; null when there is none. */
  find(id: DatabaseId, coding: SnapshotCoding, tag?: string): Artifact | null;
}

/** Everything the front door is handed. */
export interface AppDeps {
  /** Directory of the audit log; without it the log ends with the process. */
  readonly stateDirectory?: string | null;
  /** Whether the hub answered when it was asked last; null before the first request. */
  readonly hubIsUp?: () => boolean | null;
  /** Registered before everything else: it sees each request. */
  readonly tracing?: FastifyPluginCallback | undefined;
  /** Version of this program, for the documentation. */
  readonly version: string;
  readonly config: HttpConfig;
  readonly log: Logger;
  readonly directory: ActorDirectory;
  /** Signs that this server is one and the same under all its names; null in client mode. */
  readonly sourceKey: SigningKey | null;
  /** Null where `origin` answers. */
  readonly artifacts: ArtifactStore | null;
  /** Answers what only a database can tell; absent: the actors do. */
  readonly origin?: OriginAnswers;
  /** Full snapshots that another server has built; absent: there are none. */
  readonly stored?: StoredSnapshots;
  readonly fanOut: FanOut;
  /** State of the databases' streams; null or absent: none is published. */
  readonly relay?: { view(id: DatabaseId): PublisherView | undefined } | null;
  /** Body of `GET /catalog`; answers though a database does not. */
  readonly catalog: { read(): Promise<Catalog> };
  /** Body of `GET /debug/actors`. */
  readonly actorsView: () => readonly ActorView[];
  /** Events of the actors, for `GET /debug/live`. */
  readonly timeline: TimelineReader;
  /** The console page's built files; empty where there are none. */
  readonly consoleFiles: ReadonlyMap<string, ConsoleFile>;
  readonly control: SyncActorControl;
  readonly metrics: RequestMetrics;
}
