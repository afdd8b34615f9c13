import type { Readiness } from '../service/readiness.ts';
import { type Alarm, alarmText } from '../wire/state/alarm.ts';
import type { ActorReport } from '../wire/state/report.ts';

/** What the loop of a service that writes a chain last said of itself. Times are those of monotonicMs(). */
export interface ChainReport {
  /** The machine's state. */
  readonly state: string;
  /** Null while the database has not answered yet. */
  readonly isDatabaseReachable: boolean | null;
  readonly lastProcessedBlock: number | null;
  readonly lastProcessedHash?: string | null;
  readonly nodeHeight: number | null;
  /** When the node last answered with its tip. */
  readonly nodePolledAt: number | null;
  /** When a block was last written, or nothing was left to write. */
  readonly progressAt: number;
  /** Attempts that failed at one height. */
  readonly failures: number;
  readonly rpcErrors: number;
  /** Why it halted; null while it runs. */
  readonly haltReason: string | null;
  /** Why it does not go on though it tries; null or missing: it does. */
  readonly alarm?: Alarm | null;
}

/** What is known of a loop from outside of its thread. */
export interface ChainView<Report extends ChainReport = ChainReport> {
  /** Null before the first word; after the loop's death the last one. */
  readonly report: Report | null;
  /** What ended the loop; null while it lives. */
  readonly crash: string | null;
}

/** How often the node is asked for its tip at least. */
export const TIP_REFRESH_MS = 30_000;
/** So near to the node's tip it counts as caught up. */
export const SYNCED_WITHIN_BLOCKS = 3;

/** The readiness that load balancers read. */
export function readinessOf({ report, crash }: ChainView): Readiness {
  if (report?.haltReason != null) return 'halted';
  if (crash !== null || report?.isDatabaseReachable === false) return 'unavailable';
  const lag = report && lagOf(report);
  if (report?.alarm?.code === 'ROWS_REFUSED') return 'unavailable';
  if (lag === null) return 'starting';
  if (report?.alarm) return 'behind';
  return lag > SYNCED_WITHIN_BLOCKS ? 'behind' : 'ready';
}

/** What console and metrics read of the loop's last word. */
export function actorReportOf(report: ChainReport): ActorReport {
  return {
    phase: report.state,
    circuit: null,
    height: report.lastProcessedBlock,
    tip: report.nodeHeight,
    lagBlocks: lagOf(report),
    lastError: report.haltReason ?? alarmText(report.alarm)
  };
}

/** Blocks that the node has and the database has not; null: not known. */
export function lagOf({ nodeHeight, lastProcessedBlock }: ChainReport): number | null {
  return nodeHeight === null || lastProcessedBlock === null ? null : Math.max(0, nodeHeight - lastProcessedBlock);
}

/** Whether the loop takes blocks and is near its node's tip, and the node near that of its network. */
export function isNearTip({ state, lastProcessedBlock, nodeHeight, alarm }: ChainReport): boolean {
  if (!state.startsWith('parsing') || nodeHeight === null || lastProcessedBlock === null) return false;
  return alarm?.code !== 'NODE_BEHIND' && nodeHeight - lastProcessedBlock <= SYNCED_WITHIN_BLOCKS;
}

/** Whether no lag beside this node means that all is caught up: it does not answer, refuses, or lacks blocks. */
export function isNodeUnfit(report: ChainReport | null): boolean {
  return report?.alarm?.code.startsWith('NODE_') ?? false;
}

/** Whether the database has all but 3 of the blocks that the network is known to have. */
export function isSynced(report: ChainReport | null): boolean {
  const lag = report && lagOf(report);
  return lag !== null && lag <= SYNCED_WITHIN_BLOCKS && report?.alarm?.code !== 'NODE_BEHIND';
}

/** Whether the node's tip is older than a minute. */
export function isTipStale({ nodePolledAt }: ChainReport, now: number): boolean {
  return nodePolledAt !== null && now - nodePolledAt > 2 * TIP_REFRESH_MS;
}

/** Whether the loop lives and has not halted. */
export function isRunning({ report, crash }: ChainView): boolean {
  return report !== null && crash === null && report.haltReason === null;
}
