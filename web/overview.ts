import { remedyOf } from '../src/wire/halts.ts';
import { type Cell, count, duration, h, setText, Table } from './dom.ts';
import { Frames } from './frames.ts';
import type { LiveDatabase, LiveState } from './live.ts';
import { Plot } from './plot.ts';
import type { View } from './view.ts';

const COLUMNS = [
  'Database',
  'State',
  'Height',
  'Lag',
  'Blocks/min',
  'Last 5 min',
  'Progress',
  'Circuit',
  'Verified',
  'Subscribers',
  'Restarts left',
  'Why'
];

const ROWS_A_FRAME = 6;

/** One row a database: is it caught up, how long still, why is it not moving. */
export class Overview implements View {
  readonly element = h('section', {}, h('h2', {}, 'Databases'));
  readonly #table = new Table('Databases', COLUMNS);
  readonly #ready = h('p', { role: 'status' });
  readonly #empty = h('p', { class: 'quiet' }, 'No database yet: the hub names none, or has not answered.');
  readonly #frames = new Frames();
  readonly #plots = new Map<string, Plot>();
  readonly #links = new Map<string, HTMLAnchorElement>();

  constructor() {
    this.element.append(this.#ready, h('div', { class: 'card' }, this.#table.element, this.#empty));
  }

  update(state: LiveState): void {
    const databases = state.last?.databases ?? [];
    this.#empty.hidden = databases.length > 0;
    if (state.last) setText(this.#ready, `Version ${state.last.version}. /readyz says: ${state.last.readiness}.`);
    const rows = databases.map((database) => ({ key: database.key, cells: () => this.#cells(database, state) }));
    this.#frames.run(...this.#table.inParts(rows, ROWS_A_FRAME));
  }

  #cells(database: LiveDatabase, state: LiveState): Cell[] {
    const { key, report, restarts, subscriber_count } = database;
    const rate = state.rate(key);
    const lag = report?.lagBlocks ?? null;
    return [
      this.#link(key),
      stateCell(database),
      count(report?.height),
      lag === null ? '–' : { text: count(lag), kind: lag > 3 ? 'warn' : 'good' },
      rate === null ? '–' : count(Math.round(rate * 10) / 10),
      this.#plot(key, state),
      progress(database, state),
      circuitCell(database),
      verified(database),
      report?.mode === 'server' ? count(subscriber_count) : '–',
      restartsLeft(database),
      { text: why(database) || (restarts.total > 0 ? `restarts: ${restarts.total}` : ''), kind: 'wide' }
    ];
  }

  #link(key: string): HTMLAnchorElement {
    const link = this.#links.get(key) ?? h('a', { href: `#/actor/${key}` }, key);
    this.#links.set(key, link);
    return link;
  }

  #plot(key: string, state: LiveState): Element {
    const plot = this.#plots.get(key) ?? new Plot(`blocks of ${key} over the last minutes`);
    this.#plots.set(key, plot);
    plot.update(state.samples.get(key) ?? []);
    return plot.element;
  }
}

/** What an operator needs to know first. */
export function why({ state, reason, report, waiting }: LiveDatabase): string {
  const halt = report?.replica?.halt;
  if (halt) return `halted: ${halt.reason}; ${remedyOf(halt)}`;
  if (state !== 'running') return reason?.message ?? state;
  if (report?.lastError) return report.lastError;
  return waiting?.on ? `waits for ${waiting.on}, ${duration(Date.now() - waiting.since)}` : '';
}

function stateCell({ state, report }: LiveDatabase): Cell {
  if (state !== 'running') return { text: state, kind: state === 'starting' ? 'warn' : 'bad' };
  if (report?.replica?.halt) return { text: 'halted', kind: 'bad' };
  return report?.phase ?? 'starting';
}

function circuitCell({ state, report }: LiveDatabase): Cell {
  if (state !== 'running' || !report) return '–';
  return { text: report.circuit, kind: report.circuit === 'closed' ? 'good' : 'bad' };
}

function verified({ report }: LiveDatabase): Cell {
  const replica = report?.replica;
  if (!replica) return '–';
  if (replica.verification !== 'verified') return { text: replica.verification, kind: 'warn' };
  return { text: `at ${count(replica.verifiedHeight)}`, kind: 'good' };
}

function restartsLeft({ restarts }: LiveDatabase): Cell {
  const left = Math.max(0, restarts.budget - restarts.inWindow);
  return { text: `${left} of ${restarts.budget}`, kind: left === 0 ? 'bad' : left < 5 ? 'warn' : 'good' };
}

/** Percent of a bootstrap or catch-up with its rate, and the time that is left at it. */
function progress({ key, report }: LiveDatabase, state: LiveState): string {
  const { percent = null, rowsPerSecond = null, etaSeconds = null } = report?.replica ?? {};
  const [rate, lag] = [state.rate(key), report?.lagBlocks ?? null];
  const leftMs = etaSeconds !== null ? etaSeconds * 1_000 : rate && lag && rate > 0 ? (lag / rate) * 60_000 : null;
  const left = leftMs === null ? null : `${duration(leftMs)} left`;
  if (percent === null || percent >= 100) return lag === 0 ? 'caught up' : (left ?? '–');
  const rows = rowsPerSecond === null ? null : `${count(Math.round(rowsPerSecond))} rows/s`;
  return [`${percent.toFixed(0)} %`, rows, left].filter((part) => part !== null).join(', ');
}
