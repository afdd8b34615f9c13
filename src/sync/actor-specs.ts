import { actorEntry } from '../../actors/runtime/supervision/actor-handle.ts';
import type { ActorSpec } from '../../actors/runtime/supervision/supervisor.ts';
import { type SyncConfig, sourcesOf } from '../config/services/sync.ts';
import { PlatformError } from '../errors.ts';
import type { ValidatorIdentity } from '../replication/client/validator-identity.ts';
import type { ReplicaActorData, SourceActorData } from '../replication/protocol.ts';
import type { ResumePoint } from '../replication/source/reading/resume-point.ts';
import type { DatabaseCoordinates, DatabaseId } from '../wire/data/database.ts';
import { partOf } from './chain-settings.ts';

const DAY_MS = 24 * 3_600_000;

/** The supervisor adds these. */
type Started<T> = Omit<T, 'id' | 'generation'>;

/** Returns the address of a database: REPLICA_DB_* where it is set, else the hub's; a replica's name has the prefix. */
export function coordinatesOf(config: SyncConfig, fromHub: DatabaseCoordinates): DatabaseCoordinates {
  const tls = config.SYNC_DB_CA === undefined ? {} : { tls: { ca: config.SYNC_DB_CA } };
  if (!config.REPLICA_DB_HOST) return { ...fromHub, ...tls };
  const prefix = config.SYNC_MODE === 'client' ? config.REPLICA_DB_PREFIX : '';
  return {
    host: config.REPLICA_DB_HOST,
    port: config.REPLICA_DB_PORT,
    user: config.REPLICA_DB_USER ?? '',
    pass: config.REPLICA_DB_PASS ?? '',
    name: `${prefix}${fromHub.name}`,
    ...tls
  };
}

interface Lookups {
  /** Asked at each start, so that a successor goes to where the database is now. */
  readonly coordinates: (id: DatabaseId) => DatabaseCoordinates | undefined;
  readonly resume: (id: DatabaseId) => ResumePoint | null;
  /** PEM of SYNC_SOURCE_CA. */
  readonly sourceCa: string | undefined;
  /** Returns whether a replica is taken over when another client made it. */
  readonly adopts: (id: DatabaseId) => boolean;
  /** Key by which the sources of this process find changes; empty in client mode. */
  readonly finderKey: string;
  /** The identity that this process reports to its sources; null in server mode. */
  readonly validator: ValidatorIdentity | null;
}

/** Returns the actor of one database in this process's mode. */
export function actorSpec(id: DatabaseId, config: SyncConfig, lookups: Lookups): ActorSpec {
  const coordinates = (): DatabaseCoordinates => {
    const found = lookups.coordinates(id);
    if (!found) throw new PlatformError('DATABASE_UNKNOWN', { reason: 'the hub no longer names this database' });
    return found;
  };
  const resourceLimits = { maxOldGenerationSizeMb: config.ACTOR_MEMORY_MB };
  if (config.SYNC_MODE === 'server') {
    const workerData = (): Started<SourceActorData> => ({
      coordinates: coordinates(),
      resume: lookups.resume(id),
      finderKey: lookups.finderKey,
      readOnly: config.REPLICA_DB_READONLY,
      stateDirectory: config.SYNC_STATE_DIR,
      pollIntervalMs: config.BLOCK_POLL_INTERVAL,
      epochSize: config.MERKLE_EPOCH_SIZE,
      stateDomain: config.SYNC_STATE_ROOTS ? config.COMMITMENT_DOMAIN : null,
      localTables: config.SYNC_LOCAL_TABLES,
      binlog: config.SYNC_BINLOG,
      compatibleClients: config.SYNC_COMPATIBLE_CLIENTS,
      settleBudgetMs: config.SETTLE_BUDGET_MS,
      circuitFailures: config.CIRCUIT_FAILURES,
      circuitCooldownMs: config.CIRCUIT_COOLDOWN_MS,
      logLevel: config.LOG_LEVEL
    });
    return { id, kind: 'source', entry: actorEntry('source'), workerData, resourceLimits };
  }
  const workerData = (): Started<ReplicaActorData> => ({
    coordinates: coordinates(),
    sources: sourcesOf(config),
    verifyHashes: config.VERIFY_HASHES,
    verifyMaxAgeMs: config.VERIFY_MAX_AGE,
    checksIndexMap: config.INDEX_MAP_PARITY_CHECK,
    checkpoints: config.VERIFY_CHECKPOINT_QUORUM
      ? { interval: config.CHECKPOINT_VERIFY_INTERVAL, validators: config.PINNED_VALIDATORS ?? [] }
      : undefined,
    hashConfirmTimeoutMs: config.HASH_CONFIRM_TIMEOUT,
    sourceCa: lookups.sourceCa,
    ...partOf(id, config),
    validator: lookups.validator,
    maxRollbackDepth: config.MAX_ROLLBACK_DEPTH,
    goneTablesKeptMs: config.GONE_TABLES_KEEP * DAY_MS,
    adopts: lookups.adopts(id),
    epochSize: config.MERKLE_EPOCH_SIZE,
    stateDomain: config.VERIFY_STATE_COMMITMENT ? config.COMMITMENT_DOMAIN : null,
    reconnectDelayMs: config.CLIENT_RECONNECT_DELAY,
    localTables: config.SYNC_LOCAL_TABLES,
    maxRowBytes: config.MAX_ROW_BYTES,
    stateDirectory: config.SYNC_STATE_DIR,
    circuitFailures: config.CIRCUIT_FAILURES,
    circuitCooldownMs: config.CIRCUIT_COOLDOWN_MS,
    logLevel: config.LOG_LEVEL
  });
  return { id, kind: 'replica', entry: actorEntry('replica'), workerData, resourceLimits };
}
