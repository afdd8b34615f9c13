import { waitOf } from '../../src/wire/state/condition.ts';
import { machineOf } from '../../src/wire/state/machine-name.ts';
import type { TimelineEntry } from '../../src/wire/state/timeline.ts';
import { confirmByName } from '../confirm.ts';
import { count, duration, h, setText, Table } from '../dom.ts';
import { changesOf } from '../drawing/changes.ts';
import { Chart, eventText } from '../drawing/chart.ts';
import { Frames } from '../drawing/frames.ts';
import { keyOf } from '../drawing/lanes.ts';
import { LaneView, laneOf } from '../drawing/pipeline.ts';
import { Stories, storiesOf } from '../drawing/story.ts';
import { ask, type LiveDatabase, type LiveState } from '../live.ts';
import { agoText, exactText, whenCell } from '../time.ts';
import { why } from './overview.ts';
import type { View } from './view.ts';

/** Machines that tell nothing until they leave the state that they begin in. */
const AT_REST: Readonly<Record<string, string>> = { restart: 'running', circuitBreaker: 'closed' };
const SHOWN_EVENTS = 30;

/** Returns the names of an actor's machines for which there are charts: one for each instance, in the order of `charts`. */
export function chartedMachines({ charts, machines }: Pick<LiveDatabase, 'charts' | 'machines'>): string[] {
  return charts.flatMap((machine) => {
    const instances = Object.keys(machines).filter((name) => name !== machine && machineOf(name) === machine);
    return instances.length > 0 ? instances.sort() : [machine];
  });
}

/** An operation that a page offers. */
interface Offer {
  readonly name: string;
  readonly path: string;
  readonly isDanger?: boolean;
  /** Whether it changes nothing, and so asks for no confirmation. */
  readonly isHarmless?: boolean;
}

const RESTART = '/debug/actors/KEY/restart';
const RUNNING: readonly Offer[] = [
  { name: 'Restart actor', path: RESTART },
  { name: 'Kill actor', path: '/debug/actors/KEY/kill', isDanger: true },
  { name: 'Pause', path: '/debug/actors/KEY/pause' }
];

/** Returns the operations that apply to an actor in a state. */
export function offersOf(state: string, isReplica: boolean, isHalted: boolean): readonly Offer[] {
  const isUp = state === 'running' || state === 'starting';
  return [
    ...(isUp ? RUNNING : [{ name: 'Resume', path: RESTART }]),
    ...(isUp && isReplica ? [{ name: 'Verify', path: '/debug/actors/KEY/verify', isHarmless: true }] : []),
    ...(isReplica && isHalted ? [{ name: 'Clear halt', path: '/halt/clear/KEY', isDanger: true }] : [])
  ];
}

/** One actor: its charts, what it waits for, why it was restarted, and what an operator may do. */
export class ActorPage implements View {
  readonly showsEntries = true;
  readonly #frames = new Frames();
  readonly element = h('section');
  readonly #key: string;
  readonly #facts = h('dl');
  readonly #values = new Map<string, HTMLElement>();
  readonly #buttons = h('div', { class: 'bar' });
  #shownButtons = '';
  readonly #answer = h('p', { role: 'status' });
  readonly #charts = new Map<string, Chart>();
  readonly #chartList = h('div', { class: 'columns' });
  readonly #lane = new LaneView();
  readonly #stories = new Stories();
  readonly #deaths = new Table('Restarts', ['When', 'Start', 'Cause', 'Reason']);
  readonly #events = new Table('Transitions and faults', ['When', 'Machine', 'Event', 'From', 'To', 'Changed']);

