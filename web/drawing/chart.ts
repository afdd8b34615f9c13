import { machineOf } from '../../src/wire/state/machine-name.ts';
import type { TimelineEntry } from '../../src/wire/state/timeline.ts';
import { duration, h, setText } from '../dom.ts';
import { clockText, exactText } from '../time.ts';
import { changesOf } from './changes.ts';
import { ZoomFrame } from './zoom.ts';

/** A wider chart gets a line of its own. */
const LARGE_PX = 620;
/** With fewer arrows than that, those never taken are shown too. */
const FEW_ARROWS = 9;
/** The way to where it is: the arrows of so many last transitions. */
const RECENT = 4;
const PASS_MS = 900;
const REDUCED = matchMedia('(prefers-reduced-motion: reduce)');
/** Transitions that are shown of an arrow that was clicked. */
const CHOSEN_EVENTS = 8;

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
  /** The last transitions along the arrow that was clicked. */
  readonly #chosenEvents = h('div', { class: 'chosen', role: 'status' });
  #chosen: DOMStringMap | null = null;
  /** Time of the last transition that is drawn; null before the first look. */
  #lastAt: number | null = null;
  /** As it is observed: with its instance where an actor has several. */
  readonly #machine: string;
  #frame: ZoomFrame | undefined;
  #state: string | null = null;
  #states: readonly SVGElement[] = [];
  #edges: readonly (SVGElement | HTMLElement)[] = [];

  constructor(machine: string) {
    this.#machine = machine;
    this.element.append(h('div', { class: 'top' }, this.#caption, this.#tools));
    this.element.addEventListener('click', ({ target }) => {
      const edge = (target as Element).closest<SVGElement>('svg .edge');
      if (edge) this.#chosen = edge.dataset;
    });
    void this.#load();
  }

  /**
   * @param state the machine's present state, e.g. `polling.behind`; null while its actor is down
   * @param since when it came to that state; null where the chart shows the past
   */
  update(state: string | null, transitions: readonly TransitionEntry[], since: number | null = null): void {
    const last = transitions.at(-1);
    const lastEvent = last ? `; last: ${eventText(last.event)} at ${clockText(last.at)}` : '';
    const lasts = state === null || since === null ? '' : ` for ${duration(Date.now() - since)}`;
    setText(this.#caption, `${this.#machine}: ${state ?? 'down'}${lasts}${lastEvent}`);
    this.#showChosen(transitions);
    for (const node of this.#states)
      node.classList.toggle('active', state !== null && isWithin(state, node.dataset['state']!));
    const active = this.#states.findLast((node) => node.classList.contains('active'));
    if (active && this.#state !== state) this.#frame!.centre(active);
    if (active) this.#state = state;
    const taken = summed(transitions);
    const recent = transitions.slice(-RECENT).map(toTaken);
    const isNew = last !== undefined && this.#lastAt !== null && last.at > this.#lastAt;
    this.#lastAt = last?.at ?? 0;
    let hidden = 0;
    for (const edge of this.#edges) {
      const times = taken.filter((each) => isEdge(edge.dataset, each)).reduce((sum, each) => sum + each.times, 0);
      edge.classList.toggle('taken', times > 0);
      edge.classList.toggle(
        'recent',
        recent.some((each) => isEdge(edge.dataset, each))
      );
      const isLast = last !== undefined && isEdge(edge.dataset, toTaken(last));
      edge.classList.toggle('last', isLast);
      if (isNew && isLast && edge instanceof SVGElement) showPass(edge);
      const counter = edge.querySelector('.count');
      if (counter) setText(counter, times > 0 ? ` ×${times}` : '');
      if (times === 0 && !edge.classList.contains('side')) hidden += 1;
    }
    const isOpen = this.element.classList.contains('all');
    setText(this.#fold, isOpen ? 'Hide arrows never taken' : `Show ${hidden} arrows never taken`);
    this.#fold.hidden = hidden === 0;
  }

  #showChosen(transitions: readonly TransitionEntry[]): void {
    if (this.#chosen === null) return;
    const edge = this.#chosen;
    const along = transitions.filter((each) => isEdge(edge, toTaken(each))).slice(-CHOSEN_EVENTS);
    const lines = along.toReversed().map(({ at, event, before, context }) => {
      const changes = changesOf(before, context);
      return `${exactText(at)} ${eventText(event)}${changes === '' ? '' : `: ${changes}`}`;
    });
    if (lines.length === 0) lines.push('Nobody took this arrow in the time that is kept.');
    while (this.#chosenEvents.children.length > lines.length) this.#chosenEvents.lastElementChild!.remove();
    for (const [index, line] of lines.entries())
      setText(this.#chosenEvents.children[index] ?? this.#chosenEvents.appendChild(h('p', {})), line);
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
    this.element.append(frame.element, this.#chosenEvents, this.#notes);
    this.#states = [...drawn.querySelectorAll<SVGElement>('.state')];
    this.#edges = [...this.element.querySelectorAll<SVGElement | HTMLElement>('.edge')];
    const arrows = drawn.querySelectorAll('.edge:not(.side)').length;
    const isSmall = arrows < FEW_ARROWS;
    this.element.classList.toggle('all', isSmall);
    this.element.classList.toggle('large', drawn.viewBox.baseVal.width > LARGE_PX);
    if (!isSmall) this.#tools.append(this.#fold, ...frame.buttons);
  }
}

/** Lets a dot go along an arrow that was just taken. */
function showPass(edge: SVGElement): void {
  const line = edge.querySelector('path:not(.head)')?.getAttribute('d');
  if (!line || REDUCED.matches) return;
  const dot = document.createElementNS('http://www.w3.org/2000/svg', 'circle');
  dot.setAttribute('r', '5');
  dot.classList.add('dot');
  dot.style.offsetPath = `path("${line}")`;
  edge.append(dot);
  const passing = dot.animate([{ offsetDistance: '0%' }, { offsetDistance: '100%' }], PASS_MS);
  passing.addEventListener('finish', () => dot.remove());
}

/** Returns an event in words: how an effect ended is told by the state that it was for. */
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

/** Returns whether an edge is the event's. One that ends in an asterisk stands for all that begin like it. */
function isEdge({ from = '', to = '', event = '' }: DOMStringMap, taken: Taken): boolean {
  if (taken.from === '' || !isWithin(taken.to, to) || (from !== '' && !isWithin(taken.from, from))) return false;
  return event
    .split(' ')
    .some((name) => (name.endsWith('*') ? taken.event.startsWith(name.slice(0, -1)) : taken.event === name));
}
