import type { ActorName } from '../../../src/wire/state/actor.ts';
import type { TimelineEntry, TimelineEvent, TimelineReader } from '../../../src/wire/state/timeline.ts';
import { Ring } from './ring.ts';

/** All that happened to all actors, bounded: for looking at, and for replaying. */
export class Timeline implements TimelineReader {
  readonly #entries: Ring<TimelineEntry>;
  readonly #listener: (entry: TimelineEntry) => void;
  #seq = 0;

  /** @param listener sees each entry as it comes; must not throw */
  constructor(limit = 5_000, listener: (entry: TimelineEntry) => void = () => undefined) {
    this.#entries = new Ring(limit);
    this.#listener = listener;
  }

  get seq(): number {
    return this.#seq;
  }

  add(actor: ActorName, event: TimelineEvent): void {
    const entry = { ...event, seq: ++this.#seq, actor };
    this.#entries.push(entry);
    this.#listener(entry);
  }

  since(seq: number): TimelineEntry[] {
    const entries = this.#entries.toArray();
    const from = entries.findIndex((entry) => entry.seq > seq);
    return from < 0 ? [] : entries.slice(from);
  }
}
