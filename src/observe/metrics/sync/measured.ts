import type { DatabaseReport } from '../../../wire/state/report.ts';
import type { MeasuredActor } from '../actors.ts';

/** One database as the metrics see it. */
export interface MeasuredDatabase extends MeasuredActor<DatabaseReport> {
  readonly subscribers: readonly { readonly lag: number | null; readonly bufferedBytes: number }[];
}

/** The values that are read at each scrape of the metrics, and not in between. */
export interface MeasuredProcess {
  readonly mode: 'server' | 'client';
  databases(): readonly MeasuredDatabase[];
  /** Since the start: what the fan-out sent, and the subscribers that it dropped, by reason. */
  fanOut(): {
    readonly messages: number;
    readonly bytes: number;
    readonly drops: Readonly<Record<string, number>>;
    /** Messages that wait for their turn. */
    readonly queued: number;
  };
  /** Since the start: snapshots that were built, failed, and were served from an artifact that was there. */
  snapshots(): {
    readonly built: number;
    readonly failed: number;
    readonly shared: number;
    readonly running: number;
    readonly bytes: number;
    /** Age of the build that runs longest; 0 when none runs. */
    readonly oldestBuildMs: number;
  };
  /** Whether the hub answered when it was asked last; null before. */
  hubIsUp(): boolean | null;
  /** Tasks that wait for a thread of the pool. */
  waitingTasks(): number;
  /** Free bytes by what lies there. */
  freeBytes(): Promise<Readonly<Record<string, number>>>;
}