  constructor(key: string) {
    this.#key = key;
    this.element.append(
      h('h2', {}, key),
      h('div', { class: 'lane' }, this.#lane.element),
      this.#buttons,
      this.#answer,
      h('div', { class: 'card' }, this.#facts),
      this.#chartList,
      h('h2', {}, 'Restarts'),
      h('div', { class: 'card' }, this.#stories.element, this.#deaths.element),
      h('h2', {}, 'Transitions and faults, newest first'),
      h('div', { class: 'card' }, this.#events.element)
    );
  }

  update(state: LiveState): void {
    const database = state.database(this.#key);
    if (!database) {
      setText(this.#answer, state.last ? `there is no database ${this.#key}` : '');
      return;
    }
    this.#showButtons(state.last!.operated, state.last!.mode, database);
    this.#showFacts(database);
    this.#lane.update(laneOf(state.last!.pipeline, this.#key));
    const own = state.entries.filter((entry) => keyOf(entry) === this.#key);
    this.#frames.run(
      ...chartedMachines(database).map((machine) => () => this.#showChart(machine, database, own)),
      () => this.#showDeaths(database),
      () => this.#stories.update(storiesOf(own)),
      () => this.#events.update(own.filter(isTold).slice(-SHOWN_EVENTS).reverse().map(describe))
    );
  }

  #showDeaths(database: LiveDatabase): void {
    this.#deaths.update(
      database.restarts.causes.toReversed().map(({ at, generation, cause, reason }) => ({
        key: `${generation} ${at}`,
        cells: [whenCell(at, agoText(at)), String(generation), cause, { text: reason, kind: 'wide' }]
      }))
    );
  }

  /** Shows what applies in the present state; a button under the pointer stays while that does not change. */
  #showButtons(operated: boolean, mode: string | null, { state, report }: LiveDatabase): void {
    const isHalted = Boolean(report?.replica?.halt);
    const offered = operated ? offersOf(state, mode === 'client', isHalted) : [];
    const shown = offered.map(({ name }) => name).join();
    if (this.#shownButtons === shown) return;
    this.#shownButtons = shown;
    this.#buttons.replaceChildren(
      ...offered.map((offer) =>
        h(
          'button',
          { type: 'button', class: offer.isDanger ? 'danger' : null, click: () => void this.#act(offer) },
          offer.name
        )
      )
    );
  }

  async #act({ name, path, isHarmless }: Offer): Promise<void> {
    const reason = isHarmless ? '' : await confirmByName(name, this.#key);
    if (reason === null) return;
    setText(this.#answer, `${name} …`);
    const address = path.replace('KEY', this.#key) + (reason ? `?reason=${encodeURIComponent(reason)}` : '');
    const answer = await ask(address, 'POST').then(
      (body) => (body as { message?: string }).message ?? 'done',
      (fault: Error) => fault.message || 'the key is not accepted'
    );
    setText(this.#answer, `${name}: ${answer}`);
  }

  #showFacts(database: LiveDatabase): void {
    const { state, beacon, waiting, report, restarts } = database;
    const since = waiting?.on ? `, for ${duration(Date.now() - waiting.since)}` : '';
    const waits = `${waitOf(database) ?? 'nothing'}${since}`;
    const mailbox = beacon
      ? `${beacon.mailboxDepth} in work, the oldest for ${duration(beacon.oldestMs)}`
      : 'no thread';
    const thread = beacon
      ? `start ${restarts.total + 1}, heap ${count(Math.round(beacon.heapUsedBytes / 2 ** 20))} MiB, event loop delay ${beacon.eventLoopDelayMs} ms`
      : 'down';
    const facts: Record<string, string> = {
      State: [state, report?.phase].filter(Boolean).join(', '),
      Why: why(database) || 'all is well',
      'Waits for': waits,
      Mailbox: mailbox,
      Thread: thread,
      Height: `${count(report?.height)} of ${count(report?.tip)}`,
      Restarts: `${restarts.inWindow} of ${restarts.budget} in the window, ${restarts.total} in all`,
      ...Object.fromEntries((report?.replica?.sources ?? []).map((source) => [source.url, sourceText(source)]))
    };
    for (const [name, text] of Object.entries(facts)) {
      const value = this.#values.get(name) ?? h('dd');
      if (!this.#values.has(name)) this.#facts.append(h('dt', {}, name), value);
      this.#values.set(name, value);
      setText(value, text);
    }
  }

  /** @param own what happened to this actor */
  #showChart(machine: string, { machines, state }: LiveDatabase, own: readonly TimelineEntry[]): void {
    const transitions = own.filter((entry) => entry.kind === 'transition' && entry.machine === machine);
    const rest = AT_REST[machineOf(machine)] ?? null;
    if (!machines[machine] && transitions.length === 0 && rest === null) return;
    const chart = this.#charts.get(machine) ?? new Chart(machine);
    if (!this.#charts.has(machine)) this.#chartList.append(chart.element);
    this.#charts.set(machine, chart);
    const shown = machines[machine]?.state ?? rest;
    const isShown = state === 'running' || machine === 'restart';
    chart.update(isShown ? shown : null, transitions as never, machines[machine]?.since || null);
  }
}

function sourceText({ state, height, error }: { state: string; height: number | null; error: string | null }): string {
  return [state, height === null ? null : `at ${count(height)}`, error].filter(Boolean).join(', ');
}

const isTold = ({ kind }: TimelineEntry): boolean => kind !== 'message';

function describe(entry: TimelineEntry) {
  const when = whenCell(entry.at, exactText(entry.at));
  const key = String(entry.seq);
  if (entry.kind === 'transition') {
    const changes = { text: changesOf(entry.before, entry.context), kind: 'wide' } as const;
    return { key, cells: [when, entry.machine, eventText(entry.event), entry.from ?? '', entry.to, changes] };
  }
  const [what, text, kind] = fault(entry);
  return { key, cells: [when, '', { text: what, kind }, '', '', { text, kind: 'wide' as const }] };
}

/** Describes an entry that is no transition. */
function fault(entry: TimelineEntry): [string, string, 'good' | 'bad' | 'quiet'] {
  if (entry.kind === 'death') return ['died', `${entry.cause}: ${entry.reason}`, 'bad'];
  if (entry.kind === 'blocks')
    return [entry.direction === 'in' ? 'applied' : 'sent', `blocks ${entry.first} to ${entry.last}`, 'quiet'];
  return ['started', entry.kind === 'start' ? `start ${entry.generation}` : '', 'good'];
}
