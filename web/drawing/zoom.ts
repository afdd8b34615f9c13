import { h } from '../dom.ts';

const STEP = 1.25;
const MAX_ZOOM = 8;
const PAN = 0.1;

/** A drawing that fits its frame until it is zoomed (buttons, keys, pinch, Ctrl and wheel), and is dragged then. */
export class ZoomFrame {
  readonly element: HTMLElement;
  readonly buttons: readonly HTMLButtonElement[];
  readonly #svg: SVGSVGElement;
  readonly #width: number;
  readonly #height: number;
  #zoom = 1;
  #x = 0;
  #y = 0;

  constructor(svg: SVGSVGElement, label: string) {
    this.#svg = svg;
    this.#width = svg.viewBox.baseVal.width;
    this.#height = svg.viewBox.baseVal.height;
    svg.style.maxWidth = `${this.#width * 1.05}px`;
    this.element = h(
      'div',
      { class: 'frame', tabindex: '0', role: 'group', 'aria-label': `${label}, to zoom and move` },
      svg
    );
    const button = (name: string, text: string, act: () => void) =>
      h('button', { type: 'button', class: 'icon', 'aria-label': `${name} ${label}`, title: name, click: act }, text);
    this.buttons = [
      button('zoom out', '−', () => this.#zoomBy(1 / STEP)),
      button('zoom in', '+', () => this.#zoomBy(STEP)),
      button('fit', '⤢', () => this.#fit())
    ];
    this.element.addEventListener('keydown', (event) => this.#press(event));
    this.element.addEventListener('wheel', (event) => this.#turn(event), { passive: false });
    this.element.addEventListener('pointerdown', (event) => this.#take(event));
  }

  /** Scrolls so that an element is in the middle, if the frame is too narrow for the drawing. */
  centre(element: Element): void {
    const { left, width } = element.getBoundingClientRect();
    const frame = this.element.getBoundingClientRect();
    this.element.scrollLeft += left + width / 2 - (frame.left + frame.width / 2);
  }

  #press(event: KeyboardEvent): void {
    const acts: Readonly<Record<string, () => void>> = {
      '+': () => this.#zoomBy(STEP),
      '=': () => this.#zoomBy(STEP),
      '-': () => this.#zoomBy(1 / STEP),
      '0': () => this.#fit(),
      ArrowLeft: () => this.#moveBy(-PAN * this.#width, 0),
      ArrowRight: () => this.#moveBy(PAN * this.#width, 0),
      ArrowUp: () => this.#moveBy(0, -PAN * this.#height),
      ArrowDown: () => this.#moveBy(0, PAN * this.#height)
    };
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.metaKey || (event.key.startsWith('Arrow') && this.#zoom === 1)) return;
    event.preventDefault();
    act();
  }

  /** Zooms. The wheel alone scrolls the page; a pinch comes as a wheel with Ctrl. */
  #turn(event: WheelEvent): void {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const { left, top, width, height } = this.#svg.getBoundingClientRect();
    this.#zoomBy(event.deltaY < 0 ? STEP : 1 / STEP, (event.clientX - left) / width, (event.clientY - top) / height);
  }

  #take(event: PointerEvent): void {
    if (this.#zoom === 1) return;
    this.element.setPointerCapture(event.pointerId);
    const scale = this.#width / this.#zoom / this.#svg.getBoundingClientRect().width;
    const drag = ({ movementX, movementY }: PointerEvent) => this.#moveBy(-movementX * scale, -movementY * scale);
    this.element.addEventListener('pointermove', drag);
    const letGo = () => this.element.removeEventListener('pointermove', drag);
    this.element.addEventListener('lostpointercapture', letGo, { once: true });
  }

  /** @param atX,atY what stays where it is, as parts of the frame */
  #zoomBy(factor: number, atX = 0.5, atY = 0.5): void {
    const zoom = Math.min(MAX_ZOOM, Math.max(1, this.#zoom * factor));
    const gained = 1 / this.#zoom - 1 / zoom;
    this.#zoom = zoom;
    this.#moveBy(gained * this.#width * atX, gained * this.#height * atY);
  }

  #fit(): void {
    this.#zoom = 1;
    this.#moveBy(0, 0);
  }

  #moveBy(dx: number, dy: number): void {
    const [width, height] = [this.#width / this.#zoom, this.#height / this.#zoom];
    this.#x = Math.min(this.#width - width, Math.max(0, this.#x + dx));
    this.#y = Math.min(this.#height - height, Math.max(0, this.#y + dy));
    this.#svg.setAttribute('viewBox', `${this.#x} ${this.#y} ${width} ${height}`);
    this.element.classList.toggle('zoomed', this.#zoom > 1);
  }
}
