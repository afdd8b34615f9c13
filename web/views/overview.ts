import { conditionOf } from '../../src/wire/state/condition.ts';
import { NEAR_BLOCKS, PIPELINE_STATES, type Pipeline, type PipelineState } from '../../src/wire/state/pipeline.ts';
import { type Cell, count, duration, h, Table } from '../dom.ts';
import { Frames } from '../drawing/frames.ts';
import { laneOf, MARKS } from '../drawing/pipeline.ts';
import type { LiveDatabase, LiveState } from '../live.ts';
import { stateOfReadiness, WORST_FIRST } from '../tab.ts';
import { LaneCard } from './lane-card.ts';
import { Platform } from './platform.ts';
import type { View } from './view.ts';

const COLUMNS = [
  'Database',
  'State',
  'Verified',
  'Lag',
  'Height',
  'Blocks/min',
  'Progress',
  'Circuit',
  'Subscribers',
  'Restarts left'
];

const ROWS_A_FRAME = 3;
/** A lane that is further away is out of sight. */
const NEAR_SIGHT = '200px';

/** The way of blocks from upstream to downstream, then one row a database: how far, how long still, why not. */
export class Overview implements View {
  readonly element = h('section', { class: 'overview' });
  readonly #chips = h('div', { class: 'chips', role: 'status' });
  readonly #platform = new Platform();
  readonly #lanes = h('div', { class: 'lanes' });
  readonly #table = new Table('Databases', COLUMNS);
  readonly #empty = h('div', { class: 'card empty', role: 'status' });
  readonly #details = h('div', {}, h('h2', {}, 'Databases'), h('div', { class: 'card' }, this.#table.element));
  readonly #frames = new Frames();
  readonly #drawn = new Map<string, LaneCard>();
  readonly #links = new Map<string, HTMLAnchorElement>();
  readonly #seen = new Set<Element>();
  readonly #sight = new IntersectionObserver((changes) => this.#see(changes), { rootMargin: NEAR_SIGHT });
  #turn = 0;

