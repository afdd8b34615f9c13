import type { TaskAsks } from '../../actors/runtime/tasks.ts';
import type { SyncTasks } from '../../workers/sync/tasks.ts';
import type { PinnedValidator } from '../consensus/quorum.ts';
import type { Broadcast } from '../wire/data/broadcast.ts';
import type { BlockHashes, DatabaseCoordinates, DatabaseId } from '../wire/data/database.ts';
import type { DigestPart, DigestQuery } from '../wire/data/digest.ts';
import type { IndexMapDigest } from '../wire/data/index-map.ts';
import type { MissedChanges, SnapshotCoding, SnapshotOrder, SnapshotQuery } from '../wire/data/snapshot.ts';
import type { Checkpoint } from '../wire/log/checkpoint.ts';
import type {
  EpochPage,
  EpochRoot,
  InclusionProofRecord,
  NoEpoch,
  OpenEpoch,
  TransparencyPage
} from '../wire/log/transparency.ts';
import type { BinlogMode, DatabaseReport } from '../wire/state/report.ts';
import type { ValidatorIdentity } from './client/validator-identity.ts';
import type { ResumePoint, ResumeStep } from './source/reading/resume-point.ts';
import type { SnapshotChecksums } from './source/reading/snapshot-checksums.ts';

/** Start data of a source actor's thread. */
export interface SourceActorData {
  readonly id: DatabaseId;
  /** Counts the starts of this actor; in every statement's tag. */
  readonly generation: number;
  readonly coordinates: DatabaseCoordinates;
  /** End of the predecessor's broadcasts; null: start at the tip. */
  readonly resume: ResumePoint | null;
  /** 32 hex digits, secret: what a source finds changes by. */
  readonly finderKey: string;
  /** REPLICA_DB_READONLY=1: no write is even attempted. */
  readonly readOnly: boolean;
  /** Directory for the record of rewritten epochs. */
  readonly stateDirectory: string;
  readonly pollIntervalMs: number;
  readonly epochSize: number;
  /** Domain tag of the state roots that are computed where the tables have none; null: none are computed. */
  readonly stateDomain: string | null;
  readonly localTables: readonly string[];
  /** Whether changes are read from the server's binary log. */
  readonly binlog: BinlogMode;
  /** Whether subscribers keep balances themselves, and insert what `data` has without a look at what is there. */
  readonly compatibleClients: boolean;
  /** Milliseconds after a block for which changes that its message did not bring are searched for at full speed. */
  readonly settleBudgetMs: number;
  readonly circuitFailures: number;
  readonly circuitCooldownMs: number;
  readonly logLevel: string;
}

/** Start data of a replica actor's thread. */
export interface ReplicaActorData {
  readonly id: DatabaseId;
  readonly generation: number;
  /** The replica; `name` is the source's name behind REPLICA_DB_PREFIX. */
  readonly coordinates: DatabaseCoordinates;
  readonly sources: readonly { readonly url: string; readonly apiKey: string | undefined }[];
  /** A comparison counts for so long, in milliseconds; absent: without end. */
  readonly verifyMaxAgeMs?: number;
  /** PEM of further authorities for certificates of the sources. */
  readonly sourceCa?: string | undefined;
  /** An empty replica begins so many blocks below the source's tip; null: with the first block. */
  readonly bootstrapDepth?: number | null;
  /** The replica keeps the ten tables of an infra-only subscription and no others. */
  readonly infraOnly?: boolean;
  /** Each block is compared with what the other sources say of it. */
  readonly verifyHashes: boolean;
  /** Time for asking sources that disagree again, in milliseconds. */
  readonly hashConfirmTimeoutMs: number;
  /** Identity under which this process sends heartbeats to its sources; without it, it sends none. */
  readonly validator?: ValidatorIdentity | null;
  /** INDEX_MAP_PARITY_CHECK. */
  readonly checksIndexMap?: boolean;
  /** VERIFY_CHECKPOINT_QUORUM: whose signatures count, and after how many blocks sources are asked. */
  readonly checkpoints?: { readonly interval: number; readonly validators: readonly PinnedValidator[] } | undefined;
  readonly maxRollbackDepth: number;
  /** Milliseconds for which tables that went are kept; default: for ever. */
  readonly goneTablesKeptMs?: number;
  /** A database that another client made is taken over, if it stands in the source's chain. */
  readonly adopts?: boolean;
  readonly epochSize: number;
  /** Domain tag of the state roots that are compared with the source's; null: they are not compared. */
  readonly stateDomain: string | null;
  readonly reconnectDelayMs: number;
  /** Pause between two looks at a decoder's dispensers; default: half an hour. */
  readonly dispensersIntervalMs?: number;
  readonly localTables: readonly string[];
  readonly maxRowBytes: number;
  readonly stateDirectory: string;
  readonly circuitFailures: number;
  readonly circuitCooldownMs: number;
  readonly logLevel: string;
}

