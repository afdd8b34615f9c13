import type { PlatformRow } from '../../src/service/platform/blame.ts';
import { NEAR_BLOCKS } from '../../src/wire/state/pipeline.ts';
import { type Cell, count, h, Table } from '../dom.ts';
import { MARKS } from '../drawing/pipeline.ts';

const COLUMNS = ['Edge', 'Database', 'State', 'Height', 'Lag', 'Subscribers', 'Why', 'Version'];
/** Class of a cell that tells a state. */
export const KINDS = { well: 'good', working: 'busy', waiting: 'warn', failed: 'bad', unknown: 'quiet' } as const;
const keyOf = ({ url, lane }: PlatformRow) => `${url} ${lane}`;

/** The edges of the platform: one row for each database of each, and the subscribers of all. */
export class Edges {
  readonly element = h('div', { class: 'edges', hidden: true });
  readonly #sum = h('h2');
  readonly #table = new Table('Edges of the platform', COLUMNS);
  readonly #links = new Map<string, HTMLAnchorElement>();

  constructor() {
    this.element.append(this.#sum, h('div', { class: 'card' }, this.#table.element));
  }

  update(rows: readonly PlatformRow[]): void {
    this.element.hidden = rows.length === 0;
    const edges = new Set(rows.map(({ url }) => url)).size;
    const subscribers = rows.reduce((sum, row) => sum + (row.subscribers ?? 0), 0);
    const title = `${edges === 1 ? '1 edge' : `${count(edges)} edges`}, ${count(subscribers)} subscribers`;
    if (this.#sum.textContent !== title) this.#sum.textContent = title;
    this.#table.update(rows.map((row) => ({ key: keyOf(row), cells: this.#cells(row) })));
  }

  #cells(row: PlatformRow): Cell[] {
    const { lane, state, doing, height, lag, reason, version, subscribers } = row;
    return [
      this.#name(row),
      lane ?? '',
      { text: `${MARKS[state]} ${doing}`, kind: KINDS[state] },
      height === null ? '' : count(height),
      lag === null ? '' : { text: count(lag), kind: lag > NEAR_BLOCKS ? 'warn' : 'good' },
      subscribers === null ? '' : count(subscribers),
      { text: reason ?? '', kind: 'wide' },
      version ?? ''
    ];
  }

  /** Makes a link to its console; the same element at each look, so that it keeps the focus. */
  #name({ url, isSelf, ...row }: PlatformRow): Cell {
    if (url === null) return isSelf ? 'this service' : '';
    const key = keyOf({ url, isSelf, ...row });
    const link = this.#links.get(key) ?? h('a', { href: url }, URL.parse(url)?.host ?? url);
    this.#links.set(key, link);
    return link;
  }
}
