import type { DatabaseReport } from '../../../wire/state/report.ts';
import type { MeasuredActor } from '../actors.ts';

/** One database as metrics read it. */
export interface MeasuredDatabase extends MeasuredActor<DatabaseReport> {
  readonly subscribers: readonly { readonly lag: number | null; readonly bufferedBytes: number }[];
  /** Its stream in NATS; absent where none is published. */
  readonly stream?: { readonly state: string; readonly waiting: number } | undefined;
}

/** Sources of sync's metrics, read at each scrape. */
export interface MeasuredProcess {
  readonly mode: 'server' | 'client';
  databases(): readonly MeasuredDatabase[];
  /** Returns totals of the fan-out since the start, and the number of dropped subscribers by reason. */
  fanOut(): {
    readonly messages: number;
    readonly bytes: number;
    readonly drops: Readonly<Record<string, number>>;
    /** Messages that wait to be sent. */
    readonly queued: number;
  };
  /** Returns the numbers of snapshots since the start: built, failed, and served from an existing artifact. */
  snapshots(): {
    readonly built: number;
    readonly failed: number;
    readonly shared: number;
    readonly running: number;
    readonly bytes: number;
    /** Age of the longest running build; 0 when none runs. */
    readonly oldestBuildMs: number;
  };
  /** Returns whether the hub answered the last request; null before one. */
  hubIsUp(): boolean | null;
  /** Returns the number of tasks that wait for a thread of the pool. */
  waitingTasks(): number;
  /** Returns free bytes by the use of the disk. */
  freeBytes(): Promise<Readonly<Record<string, number>>>;
}
