import type { Readiness } from '../service/routes/readiness.ts';
import { type Alarm, alarmText, isOfStatement } from '../wire/state/alarm.ts';
import type { ActorReport } from '../wire/state/report.ts';

/** Newest report of the loop of a service that writes a chain. Times are those of monotonicMs(). */
export interface ChainReport {
  /** State of the machine. */
  readonly state: string;
  /** Whether the database answers; null while it has not answered yet. */
  readonly isDatabaseReachable: boolean | null;
  readonly lastProcessedBlock: number | null;
  readonly lastProcessedHash?: string | null;
  readonly nodeHeight: number | null;
  /** Time of the node's last answer with its tip. */
  readonly nodePolledAt: number | null;
  /** Time when a block was last written, or nothing was left to write. */
  readonly progressAt: number;
  /** Attempts that failed at one height. */
  readonly failures: number;
  readonly rpcErrors: number;
  /** Reason of its halt; null while it runs. */
  readonly haltReason: string | null;
  /** Reason for which it does not go on though it tries; null or missing while it does. */
  readonly alarm?: Alarm | null;
}

/** State of a loop as the main thread knows it. */
export interface ChainView<Report extends ChainReport = ChainReport> {
  /** Newest report; null before the first one. It stays after the loop's death. */
  readonly report: Report | null;
  /** Reason not to rely on the report: the loop is down, silent, or no further since it was started again; or null. */
  readonly crash: string | null;
}

/** Longest time between two requests for the node's tip, in milliseconds. */
export const TIP_REFRESH_MS = 30_000;
/** Distance from the node's tip, in blocks, within which a service counts as caught up. */
export const SYNCED_WITHIN_BLOCKS = 3;

/** Returns the readiness that load balancers read. */
export function readinessOf({ report, crash }: ChainView): Readiness {
  if (report?.haltReason != null) return 'halted';
  if (crash !== null || report?.isDatabaseReachable === false) return 'unavailable';
  const lag = report && lagOf(report);
  if (isOfStatement(report?.alarm)) return 'unavailable';
  if (lag === null) return 'starting';
  if (report?.alarm) return 'behind';
  return lag > SYNCED_WITHIN_BLOCKS ? 'behind' : 'ready';
}

/** Returns the part of a report that console and metrics read. */
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

/** Returns the number of blocks that the node has and the database lacks; null if it is not known. */
export function lagOf({ nodeHeight, lastProcessedBlock }: ChainReport): number | null {
  return nodeHeight === null || lastProcessedBlock === null ? null : Math.max(0, nodeHeight - lastProcessedBlock);
}

/** Returns whether the loop takes blocks and is near its node's tip, and the node near that of its network. */
export function isNearTip({ state, lastProcessedBlock, nodeHeight, alarm }: ChainReport): boolean {
  if (!state.startsWith('parsing') || nodeHeight === null || lastProcessedBlock === null) return false;
  return alarm?.code !== 'NODE_BEHIND' && nodeHeight - lastProcessedBlock <= SYNCED_WITHIN_BLOCKS;
}

/** Returns whether a lag of 0 may be false because the node does not answer, refuses, or lacks blocks. */
export function isNodeUnfit(report: ChainReport | null): boolean {
  return report?.alarm?.code.startsWith('NODE_') ?? false;
}

/** Returns whether the database has all but 3 of the blocks that the network is known to have. */
export function isSynced(report: ChainReport | null): boolean {
  const lag = report && lagOf(report);
  return lag !== null && lag <= SYNCED_WITHIN_BLOCKS && report?.alarm?.code !== 'NODE_BEHIND';
}

/** Returns whether the node's tip is older than a minute. */
export function isTipStale({ nodePolledAt }: ChainReport, now: number): boolean {
  return nodePolledAt !== null && now - nodePolledAt > 2 * TIP_REFRESH_MS;
}

/** Returns whether the loop lives and has not halted. */
export function isRunning({ report, crash }: ChainView): boolean {
  return report !== null && crash === null && report.haltReason === null;
}
