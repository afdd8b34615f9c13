import type { PlatformRow } from '../../src/service/platform/blame.ts';
import type { PlatformView } from '../../src/service/platform/platform-view.ts';
import { NEAR_BLOCKS } from '../../src/wire/state/pipeline.ts';
import { type Cell, count, h, Table } from '../dom.ts';
import { LaneView, laneOf, MARKS } from '../drawing/pipeline.ts';
import { Edges, KINDS } from './edges.ts';

const COLUMNS = ['Service', 'Works for', 'State', 'Height', 'Lag', 'Why', 'Version'];
const keyOf = ({ url, service, lane }: PlatformRow) => `${url} ${service} ${lane}`;

/** The services of the platform: the way of blocks through all of them, then one row each. */
export class Platform {
  readonly element = h('div', { class: 'platform', hidden: true });
  readonly #lanes = h('div');
  readonly #views = new Map<string, LaneView>();
  readonly #links = new Map<string, HTMLAnchorElement>();
  readonly #table = new Table('Services of the platform', COLUMNS);
  readonly #edges = new Edges();
  #shown = '';

  constructor() {
    this.element.append(
      h('h2', {}, 'Platform'),
      this.#lanes,
      h('div', { class: 'card' }, this.#table.element),
      this.#edges.element,
      h('h2', {}, 'This service')
    );
  }

  /** @param platform null: the service asks no others, and nothing is shown */
  update(platform: PlatformView | null): void {
    this.element.hidden = platform === null;
    if (!platform) return;
    const { pipeline, rows } = platform;
    const lanes = [...new Set(pipeline.nodes.map(({ lane }) => lane ?? ''))];
    if (lanes.join() !== this.#shown) this.#build(lanes);
    this.#shown = lanes.join();
    for (const lane of lanes) this.#views.get(lane)!.update(laneOf(pipeline, lane));
    const others = rows.filter(({ service }) => service !== 'edge');
    this.#table.update(others.map((row) => ({ key: keyOf(row), cells: this.#cells(row) })));
    this.#edges.update(rows.filter(({ service }) => service === 'edge'));
  }

  #cells(row: PlatformRow): Cell[] {
    const { lane, state, doing, height, lag, reason, version } = row;
    return [
      this.#name(row),
      lane ?? 'all',
      { text: `${MARKS[state]} ${doing}`, kind: KINDS[state] },
      height === null ? '' : count(height),
      lag === null ? '' : { text: count(lag), kind: lag > NEAR_BLOCKS ? 'warn' : 'good' },
      { text: reason ?? '', kind: 'wide' },
      version ?? ''
    ];
  }

  /** Makes a link to its console; the same element at each look, so that it keeps the focus. */
  #name(row: PlatformRow): Cell {
    const { url, service, isSelf } = row;
    const name = service ?? url ?? '';
    if (url === null) return isSelf ? `${name} (this service)` : name;
    const link = this.#links.get(keyOf(row)) ?? h('a', { href: url }, name);
    this.#links.set(keyOf(row), link);
    return link;
  }

  #build(lanes: readonly string[]): void {
    this.#views.clear();
    const cards = lanes.map((lane) => {
      const view = new LaneView();
      this.#views.set(lane, view);
      return h('article', { class: 'lane', 'aria-label': lane }, h('h3', {}, lane), view.element);
    });
    this.#lanes.replaceChildren(...cards);
  }
}
