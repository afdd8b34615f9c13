import Type, { type Static } from 'typebox';
import { isRunning } from '../follower/readiness.ts';
import {
  type ChainReport,
  type ChainView,
  isSynced,
  isTipStale,
  knownLagOf,
  toldStaleness
} from '../follower/report.ts';
import { OrNull } from '../wire/or-null.ts';
import { AlarmSchema, isOfStatement, toldAlarm } from '../wire/state/alarm.ts';
import { StalenessSchema } from '../wire/state/staleness.ts';

/** The loop's report of its state. */
export interface DecoderReport extends ChainReport {
  /** Number of transactions that could not be read. */
  readonly parseErrors: number;
  /** Number of mempool transactions that could not be read since the start. */
  readonly mempoolSkipped?: number;
}

/** State of the loop as other threads know it. */
export type DecoderView = ChainView<DecoderReport>;

/** Limits beyond which the loop counts as stalled. */
export interface StallLimits {
  readonly alertMs: number;
  readonly fetchAttempts: number;
}

const HeightOrNull = OrNull(Type.Integer());
const Phase = Type.Union([Type.Literal('starting'), Type.Literal('running'), Type.Literal('db-unreachable')]);
const Status = Type.Union([Type.Literal('healthy'), Type.Literal('unhealthy')]);

/** Result of `health`. @see the section "Decoder health result" of the specification */
export const HealthSchema = Type.Object({
  status: Status,
  phase: Phase,
  synced: Type.Boolean({ description: 'caught up, to within 3 blocks' }),
  last_processed_block: HeightOrNull,
  node_height: HeightOrNull,
  lag: HeightOrNull,
  lastProcessedBlock: HeightOrNull,
  chainTipBlock: HeightOrNull,
  blockLag: HeightOrNull,
  lag_blocks: HeightOrNull,
  ...StalenessSchema.properties,
  rpc_errors: Type.Integer(),
  parse_errors: Type.Integer(),
  mempool_skipped: Type.Optional(Type.Integer({ description: 'transactions of the mempool that cannot be read' })),
  error: OrNull(Type.String()),
  alarm: Type.Optional(AlarmSchema)
});

/** Result of `getlatestblock`. @see the section "Decoder latest block result" of the specification */
export const LatestBlockSchema = Type.Object({
  block_index: HeightOrNull,
  node_block_index: HeightOrNull,
  is_synced: Type.Boolean()
});

/** Body of `GET /status`. */
export const StatusSchema = Type.Object({
  status: Status,
  db: Type.Boolean(),
  running: Type.Boolean(),
  alarm: Type.Optional(AlarmSchema)
});

/** Body of `GET /live`. */
export const LiveSchema = Type.Object({
  ...StatusSchema.properties,
  stalled: Type.Boolean(),
  last_processed_block: HeightOrNull,
  node_height: HeightOrNull,
  lag: HeightOrNull,
  parse_errors: Type.Integer(),
  rpc_errors: Type.Integer()
});

/**
 * Returns the result of `health`. @param now monotonic milliseconds @see the section "Decoder health result" of the
 * specification
 */
export function healthOf({ report, crash }: DecoderView, now: number): Static<typeof HealthSchema> {
  const { nodeHeight = null, lastProcessedBlock = null } = report ?? {};
  const lag = report && knownLagOf(report, now);
  const isRefused = isOfStatement(report?.alarm);
  const isHealthy = isRunning({ report, crash }) && report?.isDatabaseReachable === true && !isRefused;
  return {
    status: isHealthy ? 'healthy' : 'unhealthy',
    phase: phaseOf({ report, crash }),
    synced: isHealthy && isSynced(report, now),
    last_processed_block: lastProcessedBlock,
    node_height: nodeHeight,
    lag,
    lastProcessedBlock,
    chainTipBlock: nodeHeight,
    blockLag: lag,
    lag_blocks: lag,
    ...toldStaleness(report, now),
    rpc_errors: report?.rpcErrors ?? 0,
    parse_errors: report?.parseErrors ?? 0,
    ...(report?.mempoolSkipped ? { mempool_skipped: report.mempoolSkipped } : {}),
    error: crash ?? report?.haltReason ?? null,
    ...toldAlarm(report?.alarm, now)
  };
}

/** Returns the result of `getlatestblock`. */
export function latestBlockOf(view: DecoderView, now: number): Static<typeof LatestBlockSchema> {
  const { last_processed_block, node_height, synced } = healthOf(view, now);
  return { block_index: last_processed_block, node_block_index: node_height, is_synced: synced };
}

/** Returns the body of `GET /status`. */
export function statusOf(view: DecoderView, now: number): Static<typeof StatusSchema> {
  return {
    status: healthOf(view, now).status,
    db: view.crash === null && view.report?.isDatabaseReachable === true,
    running: isRunning(view),
    ...toldAlarm(view.report?.alarm, now)
  };
}

/** Returns the body of `GET /live`. */
export function liveOf(view: DecoderView, limits: StallLimits, now: number): Static<typeof LiveSchema> {
  const { last_processed_block, node_height, lag, parse_errors, rpc_errors } = healthOf(view, now);
  return {
    ...statusOf(view, now),
    stalled: view.report !== null && isStalled(view.report, limits, now),
    last_processed_block,
    node_height,
    lag,
    parse_errors,
    rpc_errors
  };
}

/**
 * Returns whether the loop makes no progress. A node that is down does not count: with its tip frozen, nothing is known
 * to be missing.
 */
function isStalled(report: DecoderReport, { alertMs, fetchAttempts }: StallLimits, now: number): boolean {
  const { nodeHeight, lastProcessedBlock, failures, progressAt } = report;
  if (nodeHeight === null || isTipStale(report, now) || nodeHeight <= (lastProcessedBlock ?? -1)) return false;
  return failures >= fetchAttempts || now - progressAt >= alertMs;
}

/**
 * Returns the phase by the last probe of the database. Once the loop has died, a database that was never reached is
 * unreachable.
 */
function phaseOf({ report, crash }: DecoderView): 'starting' | 'running' | 'db-unreachable' {
  const isReachable = report?.isDatabaseReachable ?? (crash === null ? null : false);
  if (isReachable === null) return 'starting';
  return isReachable ? 'running' : 'db-unreachable';
}
