import Type, { type Static } from 'typebox';
import {
  type ChainReport,
  type ChainView,
  isNodeUnfit,
  isSynced,
  knownLagOf,
  toldStaleness
} from '../follower/report.ts';
import type { BlockRef } from '../follower/work.ts';
import { OrNull } from '../wire/or-null.ts';
import { AlarmSchema, isOfStatement, toldAlarm } from '../wire/state/alarm.ts';
import { StalenessSchema } from '../wire/state/staleness.ts';
import type { FirstSyncProgress } from './first-sync/first-sync.ts';
import { type MempoolCoins, MOST_COINS, MOST_TRANSACTIONS } from './mempool-coins.ts';

/** The loop's report of its state. */
export interface TrackerReport extends ChainReport {
  readonly mempool: MempoolReport;
  /** Reorgs since the start. */
  readonly reorgs: number;
  /** Blocks that the last reorg removed. */
  readonly lastReorgDepth: number;
  /** Null when no first sync is under way. */
  readonly firstSync: FirstSyncProgress | null;
}

/** State of the tracker's view of the mempool. */
interface MempoolReport {
  /** Monotonic time at which the whole mempool was last known; null when it never was, or does not fit. */
  readonly knownAt: number | null;
  /** Milliseconds for which that counts. */
  readonly patienceMs: number;
  /** Number of transactions that were read. */
  readonly size: number;
  /** Number of transactions that cannot be read and are skipped. */
  readonly oddCount: number;
  /** Whether it does not fit. */
  readonly isTooLarge: boolean;
}

/** Returns the state of the mempool's coins. @param intervalMs pause between two looks at the mempool */
export function mempoolReport(coins: MempoolCoins, intervalMs: number): MempoolReport {
  const { knownAt, size, oddCount, isTooLarge } = coins;
  return { knownAt, patienceMs: intervalMs + coins.patienceMs, size, oddCount, isTooLarge };
}

/** State of the loop as other threads know it. */
export type TrackerView = ChainView<TrackerReport>;

const HeightOrNull = OrNull(Type.Integer());

/** Result of `get_sync_status`. */
export const SyncStatusSchema = Type.Object({
  committed_height: HeightOrNull,
  committed_hash: OrNull(Type.String(), { description: 'of the block at committed_height' }),
  tracker_height: HeightOrNull,
  node_height: HeightOrNull,
  lag: HeightOrNull,
  synced: Type.Boolean({ description: 'caught up, to within 3 blocks' }),
  mempool_ready: Type.Boolean({ description: 'the whole mempool was read recently' }),
  mempool_too_large: Type.Optional(
    Type.Literal(true, {
      description: `more than ${MOST_TRANSACTIONS} transactions, or ${MOST_COINS} inputs and outputs: the rest is not read`
    })
  ),
  mempool_age_s: HeightOrNull,
  mempool_size: Type.Integer({ description: 'transactions that were read' }),
  mempool_skipped: Type.Integer({ description: 'transactions that cannot be read: what they spend is not known' }),
  reorg_count: Type.Integer(),
  last_reorg_depth: Type.Integer(),
  halted: Type.Optional(Type.Literal(true)),
  halt_reason: Type.Optional(Type.String()),
  first_sync: Type.Optional(
    Type.Object(
      { last_block: Type.Integer(), shards: Type.Integer(), shards_loaded: Type.Integer() },
      { description: 'no coins yet: blocks up to last_block are gathered, then loaded by shards' }
    )
  ),
  ...StalenessSchema.properties,
  alarm: Type.Optional(AlarmSchema)
});

/** State of a tracker. */
export type SyncStatus = Static<typeof SyncStatusSchema>;

/** Body of `GET /status`, and result of `health`. */
export const TrackerStatusSchema = Type.Object({
  status: Type.Union([Type.Literal('healthy'), Type.Literal('unhealthy')]),
  db: Type.Boolean(),
  ...SyncStatusSchema.properties
});

