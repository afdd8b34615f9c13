import type { TimelineEntry } from '../actors/timeline.ts';

/** The front door's lane comes first, then one for each actor. */
export const FRONT_DOOR = 'front door';
const LANE = 26;
const LEFT = 210;
const AXIS = 22;

/** What part of time is drawn, Unix milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export const keyOf = ({ actor }: TimelineEntry): string => `${actor.dbType}/${actor.chain}/${actor.network}`;

/** Draws lanes with what happened in them: transitions as ticks, deaths red, messages and blocks as arrows between lanes. */
export class Lanes {
  readonly element = document.createElement('canvas');
  #lanes: readonly string[] = [];
  #span: Span = { from: 0, to: 1 };

  draw(lanes: readonly string[], entries: readonly TimelineEntry[], span: Span, cursor: number): void {
    this.#lanes = [FRONT_DOOR, ...lanes];
    this.#span = span;
    const { width, context } = this.#size();
    const style = getComputedStyle(document.documentElement);
    const color = (name: string) => style.getPropertyValue(`--${name}`).trim();
    context.font = '12px system-ui, sans-serif';
    for (const [index, name] of this.#lanes.entries()) {
      context.fillStyle = color('line');
      context.fillRect(LEFT, this.#y(index), width - LEFT, 1);
      context.fillStyle = color('ink');
      context.fillText(name, 0, this.#y(index) + 4, LEFT - 10);
    }
    const numbers = new Map(this.#lanes.map((name, index) => [name, index]));
    for (const entry of entries) {
      const lane = numbers.get(keyOf(entry));
      if (lane === undefined || entry.at < span.from || entry.at > span.to) continue;
      this.#drawEntry(context, entry, lane, color);
    }
    this.#drawAxis(context, width, color('quiet'));
    context.fillStyle = color('accent');
    context.fillRect(this.#x(cursor), 0, 1.5, this.#lanes.length * LANE);
  }

  /** The entry nearest to a point of the element, within a few pixels. */
  find(entries: readonly TimelineEntry[], offsetX: number, offsetY: number): TimelineEntry | undefined {
    const lane = this.#lanes[Math.round((offsetY - LANE / 2) / LANE)];
    const near = entries
      .filter((entry) => keyOf(entry) === lane)
      .map((entry) => ({ entry, distance: Math.abs(this.#x(entry.at) - offsetX) }))
      .filter(({ distance }) => distance < 12);
    return near.sort((a, b) => a.distance - b.distance)[0]?.entry;
  }

  #drawEntry(context: CanvasRenderingContext2D, entry: TimelineEntry, lane: number, color: (name: string) => string) {
    const x = this.#x(entry.at);
    const y = this.#y(lane);
    switch (entry.kind) {
      case 'transition':
        context.fillStyle = color(entry.to.startsWith('halted') || entry.to === 'open' ? 'bad' : 'accent');
        context.fillRect(x - 1, y - 7, 2.5, 14);
        return;
      case 'death':
      case 'start':
        context.fillStyle = color(entry.kind === 'death' ? 'bad' : 'good');
        context.beginPath();
        context.arc(x, y, 5, 0, 7);
        context.fill();
        return;
      case 'blocks':
        return this.#arrow(context, x, entry.direction === 'out' ? [y, this.#y(0)] : [this.#y(0), y], color('good'));
      case 'message': {
        const [from, to] = entry.direction === 'in' ? [this.#y(0), y] : [y, this.#y(0)];
        const tint = color(entry.error ? 'bad' : 'grey');
        this.#arrow(context, x, [from, to], tint);
        this.#arrow(context, this.#x(entry.at + entry.ms), [to, from], tint);
      }
    }
  }

  #arrow(context: CanvasRenderingContext2D, x: number, [from, to]: readonly [number, number], color: string): void {
    context.strokeStyle = color;
    const tip = Math.sign(to - from) * 4;
    context.beginPath();
    context.moveTo(x, from);
    context.lineTo(x, to);
    context.moveTo(x - 3, to - tip);
    context.lineTo(x, to);
    context.lineTo(x + 3, to - tip);
    context.stroke();
  }

  #drawAxis(context: CanvasRenderingContext2D, width: number, color: string): void {
    context.fillStyle = color;
    for (let part = 0; part <= 4; part += 1) {
      const at = this.#span.from + ((this.#span.to - this.#span.from) * part) / 4;
      const x = Math.min(this.#x(at), width - 60);
      context.fillText(new Date(at).toLocaleTimeString(), x, this.#lanes.length * LANE + AXIS - 6);
    }
  }

  #size(): { width: number; context: CanvasRenderingContext2D } {
    const width = this.element.clientWidth || 600;
    const height = this.#lanes.length * LANE + AXIS;
    const ratio = devicePixelRatio;
    if (this.element.width !== Math.round(width * ratio) || this.element.height !== Math.round(height * ratio)) {
      this.element.width = Math.round(width * ratio);
      this.element.height = Math.round(height * ratio);
      this.element.style.height = `${height}px`;
    }
    const context = this.element.getContext('2d')!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return { width, context };
  }

  #x(at: number): number {
    const width = (this.element.clientWidth || 600) - LEFT - 4;
    return LEFT + ((at - this.#span.from) / Math.max(1, this.#span.to - this.#span.from)) * width;
  }

  #y(lane: number): number {
    return lane * LANE + LANE / 2;
  }
}
