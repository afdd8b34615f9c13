import { enliven } from '../docs/enliven.ts';
import { h } from '../dom.ts';
import { request } from '../live.ts';
import type { View } from './view.ts';

/** The documentation of the REST interface as the service writes it, which a browser alone could not ask for with the key. */
export class Docs implements View {
  readonly element = h('section', {});

  constructor() {
    this.#load().catch((fault: Error) => this.element.replaceChildren(h('p', {}, `no answer: ${fault.message}`)));
  }

  update(): void {
    // It says the same as long as the service runs.
  }

  async #load(): Promise<void> {
    const text = await (await request('/docs')).text();
    const main = new DOMParser().parseFromString(text, 'text/html').querySelector('main')!;
    main.querySelector('nav')?.remove(); // this page's own addresses begin with # too
    this.element.replaceChildren(...main.childNodes);
    enliven(this.element);
  }
}
