import type { TimelineEntry } from '../../src/wire/state/timeline.ts';
import { h, saveJson, setText, Table } from '../dom.ts';
import { Chart } from '../drawing/chart.ts';
import { Frames } from '../drawing/frames.ts';
import { keyOf, Lanes, type Span } from '../drawing/lanes.ts';
import { Stories, storiesOf } from '../drawing/story.ts';
import type { LiveState } from '../live.ts';
import { notePlace, placeParameters } from '../place.ts';
import { exactText, fullText } from '../time.ts';
import { chartedMachines } from './actor.ts';
import { why } from './overview.ts';
import { cells, lastUntil, statesAt, textOf } from './timeline-rows.ts';
import type { View } from './view.ts';

const KINDS = ['transition', 'blocks', 'message', 'start', 'death'] as const;
const USUAL_KINDS: readonly string[] = KINDS.filter((kind) => kind !== 'message');
const SCRUB_STEPS = 1_000;
const HINT = 'Point at a mark to read it; drag to move in time, Ctrl and the wheel to zoom.';
/** Colour of each kind's marks; what failed is red in any of them. */
const MARK_COLOURS: Readonly<Record<(typeof KINDS)[number], string>> = {
  transition: 'accent',
  blocks: 'good',
  message: 'grey',
  start: 'good',
  death: 'bad'
};
const SPANS = [
  ['1000', '1 second'],
  ['10000', '10 seconds'],
  ['60000', '1 minute'],
  ['300000', '5 minutes'],
  ['3600000', '1 hour']
] as const;
const SHOWN_EVENTS = 30;
/** A pointer that moves less than that clicks. */
const CLICK_PX = 4;
/** Time for which a page that was opened at an instant takes in what is known of it. */
const LOADING_MS = 5_000;

