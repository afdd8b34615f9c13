import { duration } from '../dom.ts';
import type { Sample } from '../live.ts';

const WIDTH = 180;
const HEIGHT = 46;
/** Margins of the bars: right of the axis of blocks, above the axis of time. */
const [LEFT, TOP, BOTTOM] = [26, 5, 34];
const BARS = 30;
const MIN_SPAN_MS = 60_000;
const MAX_SPAN_MS = 300_000;

interface Bars {
  readonly values: readonly number[];
  readonly spanMs: number;
  readonly now: number;
}

/** Blocks over the time that was watched, five minutes at most, in thirty bars. */
function barsOf(samples: readonly Sample[]): Bars {
  const now = samples.at(-1)?.at ?? 0;
  const watched = now - (samples[0]?.at ?? now);
  const spanMs = Math.min(MAX_SPAN_MS, Math.max(MIN_SPAN_MS, Math.ceil(watched / 60_000) * 60_000));
  const values = new Array<number>(BARS).fill(0);
  for (const [index, { at, height }] of samples.entries()) {
    const before = samples[index - 1];
    const bar = BARS - 1 - Math.floor(((now - at) / spanMs) * BARS);
    if (before && bar >= 0) values[bar]! += Math.max(0, height - before.height);
  }
  return { values, spanMs, now };
}

/** A small chart of blocks over time with both axes; the bar under the pointer tells its value. */
export class Plot {
  readonly element = make('svg', { class: 'plot', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img' });
  readonly #label: string;
  readonly #bars = make('path', { class: 'bars' });
  readonly #pointed = make('path', { class: 'pointed' });
  readonly #most = make('text', { x: `${LEFT - 4}`, y: `${TOP + 6}`, 'text-anchor': 'end' });
  readonly #from = make('text', { x: `${LEFT}`, y: `${HEIGHT - 2}` });
  readonly #told = make('text', { x: `${WIDTH}`, y: `${HEIGHT - 2}`, 'text-anchor': 'end' });
  #shown: Bars = { values: [], spanMs: MIN_SPAN_MS, now: 0 };
  #at: number | null = null;

  constructor(label: string) {
    this.#label = label;
    const axes = make('path', { class: 'axes', d: `M${LEFT} ${TOP}V${BOTTOM}H${WIDTH}` });
    const zero = make('text', { x: `${LEFT - 4}`, y: `${BOTTOM}`, 'text-anchor': 'end' });
    zero.textContent = '0';
    this.element.append(axes, this.#bars, this.#pointed, this.#most, zero, this.#from, this.#told);
    this.element.addEventListener('pointermove', (event) => this.#point(event));
    this.element.addEventListener('pointerleave', () => this.#point(null));
  }

  update(samples: readonly Sample[]): void {
    this.#shown = barsOf(samples);
    const { values, spanMs } = this.#shown;
    const highest = Math.max(1, ...values);
    set(this.#bars, values.map((value, index) => bar(index, value / highest)).join(''));
    write(this.#most, String(highest));
    write(this.#from, `−${spanMs / 60_000} min`);
    const total = values.reduce((sum, value) => sum + value, 0);
    this.element.ariaLabel = `${this.#label}: ${total} in ${duration(spanMs)}`;
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
    write(this.#told, value === undefined ? 'now' : `${value} at ${new Date(now - ago).toLocaleTimeString()}`);
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
