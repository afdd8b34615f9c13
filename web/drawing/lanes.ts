import type { TimelineEntry } from '../../src/wire/state/timeline.ts';
import { clockText } from '../time.ts';

/** The front door's lane comes first, then one for each actor. */
const FRONT_DOOR = 'front door';
const LANE = 26;
const LEFT = 210;
/** On a phone the names stand above their lanes. */
const NARROW = 600;
const AXIS = 22;

/** Range of time that is drawn, in Unix milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Colours in drawing order: the most important one is drawn last. */
const COLORS = ['grey', 'good', 'accent', 'bad'] as const;
type Color = (typeof COLORS)[number];

const keys = new WeakMap<TimelineEntry, string>();

/** Returns the actor of an entry, `indexer/bitcoin/mainnet`. */
export function keyOf(entry: TimelineEntry): string {
  const known = keys.get(entry);
  if (known !== undefined) return known;
  const { actor } = entry;
  const key = `${'dbType' in actor ? actor.dbType : actor.kind}/${actor.chain}/${actor.network}`;
  keys.set(entry, key);
  return key;
}

/** Draws lanes with what happened in them: transitions as ticks, deaths red, messages and blocks as arrows between lanes. */
export class Lanes {
  readonly element = document.createElement('canvas');
  #lanes: readonly string[] = [];
  #span: Span = { from: 0, to: 1 };
  #width = 600;

  constructor() {
    this.element.setAttribute('role', 'img');
    this.element.setAttribute(
      'aria-label',
      'What happened in each actor over time; the table below says the same in words'
    );
  }

