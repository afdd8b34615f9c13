import { machineOf } from '../../src/wire/state/machine-name.ts';
import type { TimelineEntry } from '../../src/wire/state/timeline.ts';
import { h, setText } from '../dom.ts';
import { ZoomFrame } from './zoom.ts';

/** A wider chart gets a line of its own. */
const LARGE_PX = 620;
/** With fewer arrows than that, those never taken are shown too. */
const FEW_ARROWS = 9;
/** The way to where it is: the arrows of so many last transitions. */
const RECENT = 4;

type TransitionEntry = Extract<TimelineEntry, { kind: 'transition' }>;

/** Transitions that say the same, and how often. */
interface Taken {
  readonly from: string;
  readonly to: string;
  readonly event: string;
  times: number;
}

/** One machine's chart, laid out at build time: active states lit, arrows counted, the way to the present state bright. */
export class Chart {
  readonly element = h('figure', { class: 'chart card' });
  readonly #caption = h('figcaption');
  readonly #fold = h('button', { type: 'button', 'aria-pressed': 'false', click: () => this.#turnFold() });
  readonly #tools = h('div', { class: 'bar' });
  readonly #notes = h('ul', { class: 'notes' });
  /** As it is observed: with its instance where an actor has several. */
  readonly #machine: string;
  #frame: ZoomFrame | undefined;
  #state: string | null = null;
  #states: readonly SVGElement[] = [];
  #edges: readonly (SVGElement | HTMLElement)[] = [];

  constructor(machine: string) {
    this.#machine = machine;
    this.element.append(h('div', { class: 'top' }, this.#caption, this.#tools));
    void this.#load();
  }

  /** @param state the machine's present state, e.g. `polling.behind`; null while its actor is down */
  update(state: string | null, transitions: readonly TransitionEntry[]): void {
    const last = transitions.at(-1);
    const told = last ? `; last: ${eventText(last.event)} at ${new Date(last.at).toLocaleTimeString()}` : '';
    setText(this.#caption, `${this.#machine}: ${state ?? 'down'}${told}`);
    for (const node of this.#states)
      node.classList.toggle('active', state !== null && isWithin(state, node.dataset['state']!));
    const active = this.#states.findLast((node) => node.classList.contains('active'));
    if (active && this.#state !== state) this.#frame!.centre(active);
    if (active) this.#state = state;
    const taken = summed(transitions);
    const recent = transitions.slice(-RECENT).map(toTaken);
    let hidden = 0;
    for (const edge of this.#edges) {
      const times = taken.filter((each) => isEdge(edge.dataset, each)).reduce((sum, each) => sum + each.times, 0);
      edge.classList.toggle('taken', times > 0);
      edge.classList.toggle(
        'recent',
        recent.some((each) => isEdge(edge.dataset, each))
      );
      edge.classList.toggle('last', last !== undefined && isEdge(edge.dataset, toTaken(last)));
      const counter = edge.querySelector('.count');
      if (counter) setText(counter, times > 0 ? ` ×${times}` : '');
      if (times === 0 && !edge.classList.contains('side')) hidden += 1;
    }
    const isOpen = this.element.classList.contains('all');
    setText(this.#fold, isOpen ? 'Hide arrows never taken' : `Show ${hidden} arrows never taken`);
    this.#fold.hidden = hidden === 0;
  }

  #turnFold(): void {
    const isOpen = this.element.classList.toggle('all');
    this.#fold.ariaPressed = String(isOpen);
  }

  async #load(): Promise<void> {
    const response = await fetch(`/console/charts/${machineOf(this.#machine)}.svg`);
    if (!response.ok) return;
    const parsed = new DOMParser().parseFromString(await response.text(), 'image/svg+xml');
    const drawn = document.importNode(parsed.documentElement, true) as unknown as SVGSVGElement;
    for (const note of drawn.querySelectorAll<SVGElement>('.note')) {
      const line = h('li', { class: 'edge' }, note.textContent, h('span', { class: 'count' }));
      Object.assign(line.dataset, note.dataset);
      this.#notes.append(line);
      note.remove();
    }
    const frame = new ZoomFrame(drawn, `chart of ${this.#machine}`);
    this.#frame = frame;
    this.element.append(frame.element, this.#notes);
    this.#states = [...drawn.querySelectorAll<SVGElement>('.state')];
    this.#edges = [...this.element.querySelectorAll<SVGElement | HTMLElement>('.edge')];
    const arrows = drawn.querySelectorAll('.edge:not(.side)').length;
    const isSmall = arrows < FEW_ARROWS;
    this.element.classList.toggle('all', isSmall);
    this.element.classList.toggle('large', drawn.viewBox.baseVal.width > LARGE_PX);
    if (!isSmall) this.#tools.append(this.#fold, ...frame.buttons);
  }
}

/** An event in words: how an effect ended is told by the state that it was for. */
export function eventText(event: string): string {
  const [, how, path] = /^xstate\.(done|error)\.(?:actor|state)\.(?:\d+\.)?(.+)$/.exec(event) ?? [];
  if (how) return `${path!.split('.').at(-1)} ${how === 'done' ? 'ended' : 'failed'}`;
  return event.replace(/^xstate\.after\.(\w+)\..*$/, 'after $1').replace(/^xstate\.init$/, 'start');
}

const isWithin = (state: string, name: string): boolean => state === name || state.startsWith(`${name}.`);

const toTaken = ({ from, to, event }: TransitionEntry): Taken => ({ from: from ?? '', to, event, times: 1 });

function summed(transitions: readonly TransitionEntry[]): Taken[] {
  const taken = new Map<string, Taken>();
  for (const transition of transitions) {
    const key = `${transition.from} ${transition.to} ${transition.event}`;
    const known = taken.get(key);
    if (known) known.times += 1;
    else taken.set(key, toTaken(transition));
  }
  return [...taken.values()];
}

/** An event that ends in an asterisk stands for all that begin like it. */
function isEdge({ from = '', to = '', event = '' }: DOMStringMap, taken: Taken): boolean {
  if (taken.from === '' || !isWithin(taken.to, to) || (from !== '' && !isWithin(taken.from, from))) return false;
  return event
    .split(' ')
    .some((name) => (name.endsWith('*') ? taken.event.startsWith(name.slice(0, -1)) : taken.event === name));
}
