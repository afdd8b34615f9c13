import { h } from './dom.ts';

/** One key and what it does. */
interface Shortcut {
  readonly key: string;
  readonly does: string;
  readonly run: () => void;
}

/** Listens to single keys outside of fields, and lists them in a dialog that `?` opens. */
export class Shortcuts {
  readonly dialog: HTMLDialogElement;
  readonly #shortcuts: readonly Shortcut[];

  constructor(shortcuts: readonly Shortcut[]) {
    const help = { key: '?', does: 'these keys', run: () => this.toggle() };
    this.#shortcuts = [...shortcuts, help];
    const lines = this.#shortcuts.flatMap(({ key, does }) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, does)]);
    this.dialog = h(
      'dialog',
      { 'aria-label': 'Keys' },
      h('h2', {}, 'Keys'),
      h('dl', {}, ...lines),
      h(
        'p',
        { class: 'quiet' },
        'Ctrl and K: go to a view or database. In a chart: arrows move it, + and − zoom, 0 fits it.'
      ),
      h('form', { method: 'dialog' }, h('button', {}, 'Close'))
    );
    addEventListener('keydown', (event) => this.#press(event));
  }

  #press(event: KeyboardEvent): void {
    const field = (event.target as Element).closest('input:not([type=checkbox], [type=range]), select, textarea');
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || field) return;
    const shortcut = this.#shortcuts.find(({ key }) => key === event.key);
    if (!shortcut) return;
    event.preventDefault();
    shortcut.run();
  }

  /** Opens the list of keys, or closes it. */
  toggle(): void {
    if (this.dialog.open) this.dialog.close();
    else this.dialog.showModal();
  }
}
