import type { Sample } from './live.ts';

const WIDTH = 120;
const HEIGHT = 24;
const BARS = 30;
const SPAN_MS = 300_000;

/** Blocks over time: one small line, of a database's heights over five minutes. */
export class Plot {
  readonly element: SVGSVGElement;
  readonly #path: SVGPathElement;

  constructor(label: string) {
    const make = <K extends keyof SVGElementTagNameMap>(tag: K) =>
      document.createElementNS('http://www.w3.org/2000/svg', tag);
    this.element = make('svg');
    this.element.setAttribute('class', 'plot');
    this.element.setAttribute('viewBox', `0 0 ${WIDTH} ${HEIGHT}`);
    this.element.setAttribute('role', 'img');
    this.element.setAttribute('aria-label', label);
    this.#path = make('path');
    this.element.append(this.#path);
  }

  update(samples: readonly Sample[]): void {
    const now = samples.at(-1)?.at ?? 0;
    const bars = new Array<number>(BARS).fill(0);
    for (const [index, { at, height }] of samples.entries()) {
      const before = samples[index - 1];
      const bar = BARS - 1 - Math.floor(((now - at) / SPAN_MS) * BARS);
      if (before && bar >= 0) bars[bar]! += Math.max(0, height - before.height);
    }
    const highest = Math.max(1, ...bars);
    const points = bars.map(
      (value, index) =>
        `${((index / (BARS - 1)) * WIDTH).toFixed(1)} ${(HEIGHT - 1 - (value / highest) * (HEIGHT - 3)).toFixed(1)}`
    );
    const path = `M${points.join('L')}`;
    if (this.#path.getAttribute('d') !== path) this.#path.setAttribute('d', path);
  }
}
