import { h, setText } from './dom.ts';

const KEPT = 'platform-node theme';
const THEMES = ['auto', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

/** The switch between the system's colours, light and dark; the choice is kept in this browser. */
export class ThemeSwitch {
  readonly element = h('button', { type: 'button', class: 'icon', 'aria-keyshortcuts': 't', click: () => this.turn() });
  #theme: Theme;

  constructor() {
    const kept = localStorage.getItem(KEPT);
    this.#theme = THEMES.find((theme) => theme === kept) ?? 'auto';
    this.#show();
  }

  /** Turns to the next theme. */
  turn(): void {
    this.#theme = THEMES[(THEMES.indexOf(this.#theme) + 1) % THEMES.length]!;
    localStorage.setItem(KEPT, this.#theme);
    this.#show();
  }

  #show(): void {
    if (this.#theme === 'auto') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = this.#theme;
    setText(this.element, { auto: '◐', light: '☀', dark: '☾' }[this.#theme]);
    this.element.ariaLabel = `Colours: ${this.#theme}`;
    this.element.title = `Colours: ${this.#theme} (t)`;
  }
}
