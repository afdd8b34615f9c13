import type { SubscriberView } from '../../src/sync/fan-out/subscriber.ts';
import { NEAR_BLOCKS } from '../../src/wire/state/pipeline.ts';
import { type Cell, count, duration, h, Table } from '../dom.ts';
import { ask, type LiveState } from '../live.ts';
import type { View } from './view.ts';

const COLUMNS = ['Who', 'Database', 'Kind', 'State', 'Sent', 'Applied', 'Lag', 'Buffered', 'Last heard'];
/** Columns of text; the others hold numbers, the largest first. */
const TEXTS = 4;
const [LAG, BUFFERED, HEARD] = [6, 7, 8];
const VALIDATOR_EVERY_MS = 5_000;
/** Plain words for a subscriber's reading speed. */
const STATES = { draining: 'keeps up', stalled: 'does not take it', dropped: 'dropped' } as const;

interface Line {
  readonly key: string;
  readonly values: readonly (string | number | null)[];
}
interface Validator {
  readonly applied_height: number | null;
  readonly last_seen: string;
  readonly lag_blocks: number | null;
}

/** Subscribers and validators, the slow ones on top. */
export class Subscribers implements View {
  readonly element = h('section', {}, h('h2', {}, 'Subscribers and validators'));
  readonly #table = new Table('Subscribers and validators', COLUMNS, (column) => this.#sortBy(column));
  readonly #empty = h('p', { class: 'quiet' }, 'Nobody is connected.');
  #validators: Line[] = [];
  #askedAt = Number.NEGATIVE_INFINITY;
  #column = LAG;
  #lines: Line[] = [];

  constructor() {
    this.element.append(h('div', { class: 'card' }, this.#table.element, this.#empty));
  }

  update(state: LiveState): void {
    if (state.last?.mode === 'server' && performance.now() - this.#askedAt > VALIDATOR_EVERY_MS) {
      this.#askedAt = performance.now();
      void this.#askValidators(state.last.databases.map(({ key }) => key));
    }
    const subscribers = (state.last?.databases ?? []).flatMap(({ key, subscribers = [] }) =>
      subscribers.map((each): Line => {
        const values = [each.id, key, 'subscriber', stateText(each), each.lastSentBlock, each.appliedBlock, each.lag];
        return { key: `${key} ${each.id}`, values: [...values, each.bufferedBytes, null] };
      })
    );
    this.#lines = [...subscribers, ...this.#validators];
    this.#show();
  }

  async #askValidators(databases: readonly string[]): Promise<void> {
    const answers = databases.map(async (database): Promise<Line[]> => {
      const body = (await ask(`/validator-status/${database}`)) as { validators: Record<string, Validator> };
      return Object.entries(body.validators).map(([id, { applied_height, last_seen, lag_blocks }]) => ({
        key: `${database} validator ${id}`,
        values: [id, database, 'validator', 'heard', null, applied_height, lag_blocks, null, Date.parse(last_seen)]
      }));
    });
    const settled = await Promise.allSettled(answers);
    this.#validators = settled.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  }

  #sortBy(column: number): void {
    this.#column = column;
    this.#show();
  }

  #show(): void {
    const column = this.#column;
    const sorted = this.#lines.toSorted(({ values: a }, { values: b }) =>
      column < TEXTS
        ? String(a[column]).localeCompare(String(b[column]))
        : rank(b, column) - rank(a, column) || rank(b, BUFFERED) - rank(a, BUFFERED)
    );
    this.#empty.hidden = sorted.length > 0;
    this.#table.markSorted(column);
    this.#table.update(sorted.map(({ key, values }) => ({ key, cells: values.map(cellOf) })));
  }
}

/** Returns how a subscriber reads, and how near it is to being dropped. */
function stateText({ state, lag, nearLimit: near }: SubscriberView): string {
  const reads = state === 'draining' && (lag ?? 0) > NEAR_BLOCKS ? 'is behind' : STATES[state];
  if (!near) return reads;
  const what =
    near.limit === 'ceiling' ? 'of the buffer is used' : 'of the time is over in which it must take something';
  return `${reads}: ${near.percent} % ${what}`;
}

const isStalled = (value: unknown): boolean => typeof value === 'string' && value.startsWith(STATES.stalled);

/** Returns the place of a reader in the list. One that takes nothing may never have said how far it is: it is behind all that did. */
function rank(values: Line['values'], column: number): number {
  if (column === LAG && isStalled(values[3])) return Number.POSITIVE_INFINITY;
  const value = values[column];
  return typeof value === 'number' ? value : -1;
}

function cellOf(value: string | number | null, column: number): Cell {
  if (isStalled(value)) return { text: String(value), kind: 'warn' };
  if (typeof value === 'string') return column === 0 ? { text: value, kind: 'wide' } : value; // a public key is long
  if (value === null) return '–';
  if (column === HEARD) return `${duration(Date.now() - value)} ago`;
  if (column === LAG) return { text: count(value), kind: value > 3 ? 'warn' : 'good' };
  return column === BUFFERED ? `${count(Math.ceil(value / 1024))} KiB` : count(value);
}