/** All actors over time, with a scrubber back to any instant that is still known. */
export class TimelinePage implements View {
  readonly element = h('section', {}, h('h2', {}, 'Timeline'));
  readonly showsEntries = true;
  readonly #frames = new Frames();
  readonly #kinds = KINDS.map((kind) =>
    h('input', { type: 'checkbox', checked: USUAL_KINDS.includes(kind), value: kind })
  );
  readonly #text = h('input', {
    type: 'search',
    placeholder: 'database, machine, event, state',
    'aria-label': 'Filter'
  });
  readonly #span = h(
    'select',
    { 'aria-label': 'Time shown' },
    ...SPANS.map(([value, name]) => h('option', { value }, name))
  );
  readonly #scrub = h('input', {
    type: 'range',
    min: '0',
    max: String(SCRUB_STEPS),
    value: String(SCRUB_STEPS),
    id: 'scrub',
    'aria-label': 'Instant'
  });
  readonly #instant = h('p', { role: 'status' });
  readonly #pointed = h('p', { class: 'quiet under-pointer' }, HINT);
  readonly #lanes = new Lanes();
  readonly #stories = new Stories();
  readonly #states = new Table('States at the instant', ['Database', 'Machine', 'State', 'Since', 'Context']);
  readonly #charted = h(
    'select',
    { 'aria-label': 'Charts of', change: () => this.#show() },
    h('option', { value: '' }, 'no charts')
  );
  readonly #charts = new Map<string, Chart>();
  readonly #chartList = h('div', { class: 'columns' });
  readonly #events = new Table('Events', ['When', 'Database', 'What', 'Details']);
  readonly #madeAt = performance.now();
  #state: LiveState | null = null;
  #picked: TimelineEntry | undefined;
  /** The instant that is looked at, Unix milliseconds; null: now. */
  #at: number | null = null;

  constructor() {
    this.#span.value = '60000';
    this.#readPlace();
    for (const control of [...this.#kinds, this.#text, this.#span])
      control.addEventListener('input', () => this.#show());
    this.#scrub.addEventListener('input', () => {
      const { oldest, now } = this.#known();
      const part = Number(this.#scrub.value) / SCRUB_STEPS;
      this.#turnTo(part === 1 ? null : oldest + (now - oldest) * part);
    });
    this.#lanes.element.addEventListener('pointerdown', (event) => this.#take(event));
    this.#lanes.element.addEventListener('pointermove', ({ offsetX, offsetY }) => {
      const found = this.#lanes.find(this.#entries(), offsetX, offsetY);
      setText(this.#pointed, found ? `${exactText(found.at)}: ${textOf(found)}` : HINT);
    });
    this.#lanes.element.addEventListener('wheel', (event) => this.#zoom(event), { passive: false });
    const boxes = this.#kinds.map((box) =>
      h(
        'label',
        {},
        box,
        h('i', { class: `swatch ${MARK_COLOURS[box.value as keyof typeof MARK_COLOURS]}` }),
        box.value
      )
    );
    const download = h('button', { type: 'button', click: () => this.#export() }, 'Export');
    const now = h(
      'button',
      { type: 'button', id: 'now', 'aria-keyshortcuts': 'n', click: () => this.#follow() },
      'Now'
    );
    this.element.append(
      h('div', { class: 'bar' }, this.#text, ...boxes, this.#span, now, download),
      h('div', { class: 'card' }, this.#instant, this.#lanes.element, this.#pointed, this.#scrub),
      h('h2', {}, 'Restarts, newest first'),
      h('div', { class: 'card' }, this.#stories.element),
      h('h2', {}, 'States at that instant'),
      h('div', { class: 'bar' }, h('label', {}, 'State charts at that instant: ', this.#charted)),
      this.#chartList,
      h('div', { class: 'card' }, this.#states.element),
      h('h2', {}, 'Events, newest first'),
      h('div', { class: 'card' }, this.#events.element)
    );
  }

  update(state: LiveState): void {
    this.#state = state;
    const isLoading = performance.now() - this.#madeAt < LOADING_MS;
    if (this.#isFollowing || isLoading || this.#instant.textContent === '') this.#show();
  }

  get #isFollowing(): boolean {
    return this.#at === null;
  }

  /** Returns the times of the oldest entry that is kept and of the last look. */
  #known(): { readonly oldest: number; readonly now: number } {
    const now = this.#state?.last?.now ?? Date.now();
    return { oldest: this.#state?.entries[0]?.at ?? now, now };
  }

  #follow(): void {
    this.#turnTo(null);
  }

  /** @param at null: now */
  #turnTo(at: number | null): void {
    this.#at = at;
    this.#picked = undefined;
    this.#show();
  }

  /** Moves the lanes under a pointer that drags them; one that does not picks what it points at. */
  #take({ pointerId, clientX, offsetX, offsetY }: PointerEvent): void {
    const { element } = this.#lanes;
    const { oldest, now } = this.#known();
    const start = this.#at ?? now;
    let isDrag = false;
    element.setPointerCapture(pointerId);
    const drag = (event: PointerEvent) => {
      const moved = event.clientX - clientX;
      isDrag ||= Math.abs(moved) > CLICK_PX;
      if (!isDrag) return;
      const at = Math.max(oldest, start - this.#lanes.spanOf(moved));
      this.#turnTo(at >= now ? null : at);
    };
    element.addEventListener('pointermove', drag);
    const letGo = () => {
      element.removeEventListener('pointermove', drag);
      if (!isDrag) this.#pick(offsetX, offsetY);
    };
    element.addEventListener('lostpointercapture', letGo, { once: true });
  }

  /** Zooms. The wheel alone scrolls the page; a pinch comes as a wheel with Ctrl. */
  #zoom(event: WheelEvent): void {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const next = this.#span.selectedIndex + Math.sign(event.deltaY);
    this.#span.selectedIndex = Math.min(SPANS.length - 1, Math.max(0, next));
    this.#show();
  }

  /** Takes what the page's address says: the instant, the filter, the time shown and the kinds. */
  #readPlace(): void {
    const parameters = placeParameters();
    const at = Number(parameters.get('at'));
    if (at > 0) this.#at = at;
    this.#text.value = parameters.get('filter') ?? '';
    const span = parameters.get('span');
    if (SPANS.some(([value]) => value === span)) this.#span.value = span!;
    const kinds = parameters.get('kinds')?.split(',');
    if (kinds) for (const box of this.#kinds) box.checked = kinds.includes(box.value);
  }

  #notePlace(): void {
    const kinds = this.#kinds.filter(({ checked }) => checked).map(({ value }) => value);
    notePlace({
      at: this.#at === null ? null : String(Math.round(this.#at)),
      filter: this.#text.value.trim(),
      span: this.#span.value === '60000' ? null : this.#span.value,
      kinds: kinds.join() === USUAL_KINDS.join() ? null : kinds.join()
    });
  }

  #pick(offsetX: number, offsetY: number): void {
    this.#picked = this.#lanes.find(this.#entries(), offsetX, offsetY);
    this.#show();
  }

  #entries(): TimelineEntry[] {
    const kinds = new Set(this.#kinds.filter(({ checked }) => checked).map(({ value }) => value));
    const wanted = this.#text.value.trim().toLowerCase();
    const all = this.#state?.entries ?? [];
    if (wanted === '' && kinds.size === KINDS.length) return all;
    return all.filter(
      (entry) => kinds.has(entry.kind) && (wanted === '' || textOf(entry).toLowerCase().includes(wanted))
    );
  }

  #show(): void {
    const all = this.#state?.entries ?? [];
    const { oldest, now } = this.#known();
    const instant = this.#at ?? now;
    const part = this.#at === null || now <= oldest ? 1 : (instant - oldest) / (now - oldest);
    this.#scrub.value = String(Math.round(part * SCRUB_STEPS));
    this.#notePlace();
    const entries = this.#entries();
    const span: Span = { from: instant - Number(this.#span.value), to: instant };
    const lanes = (this.#state?.last?.databases ?? []).map(({ key }) => key);
    const looked = this.#picked?.at ?? instant;
    const past = this.#isFollowing ? `now: ${this.#presentText()}` : fullText(instant);
    setText(this.#instant, this.#picked ? `${past}; picked: ${textOf(this.#picked)}` : past);
    this.#offerCharts(lanes);
    this.#frames.run(
      () => this.#lanes.draw(lanes, entries, span, looked, now),
      () => this.#stories.update(storiesOf(all.filter(({ at }) => at <= looked))),
      () => this.#states.update(statesAt(all, looked)),
      () => this.#showCharts(all, looked),
      () => {
        const shown = lastUntil(entries, instant, SHOWN_EVENTS);
        this.#events.update(shown.map((entry) => ({ key: String(entry.seq), cells: cells(entry) })));
      }
    );
  }

  /** Returns the present condition of the actors: those that are not well, or that all are. */
  #presentText(): string {
    const databases = this.#state?.last?.databases ?? [];
    if (databases.length === 0) return 'no actor yet';
    const others = databases
      .map((database) => ({ key: database.key, reason: why(database) }))
      .filter(({ reason }) => reason);
    if (others.length === 0)
      return databases.length === 1 ? 'the actor is well' : `all ${databases.length} actors are well`;
    return others.map(({ key, reason }) => `${key} ${reason}`).join('; ');
  }

  #offerCharts(lanes: readonly string[]): void {
    const offered = new Set([...this.#charted.options].map(({ value }) => value));
    this.#charted.append(...lanes.filter((key) => !offered.has(key)).map((key) => h('option', {}, key)));
  }

  /** Shows the charts of one actor as they were at an instant. */
  #showCharts(all: readonly TimelineEntry[], instant: number): void {
    const key = this.#charted.value;
    const database = this.#state?.last?.databases.find((each) => each.key === key);
    const machines = database ? chartedMachines(database) : [];
    for (const machine of machines) if (!this.#charts.has(machine)) this.#charts.set(machine, new Chart(machine));
    this.#chartList.replaceChildren(...machines.map((machine) => this.#charts.get(machine)!.element));
    for (const machine of machines) {
      const transitions = all.filter(
        (entry): entry is Extract<TimelineEntry, { kind: 'transition' }> =>
          entry.kind === 'transition' && entry.machine === machine && entry.at <= instant && keyOf(entry) === key
      );
      this.#charts.get(machine)!.update(transitions.at(-1)?.to ?? null, transitions);
    }
  }

  #export(): void {
    saveJson('timeline.json', { exportedAt: new Date().toISOString(), entries: this.#state?.entries ?? [] });
  }
}