  /** @param now what the axis of time counts from; a part of the past is told by the clock */
  draw(lanes: readonly string[], entries: readonly TimelineEntry[], span: Span, cursor: number, now: number): void {
    this.#lanes = [FRONT_DOOR, ...lanes];
    this.#span = span;
    const context = this.#size();
    const style = getComputedStyle(document.documentElement);
    const color = (name: string) => style.getPropertyValue(`--${name}`).trim();
    this.#drawLanes(context, color('line'));
    const marks = new Marks();
    const numbers = new Map(this.#lanes.map((name, index) => [name, index]));
    for (let index = firstAfter(entries, span.from); index < entries.length; index += 1) {
      const entry = entries[index]!;
      if (entry.at < span.from || entry.at > span.to) continue;
      const lane = numbers.get(keyOf(entry));
      if (lane !== undefined) this.#mark(marks, entry, lane);
    }
    marks.draw(context, color);
    this.#drawNames(context, color('ink'), color('card'));
    this.#drawAxis(context, color('quiet'), now);
    context.fillStyle = color('accent');
    context.fillRect(this.#x(cursor), 0, 1.5, this.#lanes.length * LANE);
  }

  /** Returns the time that a distance on the element stands for, in milliseconds. */
  spanOf(pixels: number): number {
    return (pixels / Math.max(1, this.#width - this.#left - 4)) * (this.#span.to - this.#span.from);
  }

  /** Finds the entry nearest to a point of the element, within a few pixels. */
  find(entries: readonly TimelineEntry[], offsetX: number, offsetY: number): TimelineEntry | undefined {
    const lane = this.#lanes[Math.round((offsetY - LANE / 2) / LANE)];
    const near = entries
      .filter((entry) => keyOf(entry) === lane)
      .map((entry) => ({ entry, distance: Math.abs(this.#x(entry.at) - offsetX) }))
      .filter(({ distance }) => distance < 12);
    return near.sort((a, b) => a.distance - b.distance)[0]?.entry;
  }

  #mark(marks: Marks, entry: TimelineEntry, lane: number): void {
    const x = Math.round(this.#x(entry.at));
    switch (entry.kind) {
      case 'transition':
        marks.tick(entry.to.startsWith('halted') || entry.to === 'open' ? 'bad' : 'accent', x, lane);
        return;
      case 'death':
      case 'start':
        marks.dot(entry.kind === 'death' ? 'bad' : 'good', x, lane);
        return;
      case 'blocks':
        marks.arrow('good', x, lane, entry.direction === 'in');
        return;
      case 'message': {
        const tint = entry.error ? 'bad' : 'grey';
        const isDown = entry.direction === 'in';
        marks.arrow(tint, x, lane, isDown);
        marks.arrow(tint, Math.round(this.#x(entry.at + entry.ms)), lane, !isDown);
      }
    }
  }

  #drawLanes(context: CanvasRenderingContext2D, line: string): void {
    context.fillStyle = line;
    for (const index of this.#lanes.keys()) context.fillRect(this.#left, middle(index), this.#width - this.#left, 1);
  }

  /** Draws the names. On a phone they stand on the marks, with an edge that sets them off. */
  #drawNames(context: CanvasRenderingContext2D, ink: string, edge: string): void {
    context.save();
    context.font = '12px system-ui, sans-serif';
    context.fillStyle = ink;
    context.strokeStyle = edge;
    context.lineWidth = 4;
    for (const [index, name] of this.#lanes.entries()) {
      if (this.#width >= NARROW) context.fillText(name, 0, middle(index) + 4, LEFT - 10);
      else {
        context.strokeText(name, 0, middle(index) - 4);
        context.fillText(name, 0, middle(index) - 4);
      }
    }
    context.restore();
  }

  #drawAxis(context: CanvasRenderingContext2D, color: string, now: number): void {
    context.save();
    context.font = '12px system-ui, sans-serif';
    context.fillStyle = color;
    const parts = this.#width < NARROW ? 2 : 4;
    for (let part = 0; part <= parts; part += 1) {
      const at = this.#span.from + ((this.#span.to - this.#span.from) * part) / parts;
      context.textAlign = part === 0 ? 'left' : part === parts ? 'right' : 'center';
      const text = this.#span.to === now ? agoText(now - at) : clockText(at);
      context.fillText(text, this.#x(at), this.#lanes.length * LANE + AXIS - 6);
    }
    context.restore();
  }

  #size(): CanvasRenderingContext2D {
    this.#width = this.element.clientWidth || 600;
    const height = this.#lanes.length * LANE + AXIS;
    const ratio = devicePixelRatio;
    if (this.element.width !== Math.round(this.#width * ratio) || this.element.height !== Math.round(height * ratio)) {
      this.element.width = Math.round(this.#width * ratio);
      this.element.height = Math.round(height * ratio);
      this.element.style.height = `${height}px`;
    }
    const context = this.element.getContext('2d')!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.#width, height);
    return context;
  }

  get #left(): number {
    return this.#width < NARROW ? 0 : LEFT;
  }

  #x(at: number): number {
    const width = this.#width - this.#left - 4;
    return this.#left + ((at - this.#span.from) / Math.max(1, this.#span.to - this.#span.from)) * width;
  }
}

/** Marks by colour, each place once: a thousand events in one second are a few dots wide. */
class Marks {
  /** Numbers, since a text for each of thousands of events would cost more than its drawing. */
  readonly #seen = new Set<number>();
  readonly #lines: Record<Color, Path2D> = newPaths();
  readonly #areas: Record<Color, Path2D> = newPaths();

  tick(color: Color, x: number, lane: number): void {
    if (this.#isNew(color, x, lane, 0)) this.#areas[color].rect(x - 1, middle(lane) - 7, 2.5, 14);
  }

  dot(color: Color, x: number, lane: number): void {
    if (!this.#isNew(color, x, lane, 1)) return;
    this.#areas[color].moveTo(x, middle(lane));
    this.#areas[color].arc(x, middle(lane), 5, 0, 7);
  }

  /** @param isDown from the front door to the actor */
  arrow(color: Color, x: number, lane: number, isDown: boolean): void {
    if (!this.#isNew(color, x, lane, isDown ? 2 : 3)) return;
    const [from, to] = isDown ? [middle(0), middle(lane)] : [middle(lane), middle(0)];
    const path = this.#lines[color];
    const tip = Math.sign(to - from) * 4;
    path.moveTo(x, from);
    path.lineTo(x, to);
    path.moveTo(x - 3, to - tip);
    path.lineTo(x, to);
    path.lineTo(x + 3, to - tip);
  }

  draw(context: CanvasRenderingContext2D, color: (name: string) => string): void {
    for (const name of COLORS) {
      context.strokeStyle = context.fillStyle = color(name);
      context.stroke(this.#lines[name]);
      context.fill(this.#areas[name]);
    }
  }

  #isNew(color: Color, x: number, lane: number, shape: number): boolean {
    const place = ((x * 1_024 + lane) * 4 + shape) * 4 + COLORS.indexOf(color);
    const before = this.#seen.size;
    this.#seen.add(place);
    return this.#seen.size > before;
  }
}

/** Returns `now`, `−15 s`, `−2.5 min`. */
function agoText(ms: number): string {
  if (ms < 500) return 'now';
  return ms < 60_000 ? `−${Math.round(ms / 100) / 10} s` : `−${Math.round(ms / 6_000) / 10} min`;
}

const middle = (lane: number): number => lane * LANE + LANE / 2;

const newPaths = (): Record<Color, Path2D> => ({
  accent: new Path2D(),
  good: new Path2D(),
  bad: new Path2D(),
  grey: new Path2D()
});

/** Entries come nearly in the order of their times: a little before the first that is not too old. */
function firstAfter(entries: readonly TimelineEntry[], from: number): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (entries[middle]!.at < from - 5_000) low = middle + 1;
    else high = middle;
  }
  return low;
}
