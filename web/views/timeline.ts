import type { TimelineEntry } from '../../src/wire/state/timeline.ts';
import { type Cell, h, setText, Table } from '../dom.ts';
import { Chart, eventText } from '../drawing/chart.ts';
import { Frames } from '../drawing/frames.ts';
import { keyOf, Lanes, type Span } from '../drawing/lanes.ts';
import { Stories, storiesOf } from '../drawing/story.ts';
import type { LiveState } from '../live.ts';
import { chartedMachines } from './actor.ts';
import { why } from './overview.ts';
import type { View } from './view.ts';

const KINDS = ['transition', 'blocks', 'message', 'start', 'death'] as const;
const SPANS = [
  ['10000', '10 seconds'],
  ['60000', '1 minute'],
  ['300000', '5 minutes'],
  ['3600000', '1 hour']
] as const;
const SHOWN_EVENTS = 30;

/** All actors over time, with a scrubber back to any instant that is still known. */
export class TimelinePage implements View {
  readonly element = h('section', {}, h('h2', {}, 'Timeline'));
  readonly showsEntries = true;
  readonly #frames = new Frames();
  readonly #kinds = KINDS.map((kind) => h('input', { type: 'checkbox', checked: kind !== 'message', value: kind }));
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
    max: '1000',
    value: '1000',
    id: 'scrub',
    'aria-label': 'Instant'
  });
  readonly #instant = h('p', { role: 'status' });
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
  #state: LiveState | null = null;
  #picked: TimelineEntry | undefined;

  constructor() {
    this.#span.value = '60000';
    for (const control of [...this.#kinds, this.#text, this.#span, this.#scrub])
      control.addEventListener('input', () => this.#show());
    this.#lanes.element.addEventListener('click', ({ offsetX, offsetY }) => this.#pick(offsetX, offsetY));
    const boxes = this.#kinds.map((box) => h('label', {}, box, box.value));
    const download = h('button', { type: 'button', click: () => this.#export() }, 'Export');
    const now = h(
      'button',
      { type: 'button', id: 'now', 'aria-keyshortcuts': 'n', click: () => this.#follow() },
      'Now'
    );
    this.element.append(
      h('div', { class: 'bar' }, this.#text, ...boxes, this.#span, now, download),
      h('div', { class: 'card' }, this.#instant, this.#lanes.element, this.#scrub),
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
    if (this.#isFollowing || !this.#isShown) this.#show();
  }

  get #isFollowing(): boolean {
    return this.#scrub.value === '1000';
  }

  get #isShown(): boolean {
    return this.#instant.textContent !== '';
  }

  #follow(): void {
    this.#scrub.value = '1000';
    this.#picked = undefined;
    this.#show();
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
    const now = this.#state?.last?.now ?? Date.now();
    const oldest = all[0]?.at ?? now;
    const instant = oldest + ((now - oldest) * Number(this.#scrub.value)) / 1000;
    const entries = this.#entries();
    const span: Span = { from: instant - Number(this.#span.value), to: instant };
    const lanes = (this.#state?.last?.databases ?? []).map(({ key }) => key);
    const looked = this.#picked?.at ?? instant;
    const past = this.#isFollowing ? `now: ${this.#presentText()}` : new Date(instant).toLocaleTimeString();
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

  /** The charts of one actor as they were at an instant. */
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
    const content = JSON.stringify({ exportedAt: new Date().toISOString(), entries: this.#state?.entries ?? [] });
    const url = URL.createObjectURL(new Blob([content], { type: 'application/json' }));
    h('a', { href: url, download: 'timeline.json' }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1_000);
  }
}

/** The last entries until an instant, newest first. */
function lastUntil(entries: readonly TimelineEntry[], instant: number, count: number): TimelineEntry[] {
  const last: TimelineEntry[] = [];
  for (let index = entries.length - 1; index >= 0 && last.length < count; index -= 1)
    if (entries[index]!.at <= instant) last.push(entries[index]!);
  return last;
}

/** Each machine's last state at an instant. */
function statesAt(entries: readonly TimelineEntry[], instant: number) {
  const last = new Map<string, Map<string, Extract<TimelineEntry, { kind: 'transition' }>>>();
  for (const entry of entries) {
    if (entry.at > instant) break;
    if (entry.kind !== 'transition') continue;
    const machines = last.get(keyOf(entry));
    if (machines) machines.set(entry.machine, entry);
    else last.set(keyOf(entry), new Map([[entry.machine, entry]]));
  }
  return [...last.entries()].sort().flatMap(([database, machines]) =>
    [...machines.values()].map((entry) => {
      const context: Cell = { text: JSON.stringify(entry.context ?? {}), kind: 'wide' };
      const cells = [database, entry.machine, entry.to, new Date(entry.at).toLocaleTimeString(), context];
      return { key: `${database} ${entry.machine}`, cells };
    })
  );
}

function cells(entry: TimelineEntry): Cell[] {
  const [what, details] = words(entry);
  const kind = entry.kind === 'death' || (entry.kind === 'message' && entry.error) ? 'bad' : 'quiet';
  return [new Date(entry.at).toLocaleTimeString(), keyOf(entry), { text: what, kind }, { text: details, kind: 'wide' }];
}

const textOf = (entry: TimelineEntry): string => [keyOf(entry), ...words(entry)].join(' ');

function words(entry: TimelineEntry): [string, string] {
  switch (entry.kind) {
    case 'transition':
      return [`${entry.machine}: ${entry.to}`, `${eventText(entry.event)}, from ${entry.from ?? 'nothing'}`];
    case 'death':
      return ['died', `${entry.cause}: ${entry.reason}`];
    case 'start':
      return ['started', `start ${entry.generation}`];
    case 'blocks':
      return [entry.direction === 'in' ? 'applied' : 'sent', `blocks ${entry.first} to ${entry.last}`];
    case 'message':
      return [
        entry.direction === 'in' ? `asked ${entry.type}` : `asks ${entry.type}`,
        entry.error ? `${entry.error} after ${entry.ms} ms` : `replied after ${entry.ms} ms`
      ];
  }
}
