import { type Alarm, alarmText, stoppedS } from '../wire/state/alarm.ts';
import { monotonicMs } from '../wire/state/monotonic.ts';
import type { ActorReport, Circuit, ReplicaReport } from '../wire/state/report.ts';

/** Report of a network's actor, sent every second. */
export interface ExplorerReport {
  readonly state: 'unknown' | 'available' | 'stale' | 'unavailable';
  readonly circuit: Circuit;
  /** The newest block of the ledger and of the decoder; null while not known. */
  readonly height: number | null;
  readonly decoderTip: number | null;
  /** Time of the newest block of the ledger in Unix seconds; null while not known. */
  readonly time?: number | null;
  /** Tells the newest block of the ledger from others of its height. */
  readonly mark: string | null;
  readonly lastError: string | null;
  /** Reason why the ledger does not go on; null while it does. */
  readonly upstream: Alarm | null;
  /** State of each copy of the databases in the order of the settings; absent where there is one. */
  readonly replicas?: readonly ReplicaReport[];
}

/** Returns the blocks that the ledger is behind its decoder; null where the decoder does not know the ledger's newest block. */
export function lagOf({ height, decoderTip }: Pick<ExplorerReport, 'height' | 'decoderTip'>): number | null {
  return height === null || decoderTip === null || decoderTip < height ? null : decoderTip - height;
}

/** Returns the blocks between ledger and decoder, whichever is ahead; null while one of them is not known. */
export function distanceOf({ height, decoderTip }: Pick<ExplorerReport, 'height' | 'decoderTip'>): number | null {
  return height === null || decoderTip === null ? null : Math.abs(decoderTip - height);
}

/** Returns the fields that console and metrics read of a report. */
export function actorReportOf(report: ExplorerReport): ActorReport {
  const { state, circuit, height, decoderTip, lastError, upstream, replicas } = report;
  return {
    phase: state,
    circuit,
    height,
    tip: decoderTip,
    lagBlocks: lagOf(report),
    lastError: lastError ?? alarmText(upstream),
    upstreamStopped: stoppedS(upstream, monotonicMs()),
    ...(replicas && { replicas })
  };
}
