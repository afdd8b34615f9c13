import type { Pipeline, PipelineEdge, PipelineNode, PipelineState } from '../../src/wire/state/pipeline.ts';
import { count, duration, h, setText } from '../dom.ts';
import { pathOfPlace } from '../place.ts';

/** A state's mark, beside its colour. */
export const MARKS: Readonly<Record<PipelineState, string>> = {
  well: '●',
  working: '◐',
  waiting: '○',
  failed: '■',
  unknown: '·'
};
const PASS_MS = 900;
/** Key of a database, which has a page; other lanes have none. */
export const ACTOR_KEY = /^[^/]+\/[^/]+\/[^/]+$/;
const REDUCED = matchMedia('(prefers-reduced-motion: reduce)');
/** As in the style sheet: on a phone arrows lead down. */
const UPRIGHT = matchMedia('(max-width: 40rem)');

/** Sorts the boxes of a lane into columns: where nothing leads comes first, what a box leads to stands to its right. */
export function columnsOf({ nodes, edges }: Pipeline): PipelineNode[][] {
  const columns: PipelineNode[][] = [];
  const isLedTo = (id: string, from: ReadonlySet<string>) =>
    edges.some((edge) => edge.to === id && from.has(edge.from));
  let left = [...nodes];
  while (left.length > 0) {
    const ids = new Set(left.map(({ id }) => id));
    const first = left.filter(({ id }) => !isLedTo(id, ids));
    const column = first.length > 0 ? first : left; // a circle is one column
    columns.push(column);
    left = left.filter((node) => !column.includes(node));
  }
  return columns;
}

/** Returns the part of a pipeline that is one lane's. */
export function laneOf({ nodes, edges }: Pipeline, lane: string | null): Pipeline {
  const own = nodes.filter((node) => node.lane === lane);
  const ids = new Set(own.map(({ id }) => id));
  return { nodes: own, edges: edges.filter(({ from, to }) => ids.has(from) && ids.has(to)) };
}

/** One lane: boxes and arrows from upstream to downstream. They stay the same elements as long as the same boxes are there. */
export class LaneView {
  readonly element = h('div', { class: 'flow', role: 'list' });
  readonly #boxes = new Map<string, Box>();
  readonly #arrows = new Map<string, Arrow>();
  #shape = '';

  /** @param isSeen false: nothing moves that nobody looks at */
  update(lane: Pipeline, isSeen = true): void {
    const shape = JSON.stringify([lane.nodes.map(({ id }) => id), lane.edges.map(edgeKey)]);
    if (shape !== this.#shape) this.#build(lane);
    this.#shape = shape;
    for (const node of lane.nodes) this.#boxes.get(node.id)!.update(node);
    for (const edge of lane.edges) this.#arrows.get(edgeKey(edge))!.update(edge, isSeen);
  }

  #build(lane: Pipeline): void {
    this.#boxes.clear();
    this.#arrows.clear();
    const columns = columnsOf(lane).map((nodes) => {
      const column = h('div', { class: nodes.length > 1 ? 'stage many' : 'stage' });
      column.style.setProperty('--boxes', String(nodes.length));
      for (const node of nodes) column.append(this.#step(node, lane.edges));
      return column;
    });
    this.element.style.setProperty('--columns', String(columns.length));
    this.element.replaceChildren(...columns);
  }

  /** Draws a box with the arrow that leaves it. */
  #step({ id }: PipelineNode, edges: readonly PipelineEdge[]): Element {
    const box = new Box();
    this.#boxes.set(id, box);
    const leaving = edges.filter(({ from }) => from === id).map((edge) => [edgeKey(edge), new Arrow()] as const);
    for (const [key, arrow] of leaving) this.#arrows.set(key, arrow);
    return h('div', { class: 'step', role: 'listitem' }, box.element, ...leaving.map(([, { element }]) => element));
  }
}

const edgeKey = ({ from, to }: PipelineEdge): string => `${from} → ${to}`;

class Box {
  readonly #role = h('span', { class: 'role' });
  readonly #name = h('b', { class: 'name' });
  readonly #mark = h('span', { class: 'mark', 'aria-hidden': 'true' });
  readonly #doing = h('span', { class: 'doing' });
  readonly #height = h('span', { class: 'height' });
  readonly #bar = h('progress', { max: '100', hidden: true, 'aria-label': 'progress' });
  readonly #reason = h('p', { class: 'reason' });
  readonly #act = h('a', { class: 'act' }, 'What to do');
  readonly element = h(
    'div',
    { class: 'node' },
    h('div', { class: 'first' }, this.#role, this.#height),
    this.#name,
    h('div', { class: 'standing' }, this.#mark, this.#doing),
    this.#bar,
    this.#reason,
    this.#act
  );

  update({ lane, role, name, state, doing, since, height, percent, reason }: PipelineNode): void {
    const isUnderWay = percent !== null && percent < 100;
    const lasts = state !== 'well' && since !== null ? `, ${duration(Date.now() - since)}` : '';
    this.element.dataset['state'] = state;
    setText(this.#role, role);
    setText(this.#name, name);
    this.#name.title = name;
    setText(this.#mark, MARKS[state]);
    setText(this.#doing, `${doing}${isUnderWay ? ` ${percent.toFixed(0)} %` : ''}${lasts}`);
    setText(this.#height, height === null ? '' : count(height));
    this.#bar.hidden = !isUnderWay;
    if (isUnderWay) this.#bar.value = percent;
    this.#showAct(lane, state);
    this.#reason.hidden = reason === null;
    setText(this.#reason, reason ?? '');
  }

  /** Shows a link to the page of the actor of a box that is not well, where its buttons and the cause are. */
  #showAct(lane: string | null, state: PipelineState): void {
    const place = lane !== null && ACTOR_KEY.test(lane) ? `#/actor/${lane}` : null;
    this.#act.hidden = place === null || (state !== 'failed' && state !== 'waiting') || pathOfPlace() === place;
    if (place !== null && this.#act.getAttribute('href') !== place) this.#act.setAttribute('href', place);
  }
}

class Arrow {
  readonly #height = h('span', { class: 'above' });
  readonly #lag = h('span', { class: 'below' });
  readonly #pass = h('i', { class: 'pass' });
  readonly element = h('div', { class: 'arrow' }, this.#height, h('span', { class: 'line' }, this.#pass), this.#lag);
  #last: number | null = null;
  #passing: Animation | null = null;

  update({ state, height, lag, carries }: PipelineEdge, isSeen: boolean): void {
    this.element.dataset['state'] = state;
    this.element.classList.toggle('aside', carries !== null);
    setText(this.#height, carries ?? (height === null ? '' : `block ${count(height)}`));
    setText(
      this.#lag,
      lag === null || (lag === 0 && state !== 'well') ? '' : lag === 0 ? 'up to date' : `${count(lag)} behind`
    );
    if (isSeen && this.#last !== null && height !== null && height > this.#last) this.#showPass();
    this.#last = height;
  }

  /**
   * Shows a dot that goes along the line when a block has passed. The compositor moves it, and nothing here is
   * measured; two at once on one element would be moved by the page.
   */
  #showPass(): void {
    if (REDUCED.matches || this.#passing?.playState === 'running') return;
    const end = UPRIGHT.matches ? 'translateY(100%)' : 'translateX(100%)';
    this.#passing = this.#pass.animate(
      [
        { opacity: 1, transform: 'none' },
        { opacity: 1, transform: end }
      ],
      { duration: PASS_MS, easing: 'ease-in-out' }
    );
  }
}
