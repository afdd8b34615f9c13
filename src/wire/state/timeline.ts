import type { ErrorCode } from '../../errors.ts';
import type { ActorName } from './actor.ts';
import type { Death } from './actor-view.ts';
import type { Transition } from './transition.ts';

/** One ask and its reply, when it is settled. */
export interface Exchange {
  /** Time of the ask, Unix milliseconds, and duration until its reply. */
  readonly at: number;
  readonly ms: number;
  /** `in`: asked of the peer; `out`: asked by it. */
  readonly direction: 'in' | 'out';
  readonly type: string;
  readonly error?: ErrorCode;
}

/** Event of one actor. Times are Unix milliseconds. */
export type TimelineEvent =
  | ({ readonly kind: 'transition' } & Transition)
  | ({ readonly kind: 'death' } & Death)
  | { readonly kind: 'start'; readonly at: number; readonly generation: number }
  | ({ readonly kind: 'message' } & Exchange)
  /** Blocks that a source sent to its subscribers (`out`), or that a replica applied (`in`). */
  | {
      readonly kind: 'blocks';
      readonly at: number;
      readonly direction: 'in' | 'out';
      readonly first: number;
      readonly last: number;
    };

/** One line of the timeline; `seq` grows by one with each, over all actors of the process. */
export type TimelineEntry = TimelineEvent & { readonly seq: number; readonly actor: ActorName };

/** The timeline of a process, as its console reads it. */
export interface TimelineReader {
  /** Number of the newest entry; 0 before the first. */
  readonly seq: number;
  /** Returns the entries after one, oldest first; fewer when they are no longer kept. */
  since(seq: number): TimelineEntry[];
}
