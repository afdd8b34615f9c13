import type { Readiness } from '../service/routes/readiness.ts';
import { type Alarm, alarmText, isOfStatement } from '../wire/state/alarm.ts';
import type { LoopView } from '../wire/state/loop-view.ts';
import { monotonicMs } from '../wire/state/monotonic.ts';
import type { ActorReport } from '../wire/state/report.ts';
import type { Staleness } from '../wire/state/staleness.ts';
import { lagBetween, readinessFrom, SYNCED_WITHIN_BLOCKS } from './readiness.ts';

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
export type ChainView<Report extends ChainReport = ChainReport> = LoopView<Report>;

/** Longest time between two requests for the node's tip, in milliseconds. */
const TIP_REFRESH_MS = 4_000;
/** Age from which the node's tip says nothing about the present, in milliseconds. */
export const TIP_STALE_MS = 2 * TIP_REFRESH_MS;

/** Returns the readiness that load balancers read. @param now monotonic milliseconds */
export function readinessOf({ report, crash }: ChainView, now = monotonicMs()): Readiness {
  return readinessFrom({
    haltReason: report?.haltReason,
    isDown: crash !== null || report?.isDatabaseReachable === false || isOfStatement(report?.alarm),
    lag: report && lagOf(report),
    isWaiting: report !== null && (report.alarm != null || isTipStale(report, now))
  });
}

/** Returns the part of a report that console and metrics read. @param now monotonic milliseconds */
export function actorReportOf(report: ChainReport, now = monotonicMs()): ActorReport {
  return {
    phase: report.state,
    circuit: null,
    height: report.lastProcessedBlock,
    tip: report.nodeHeight,
    lagBlocks: knownLagOf(report, now),
    node: { isHeard: isNodeHeard(report, now), ageS: tipAgeS(report, now) },
    lastError: report.haltReason ?? alarmText(report.alarm)
  };
}

/** Returns the lag; null also while the node's tip is too old to tell. @param now monotonic milliseconds */
export function knownLagOf(report: ChainReport, now: number): number | null {
  return isTipStale(report, now) ? null : lagOf(report);
}

/** Returns the number of blocks that the node had at its last answer and the database lacks; null if it is not known. */
function lagOf({ nodeHeight, lastProcessedBlock }: ChainReport): number | null {
  return lagBetween(nodeHeight, lastProcessedBlock);
}

/** Returns whether the loop takes blocks and is near its node's tip, and the node near that of its network. */
export function isNearTip(report: ChainReport): boolean {
  const { state, lastProcessedBlock, nodeHeight } = report;
  if (!state.startsWith('parsing') || nodeHeight === null || lastProcessedBlock === null) return false;
  return !isNodeUnfit(report) && nodeHeight - lastProcessedBlock <= SYNCED_WITHIN_BLOCKS;
}

/** Returns whether a lag of 0 may be false because the node does not answer, refuses, or lacks blocks. */
export function isNodeUnfit(report: ChainReport | null): boolean {
  return report?.alarm?.code.startsWith('NODE_') ?? false;
}

/**
 * Returns whether the database has all but 3 of the blocks that the network is known to have: never beside a node that is gone,
 * of another network, or lower than the database. @param now monotonic milliseconds
 */
export function isSynced(report: ChainReport | null, now = monotonicMs()): boolean {
  const lag = report && knownLagOf(report, now);
  return lag !== null && lag <= SYNCED_WITHIN_BLOCKS && !isNodeUnfit(report);
}

/** Returns whether the node's tip is older than 8 s. */
export function isTipStale({ nodePolledAt }: ChainReport, now: number): boolean {
  return nodePolledAt !== null && now - nodePolledAt > TIP_STALE_MS;
}

/** Returns whether the node answers; null before its first answer. @param now monotonic milliseconds */
export function isNodeHeard(report: ChainReport, now: number): boolean | null {
  if (report.alarm?.code === 'NODE_UNREACHABLE') return false;
  return report.nodePolledAt === null ? null : !isTipStale(report, now);
}

/** Returns the age of the node's tip in seconds; null before its first answer. @param now monotonic milliseconds */
function tipAgeS({ nodePolledAt }: ChainReport, now: number): number | null {
  return nodePolledAt === null ? null : Math.max(0, Math.floor((now - nodePolledAt) / 1000));
}

/** Returns the fields by which probes tell that the tip is too old to tell a lag; none while it is fresh. */
export function toldStaleness(report: ChainReport | null, now: number): Staleness {
  if (!report || !isTipStale(report, now)) return {};
  return { node_height_stale: true, node_age_s: tipAgeS(report, now)! };
}
