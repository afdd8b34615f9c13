import { phrase } from '../../src/wire/state/condition.ts';
import type { TimelineEntry } from '../../src/wire/state/timeline.ts';
import { h, setText } from '../dom.ts';
import { agoText, fullText } from '../time.ts';
import { keyOf } from './lanes.ts';

/** One restart, told from its death to when all was well again. */
interface Story {
  readonly key: string;
  readonly at: number;
  /** One sentence. */
  readonly text: string;
}

/** States in which an actor has caught up. */
const BACK = /^(?:live|ready|available|(?:(?:polling|parsing)\.)?caughtUp)$/;
/** Deaths of which the reason tells no more than the cause. */
const ENDS: Readonly<Record<string, string>> = {
  killed: 'was killed',
  hung: 'gave no sign of life and was ended'
};
const SHOWN = 10;

/** Returns every restart among these entries, newest first, with a note where it has not happened yet. */
export function storiesOf(entries: readonly TimelineEntry[]): Story[] {
  return entries
    .flatMap((entry, index) => (entry.kind === 'death' ? [storyOf(entry, entries.slice(index + 1))] : []))
    .reverse();
}

function storyOf(death: Extract<TimelineEntry, { kind: 'death' }>, later: readonly TimelineEntry[]): Story {
  const own = later.filter((entry) => keyOf(entry) === keyOf(death));
  const next = own.findIndex(({ kind }) => kind === 'death');
  const until = next < 0 ? own : own.slice(0, next);
  const start = until.find(({ kind }) => kind === 'start');
  const back = until.find((entry) => entry.kind === 'transition' && BACK.test(entry.to));
  const after = ({ at }: TimelineEntry) => `${((at - death.at) / 1000).toFixed(1)} s`;
  const how = ENDS[death.cause] ?? `died of ${death.cause} (${death.reason})`;
  const ends = next < 0 ? 'it is not started again yet' : 'it died once more before it was started';
  const lasts = next < 0 ? 'it is not caught up yet' : 'it died once more before it had caught up';
  const then = !start
    ? ends
    : `started again after ${after(start)}, ${back?.kind === 'transition' ? `it was ${phrase(back.to)} after ${after(back)}` : lasts}`;
  return { key: String(death.seq), at: death.at, text: `${keyOf(death)} ${how}; ${then}.` };
}

/** The last restarts as a list of sentences. */
export class Stories {
  readonly element = h('ul', { class: 'stories' });
  readonly #none = h('li', { class: 'quiet' }, 'No restart in the time that is kept.');

  update(stories: readonly Story[]): void {
    const shown = stories.slice(0, SHOWN);
    while (this.element.children.length > Math.max(1, shown.length)) this.element.lastElementChild!.remove();
    if (shown.length === 0) {
      if (this.element.firstChild !== this.#none) this.element.replaceChildren(this.#none);
      return;
    }
    if (this.element.firstChild === this.#none) this.#none.remove();
    for (const [index, { at, text }] of shown.entries()) {
      const line = (this.element.children[index] as HTMLElement | undefined) ?? this.element.appendChild(h('li', {}));
      line.title = fullText(at);
      setText(line, `${agoText(at)}: ${text}`);
    }
  }
}
