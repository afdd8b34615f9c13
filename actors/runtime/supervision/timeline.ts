import type { ActorName } from '../../../src/wire/state/actor.ts';
import type { Exchange } from '../channel.ts';
import type { Transition } from '../notices.ts';
import type { Death } from './actor-view.ts';
import { Ring } from './ring.ts';

/** What happened to one actor. Times are Unix milliseconds. */
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

/** All that happened to all actors, bounded: for looking at, and for replaying. */
export class Timeline {
  readonly #entries: Ring<TimelineEntry>;
  readonly #listener: (entry: TimelineEntry) => void;
  #seq = 0;

  /** @param listener sees each entry as it comes; must not throw */
  constructor(limit = 5_000, listener: (entry: TimelineEntry) => void = () => undefined) {
    this.#entries = new Ring(limit);
    this.#listener = listener;
  }

  /** Of the newest entry; 0 before the first. */
  get seq(): number {
    return this.#seq;
  }

  add(actor: ActorName, event: TimelineEvent): void {
    const entry = { ...event, seq: ++this.#seq, actor };
    this.#entries.push(entry);
    this.#listener(entry);
  }

  /** The entries after one, oldest first; fewer when they are no longer kept. */
  since(seq: number): TimelineEntry[] {
    const entries = this.#entries.toArray();
    const from = entries.findIndex((entry) => entry.seq > seq);
    return from < 0 ? [] : entries.slice(from);
  }
}