  constructor() {
    this.element.append(h('h2', { class: 'spoken' }, 'Pipeline'), this.#chips, this.#platform.element);
    this.element.append(this.#lanes, this.#empty, this.#details);
  }

  update(state: LiveState): void {
    if (!state.last) {
      this.#showEmpty('Asking the service …', '');
      return;
    }
    const { databases, pipeline, platform, readiness } = state.last;
    const lanes = lanesOf(pipeline);
    this.#details.hidden = databases.length === 0;
    this.#empty.hidden = lanes.length > 0;
    if (lanes.length === 0) {
      const hub = pipeline.nodes.find(({ reason }) => reason !== null);
      this.#showEmpty(
        'No database yet',
        hub?.reason ?? 'The service was given none: a database appears here once it is named.'
      );
    }
    this.#showChips(pipeline, lanes, readiness);
    this.#arrange(lanes);
    const drawn = this.#due(lanes).map(({ lane, isSeen }) => () => {
      this.#drawn.get(lane ?? '')?.update(pipeline, state, isSeen);
    });
    const rows = databases.map((database) => ({ key: database.key, cells: () => this.#cells(database, state) }));
    const drawPlatform = () => this.#platform.update(platform);
    this.#frames.run(drawPlatform, ...drawn, ...this.#table.inParts(rows, ROWS_A_FRAME));
  }

  /** The lanes to draw now: all that are in sight, and of the others one at each look, by turns. */
  #due(lanes: readonly (string | null)[]): { readonly lane: string | null; readonly isSeen: boolean }[] {
    const all = lanes.map((lane) => ({ lane, isSeen: this.#seen.has(this.#drawn.get(lane ?? '')!.card) }));
    const others = all.filter(({ isSeen }) => !isSeen);
    const next = others[this.#turn++ % Math.max(1, others.length)];
    return all.filter((each) => each.isSeen || each === next);
  }

  #see(changes: readonly IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of changes)
      if (isIntersecting) this.#seen.add(target);
      else this.#seen.delete(target);
  }

  #showEmpty(title: string, text: string): void {
    if (this.#empty.firstChild?.textContent === title) return;
    this.#empty.replaceChildren(h('b', {}, title), h('p', { class: 'quiet' }, text));
  }

  /** Shows the boxes that belong to no lane, and the number of lanes in each state. */
  #showChips(pipeline: Pipeline, lanes: readonly (string | null)[], readiness: string): void {
    const worst = lanes.map((lane) => worstOf(laneOf(pipeline, lane)));
    const counts = PIPELINE_STATES.map((state) => ({ state, number: worst.filter((each) => each === state).length }));
    const alone = pipeline.nodes.filter(({ lane }) => lane === null && !lanes.includes(null));
    const chips: [PipelineState, string][] = [
      [stateOfReadiness(readiness), readiness],
      ...counts
        .filter(({ number }) => number > 0)
        .map(({ state, number }): [PipelineState, string] => [state, `${number} ${state}`]),
      ...alone.map(({ state, name, doing }): [PipelineState, string] => [state, `${name} ${doing}`])
    ];
    const text = JSON.stringify(chips);
    if (this.#chips.dataset['shown'] === text) return;
    this.#chips.dataset['shown'] = text;
    this.#chips.replaceChildren(...chips.map(([state, label]) => chip(state, label)));
  }

  #arrange(lanes: readonly (string | null)[]): void {
    const keys = new Set(lanes.map((lane) => lane ?? ''));
    for (const [key, { card }] of this.#drawn)
      if (!keys.has(key)) {
        card.remove();
        this.#sight.unobserve(card);
        this.#seen.delete(card);
        this.#drawn.delete(key);
      }
    for (const key of keys)
      if (!this.#drawn.has(key)) {
        const lane = new LaneCard(key);
        this.#drawn.set(key, lane);
        this.#seen.add(lane.card); // until its place is known
        this.#sight.observe(lane.card);
      }
    const cards = [...keys].map((key) => this.#drawn.get(key)!.card);
    if (cards.some((card, index) => this.#lanes.children[index] !== card)) this.#lanes.replaceChildren(...cards);
  }

  #cells(database: LiveDatabase, state: LiveState): Cell[] {
    const { key, report, subscriber_count } = database;
    const rate = state.rate(key);
    const lag = report?.lagBlocks ?? null;
    return [
      this.#link(key),
      stateCell(database),
      verified(database),
      lag === null ? '–' : { text: count(lag), kind: lag > NEAR_BLOCKS ? 'warn' : 'good' },
      count(report?.height),
      rate === null ? '–' : count(Math.round(rate * 10) / 10),
      progress(database, state),
      circuitCell(database),
      report?.mode === 'server' ? count(subscriber_count) : '–',
      restartsLeft(database)
    ];
  }

  #link(key: string): HTMLAnchorElement {
    const link = this.#links.get(key) ?? h('a', { href: `#/actor/${key}` }, key);
    this.#links.set(key, link);
    return link;
  }
}

/** Returns the databases that have boxes; boxes of none are a lane of their own where arrows join them. */
function lanesOf({ nodes, edges }: Pipeline): (string | null)[] {
  const named = [...new Set(nodes.map(({ lane }) => lane).filter((lane) => lane !== null))].sort();
  const isJoined = nodes.some(({ lane, id }) => lane === null && edges.some(({ from }) => from === id));
  return isJoined ? [null, ...named] : named;
}

/** Returns the state of the worst box, which is that of its lane. Subscribers and sources may be away as long as one is there. */
function worstOf({ nodes, edges }: Pipeline): PipelineState {
  const counted = nodes.filter(
    ({ role, id }) => role !== 'subscribers' && !edges.some(({ from, carries }) => from === id && carries)
  );
  return WORST_FIRST.find((state) => counted.some((node) => node.state === state)) ?? 'unknown';
}

function chip(state: PipelineState, label: string): HTMLElement {
  const mark = h('span', { class: 'mark', 'aria-hidden': 'true' }, MARKS[state]);
  return h('span', { class: 'chip', 'data-state': state }, mark, ` ${label}`);
}

/** Returns the most urgent fact for an operator; empty when all is well. */
export function why(database: LiveDatabase): string {
  const { state, doing, reason } = conditionOf(database);
  if (state === 'failed' && reason) return `${doing}: ${reason}`;
  return reason ?? (state === 'well' ? '' : doing);
}

function stateCell(database: LiveDatabase): Cell {
  const { state, doing } = conditionOf(database);
  const kind = state === 'failed' ? 'bad' : state === 'well' ? 'good' : state === 'working' ? 'busy' : 'warn';
  return { text: doing, kind };
}

function circuitCell({ state, report }: LiveDatabase): Cell {
  if (state !== 'running' || !report) return '–';
  if (report.circuit === null) return '–';
  return { text: report.circuit, kind: report.circuit === 'closed' ? 'good' : 'bad' };
}

function verified({ report }: LiveDatabase): Cell {
  const replica = report?.replica;
  if (!replica) return '–';
  if (replica.verification !== 'verified')
    return { text: replica.verification, kind: 'warn', title: replica.verificationReason ?? '' };
  return { text: `at ${count(replica.verifiedHeight)}`, kind: 'good' };
}

function restartsLeft({ restarts }: LiveDatabase): Cell {
  const left = Math.max(0, restarts.budget - restarts.inWindow);
  return { text: `${left} of ${restarts.budget}`, kind: left === 0 ? 'bad' : left < 5 ? 'warn' : 'good' };
}

/** Returns the progress of the look at changes of older rows; null when all was sent, or is here. */
function settling(report: LiveDatabase['report']): string | null {
  if (report?.replica?.settling) return 'settling';
  return report?.settling ? `settling: ${report.settling.left} of ${report.settling.tables} tables left` : null;
}

/** Shows the percent of a bootstrap or catch-up with its rate, and the time that is left at it. */
function progress({ key, report }: LiveDatabase, state: LiveState): string {
  const { percent = null, rowsPerSecond = null, etaSeconds = null } = report?.replica ?? {};
  const [rate, lag] = [state.rate(key), report?.lagBlocks ?? null];
  const leftMs = etaSeconds !== null ? etaSeconds * 1_000 : rate && lag && rate > 0 ? (lag / rate) * 60_000 : null;
  const left = leftMs === null ? null : `${duration(leftMs)} left`;
  if (percent === null || percent >= 100) return lag === 0 ? (settling(report) ?? 'caught up') : (left ?? '–');
  const rows = rowsPerSecond === null ? null : `${count(Math.round(rowsPerSecond))} rows/s`;
  return [`${percent.toFixed(0)} %`, rows, left].filter((part) => part !== null).join(', ');
}
