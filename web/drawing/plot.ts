import { duration } from '../dom.ts';
import { clockText } from '../time.ts';
import { BARS, type Bars, NO_BARS } from './bars.ts';

const WIDTH = 180;
const HEIGHT = 56;
/** Margins of the bars: right of the axis of blocks, above the axis of time. */
const [LEFT, TOP, BOTTOM] = [26, 15, 44];
const HOUR_MS = 3_600_000;

/** A small chart over time with both axes; the bar under the pointer tells its value. */
export class Plot {
  readonly element = make('svg', { class: 'plot', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img' });
  readonly #label: string;
  readonly #bars = make('path', { class: 'bars' });
  readonly #pointed = make('path', { class: 'pointed' });
  readonly #most = make('text', { x: `${LEFT - 4}`, y: `${TOP + 6}`, 'text-anchor': 'end' });
  readonly #from = make('text', { x: `${LEFT}`, y: `${HEIGHT - 2}` });
  readonly #caption = make('text', { x: `${WIDTH}`, y: `${HEIGHT - 2}`, 'text-anchor': 'end' });
  readonly #isMost: boolean;
  #shown: Bars = NO_BARS;
  #at: number | null = null;

  /** @param caption shown in the chart @param summary whether its label tells the sum of the bars or the highest */
  constructor(label: string, caption: string, summary: 'sum' | 'most' = 'sum') {
    this.#label = label;
    this.element.ariaLabel = label; // until it is drawn: a lane far below waits for its turn
    this.#isMost = summary === 'most';
    const name = make('text', { x: `${WIDTH}`, y: '10', 'text-anchor': 'end' });
    name.textContent = caption;
    const axes = make('path', { class: 'axes', d: `M${LEFT} ${TOP}V${BOTTOM}H${WIDTH}` });
    const zero = make('text', { x: `${LEFT - 4}`, y: `${BOTTOM}`, 'text-anchor': 'end' });
    zero.textContent = '0';
    this.element.append(axes, this.#bars, this.#pointed, this.#most, zero, this.#from, this.#caption, name);
    this.element.addEventListener('pointermove', (event) => this.#point(event));
    this.element.addEventListener('pointerleave', () => this.#point(null));
  }

  update(bars: Bars): void {
    this.#shown = bars;
    const { values, spanMs } = bars;
    const highest = Math.max(1, ...values);
    set(this.#bars, values.map((value, index) => bar(index, value / highest)).join(''));
    write(this.#most, String(highest));
    write(this.#from, spanMs < HOUR_MS ? `−${spanMs / 60_000} min` : `−${spanMs / HOUR_MS} h`);
    const total = this.#isMost ? Math.max(0, ...values) : values.reduce((sum, value) => sum + value, 0);
    this.element.ariaLabel = `${this.#label}: ${this.#isMost ? 'at most ' : ''}${total} in ${duration(spanMs)}`;
    this.#tell();
  }

  #point(event: PointerEvent | null): void {
    const { left, width } = this.element.getBoundingClientRect();
    const x = event ? ((event.clientX - left) / width) * WIDTH - LEFT : -1;
    this.#at = x < 0 ? null : Math.min(BARS - 1, Math.floor((x / (WIDTH - LEFT)) * BARS));
    this.#tell();
  }

  #tell(): void {
    const { values, spanMs, now } = this.#shown;
    const value = this.#at === null ? undefined : values[this.#at];
    set(this.#pointed, this.#at === null ? '' : bar(this.#at, 1));
    const ago = ((BARS - (this.#at ?? 0)) * spanMs) / BARS;
    write(this.#caption, value === undefined ? 'now' : `${value} at ${clockText(now - ago)}`);
  }
}

/** @param part of the full height, 0 to 1 */
function bar(index: number, part: number): string {
  if (part === 0) return '';
  const step = (WIDTH - LEFT) / BARS;
  const height = Math.max(1, part * (BOTTOM - TOP));
  return `M${(LEFT + index * step + 0.5).toFixed(1)} ${BOTTOM}v${(-height).toFixed(1)}h${(step - 1).toFixed(1)}v${height.toFixed(1)}z`;
}

function make<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string>>
): SVGElementTagNameMap[K] {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function set(path: SVGPathElement, shape: string): void {
  if (path.getAttribute('d') !== shape) path.setAttribute('d', shape);
}

function write(text: SVGTextElement, value: string): void {
  if (text.textContent !== value) text.textContent = value;
}