/** Result of `is_quiescent`. */
export const QuiescenceSchema = Type.Object({
  ready: Type.Boolean({ description: 'it has every block of its node, and the whole mempool' }),
  ...Type.Pick(SyncStatusSchema, ['mempool_size', 'committed_height', 'tracker_height', 'node_height', 'lag'])
    .properties
});

function mempoolOf(isWell: boolean, mempool: MempoolReport | undefined, now: number) {
  const { knownAt = null, patienceMs = 0, size = 0, oddCount = 0, isTooLarge = false } = mempool ?? {};
  const ageMs = knownAt === null ? null : Math.max(0, now - knownAt);
  return {
    mempool_ready: isWell && ageMs !== null && ageMs <= patienceMs,
    ...(isTooLarge ? { mempool_too_large: true as const } : {}),
    mempool_age_s: ageMs === null ? null : Math.floor(ageMs / 1000),
    mempool_size: size,
    mempool_skipped: oddCount
  };
}

/** Returns the state of the tracker. @param now monotonic milliseconds */
export function syncStatusOf({ report, crash }: TrackerView, now: number): SyncStatus {
  const lag = report && knownLagOf(report, now);
  const height = report?.lastProcessedBlock ?? null;
  const halt = report?.haltReason ?? null;
  const firstSync = report?.firstSync ?? null;
  const isWell = crash === null && halt === null;
  return {
    committed_height: height,
    committed_hash: report?.lastProcessedHash ?? null,
    tracker_height: height,
    node_height: report?.nodeHeight ?? null,
    lag,
    synced: isWell && report?.isDatabaseReachable !== false && isSynced(report, now),
    ...mempoolOf(isWell && !isNodeUnfit(report), report?.mempool, now),
    reorg_count: report?.reorgs ?? 0,
    last_reorg_depth: report?.lastReorgDepth ?? 0,
    ...(halt === null ? {} : { halted: true as const, halt_reason: halt }),
    ...(firstSync ? { first_sync: firstSyncOf(firstSync) } : {}),
    ...toldStaleness(report, now),
    ...toldAlarm(report?.alarm, now)
  };
}

/** Stored coins of one moment. */
export interface Snapshot {
  /** Their newest block; null when there is none. */
  readonly newest: BlockRef | null;
  /** Whether the mempool was read after that block: else a payment that the block has may be counted twice. */
  readonly isOfMempool: boolean;
}

/**
 * Returns a state as it was at a snapshot: its coins may be of a block that was written after the state was reported, or of one that was
 * rolled back since.
 */
export function atSnapshot(reported: SyncStatus, { newest, isOfMempool }: Snapshot): SyncStatus {
  const sync = { ...reported, mempool_ready: reported.mempool_ready && isOfMempool };
  if (!newest) return sync;
  const { height, hash } = newest;
  const lag = sync.node_height === null ? null : Math.max(0, sync.node_height - height);
  return { ...sync, committed_height: height, committed_hash: hash, tracker_height: height, lag };
}

const firstSyncOf = ({ lastBlock, shards, loaded }: FirstSyncProgress) => ({
  last_block: lastBlock,
  shards,
  shards_loaded: loaded
});

/** Returns whether the tracker runs, reaches its database, and has blocks in it. */
export function trackerStatusOf(view: TrackerView, now: number): Static<typeof TrackerStatusSchema> {
  const { report, crash } = view;
  const db = crash === null && report?.isDatabaseReachable === true;
  const height = report?.lastProcessedBlock ?? null;
  const isHealthy = db && report.haltReason === null && height !== null && !isOfStatement(report.alarm);
  const status = isHealthy ? 'healthy' : 'unhealthy';
  return { status, db, ...syncStatusOf(view, now) };
}

/** Returns whether the tracker's coins are complete: every block of the node and its whole mempool. */
export function quiescenceOf(view: TrackerView, now: number): Static<typeof QuiescenceSchema> {
  const { synced, mempool_ready, mempool_size, committed_height, tracker_height, node_height, lag, alarm } =
    syncStatusOf(view, now);
  return {
    ready: synced && lag === 0 && mempool_ready && alarm === undefined,
    mempool_size,
    committed_height,
    tracker_height,
    node_height,
    lag
  };
}
