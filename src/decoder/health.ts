/** What the loop last said of itself. Times are those of monotonicMs(). */
export interface DecoderReport {
  /** The machine's state. */
  readonly state: string;
  /** Null while the database has not answered yet. */
  readonly isDatabaseReachable: boolean | null;
  readonly lastProcessedBlock: number | null;
  readonly nodeHeight: number | null;
  /** When the node last told its tip. */
  readonly nodePolledAt: number | null;
  /** When a block was last written, or nothing was left to write. */
  readonly progressAt: number;
  /** Attempts that failed at one height. */
  readonly failures: number;
  readonly rpcErrors: number;
  readonly parseErrors: number;
  /** Why the decoder refuses to go on; null while it goes on. */
  readonly haltReason: string | null;
}

/** What is known of the loop from outside of its thread. */
export interface DecoderView {
  /** Null before the first word, and after the loop's death. */
  readonly report: DecoderReport | null;
  /** What ended the loop; null while it lives. */
  readonly crash: string | null;
}

export interface StallLimits {
  readonly alertMs: number;
  readonly fetchAttempts: number;
}

/** How often the node is asked for its tip at least. */
export const TIP_REFRESH_MS = 30_000;
const SYNCED_WITHIN_BLOCKS = 3;

/** The decoder's health at a moment. @see the section "Decoder health result" of the specification */
export function healthOf({ report, crash }: DecoderView, now: number) {
  const { nodeHeight = null, lastProcessedBlock = null } = report ?? {};
  const lag = nodeHeight === null || lastProcessedBlock === null ? null : Math.max(0, nodeHeight - lastProcessedBlock);
  const isHealthy = isRunning({ report, crash }) && report?.isDatabaseReachable === true;
  return {
    status: isHealthy ? 'healthy' : 'unhealthy',
    phase: phaseOf(report),
    synced: isHealthy && lag !== null && lag <= SYNCED_WITHIN_BLOCKS,
    last_processed_block: lastProcessedBlock,
    node_height: nodeHeight,
    lag,
    lastProcessedBlock,
    chainTipBlock: nodeHeight,
    blockLag: lag,
    lag_blocks: lag,
    ...(report && isTipStale(report, now) ? { node_height_stale: true } : {}),
    rpc_errors: report?.rpcErrors ?? 0,
    parse_errors: report?.parseErrors ?? 0,
    error: crash ?? report?.haltReason ?? null
  };
}

/** @see the section "Decoder latest block result" of the specification */
export function latestBlockOf(view: DecoderView, now: number) {
  const { last_processed_block, node_height, synced } = healthOf(view, now);
  return { block_index: last_processed_block, node_block_index: node_height, is_synced: synced };
}

/** Body of `GET /status`. */
export function statusOf(view: DecoderView, now: number) {
  return {
    status: healthOf(view, now).status,
    db: view.report?.isDatabaseReachable === true,
    running: isRunning(view)
  };
}

/** Body of `GET /live`. */
export function liveOf(view: DecoderView, limits: StallLimits, now: number) {
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

/** A node that is down does not stall the decoder: its tip is frozen, and nothing is known to be behind. */
function isStalled(report: DecoderReport, { alertMs, fetchAttempts }: StallLimits, now: number): boolean {
  const { nodeHeight, lastProcessedBlock, failures, progressAt } = report;
  if (nodeHeight === null || isTipStale(report, now) || nodeHeight <= (lastProcessedBlock ?? -1)) return false;
  return failures >= fetchAttempts || now - progressAt >= alertMs;
}

function isTipStale({ nodePolledAt }: DecoderReport, now: number): boolean {
  return nodePolledAt !== null && now - nodePolledAt > 2 * TIP_REFRESH_MS;
}

function isRunning({ report, crash }: DecoderView): boolean {
  return report !== null && crash === null && report.haltReason === null;
}

function phaseOf(report: DecoderReport | null): 'starting' | 'running' | 'db-unreachable' {
  if (report === null || report.isDatabaseReachable === null) return 'starting';
  return report.isDatabaseReachable ? 'running' : 'db-unreachable';
}