/** Asks of the main thread to a source actor. */
export type SourceAsks = {
  /** The body of `GET /schema`, as JSON text; null when `known` is its fingerprint. */
  'schema.read': { request: { known?: string }; reply: { body: string | null; fingerprint: string } };
  /** Returns the order of a snapshot that would be built now. @throws BLOCKS_EMPTY, BLOCKS_CAUGHT_UP */
  'snapshot.describe': { request: { query: SnapshotQuery }; reply: SnapshotOrder };
  /**
   * Returns the changes of older rows that a reader at `since` has missed up to a block, and waits for that block; null: not known.
   */
  'snapshot.missed': {
    request: { since: number; height: number; hashes: BlockHashes };
    reply: { missed: MissedChanges | null };
  };
  /** A snapshot is about to be complete: answered when no group will begin before its state is reconciled. */
  'snapshot.pauseGroups': { request: { buildId: string; height: number }; reply: Record<string, never> };
  /** The state of a snapshot; null when it could not be read. Answered when it is reckoned with. */
  'snapshot.reconcile': {
    request: { buildId: string; checksums: SnapshotChecksums | null };
    reply: Record<string, never>;
  };
  /** The body of `GET /digest`, as JSON text. @throws BLOCKS_EMPTY, REQUEST_INVALID, RANGE_TOO_LARGE, DIGEST_KEY_UNKNOWN */
  'digest.read': { request: { query: DigestQuery }; reply: { body: string } };
  /** The body of `GET /digest/…/challenge/KEY`, as JSON text. @throws BLOCKS_EMPTY, RATE_LIMITED */
  'digest.challenge': { request: { key: string }; reply: { body: string } };
  /** The body of `GET /digest/…/key`, as JSON text, once a pass under the key has begun. @throws BLOCKS_EMPTY */
  'digest.key': { request: { part: DigestPart }; reply: { body: string } };
  /** The body of `GET /snapshot-rows`, as JSON in that coding, or as it is. @throws REQUEST_INVALID */
  'lookups.page': {
    request: { table: string; afterId: number | string | null; limit: number; coding: SnapshotCoding | null };
    reply: { body: Uint8Array<ArrayBuffer>; maxId: number | string | null; hasMore: boolean };
  };
  /** The body of `GET /snapshot-dispensers`, and the tip in the same snapshot. @throws RECORD_UNKNOWN, RANGE_TOO_LARGE */
  'dispensers.read': {
    request: { coding: SnapshotCoding | null };
    reply: { body: Uint8Array<ArrayBuffer>; height: number | null };
  };
  /** null: the latest. @throws RECORD_UNKNOWN */
  'checkpoint.read': { request: { height: number | null }; reply: Checkpoint };
  'index-map.read': { request: Record<string, never>; reply: IndexMapDigest | null };
  'transparency.roots': { request: { page: number; limit: number }; reply: TransparencyPage };
  /** @throws LEAF_UNKNOWN */
  'transparency.proof': { request: { blockIndex: number }; reply: InclusionProofRecord | OpenEpoch };
  'transparency.epochs': { request: { page: number; limit: number }; reply: EpochPage };
  'transparency.latest': { request: Record<string, never>; reply: EpochRoot | NoEpoch };
};

/** Asks of the main thread to a replica actor. */
export type ReplicaAsks = {
  'transparency.roots': SourceAsks['transparency.roots'];
  /** A comparison with the source as soon as the replica is at rest. */
  'verify.request': { request: Record<string, never>; reply: Record<string, never> };
  'halt.clear': { request: Record<string, never>; reply: { was: unknown } };
};

/** The tasks that actors have run on the pool. */
export type ActorTasks = TaskAsks<Pick<SyncTasks, 'sync/balance-tops' | 'sync/merkle-epochs'>>;

/** Asks of any actor to the main thread. */
export type MainAsks = ActorTasks & {
  /** Keeps where a successor continues, durable when answered; nothing is sent. */
  'resume.keep': { request: { resume: ResumePoint | ResumeStep }; reply: Record<string, never> };
  /**
   * Hands messages to the fan-out, in order; the reply says that they are accepted and the resume point is kept, and whether some
   * subscribers take no amendments.
   */
  broadcast: {
    /** `readSince`: when the reading of its blocks began, Unix milliseconds. */
    request: { messages: Broadcast[]; resume: ResumePoint | ResumeStep; readSince?: number | undefined };
    reply: { plain?: boolean };
  };
};

/** Notices to the main thread, beside those that every actor sends (beacon, transition, waiting). */
export type ActorNotices = { report: DatabaseReport };
