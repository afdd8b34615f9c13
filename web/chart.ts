import type { TimelineEntry } from '../actors/runtime/timeline.ts';
import { h, setText } from './dom.ts';

/** A wider chart gets a line of its own. */
const LARGE_PX = 500;

type TransitionEntry = Extract<TimelineEntry, { kind: 'transition' }>;

/** One machine's chart, laid out at build time: active states lit, edges counted, the last one marked. */
export class Chart {
  readonly element = h('figure', { class: 'chart card' });
  readonly #caption = h('figcaption');
  readonly #machine: string;
  #drawn: Element | null = null;

  constructor(machine: string) {
    this.#machine = machine;
    this.element.append(this.#caption);
    void this.#load();
  }

  /** @param state the machine's present state, e.g. `polling.behind`; null while its actor is down */
  update(state: string | null, transitions: readonly TransitionEntry[]): void {
    const last = transitions.at(-1);
    const told = last ? `; last: ${last.event} at ${new Date(last.at).toLocaleTimeString()}` : '';
    setText(this.#caption, `${this.#machine}: ${state ?? 'down'}${told}`);
    if (!this.#drawn) return;
    for (const node of this.#drawn.querySelectorAll<SVGElement>('.state')) {
      const name = node.dataset['state']!;
      node.classList.toggle('active', state !== null && isWithin(state, name));
    }
    for (const edge of this.#drawn.querySelectorAll<SVGElement>('.edge')) {
      const taken = transitions.filter((transition) => isEdge(edge.dataset, transition)).length;
      edge.classList.toggle('taken', taken > 0);
      edge.classList.toggle('last', last !== undefined && isEdge(edge.dataset, last));
      const counter = edge.querySelector('.count');
      if (counter) setText(counter, taken > 0 ? ` ×${taken}` : '');
    }
  }

  async #load(): Promise<void> {
    const response = await fetch(`/console/charts/${this.#machine}.svg`);
    if (!response.ok) return;
    const parsed = new DOMParser().parseFromString(await response.text(), 'image/svg+xml');
    this.#drawn = document.importNode(parsed.documentElement, true);
    this.element.append(this.#drawn);
    const width = Number(parsed.documentElement.getAttribute('width'));
    this.element.classList.toggle('large', width > LARGE_PX);
  }
}

const isWithin = (state: string, name: string): boolean => state === name || state.startsWith(`${name}.`);

/** An event that ends in an asterisk stands for all that begin like it. */
function isEdge({ from = '', to = '', event = '' }: DOMStringMap, transition: TransitionEntry): boolean {
  const isEvent = event.endsWith('*') ? transition.event.startsWith(event.slice(0, -1)) : transition.event === event;
  return (
    isEvent &&
    transition.from !== null &&
    (from === '' || isWithin(transition.from, from)) &&
    isWithin(transition.to, to)
  );
}
