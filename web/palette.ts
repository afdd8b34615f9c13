import { h } from './dom.ts';

/** One place of the console that a name leads to. */
interface Place {
  readonly name: string;
  readonly href: string;
}

/** A field over all views and databases; it opens the first whose name holds the text. */
export class Palette {
  readonly dialog: HTMLDialogElement;
  readonly #places: () => readonly Place[];
  readonly #field = h('input', { 'aria-label': 'Go to', placeholder: 'view or database', autocomplete: 'off' });
  readonly #found = h('ul', { class: 'found' });

  /** @param places called each time that it is opened */
  constructor(places: () => readonly Place[]) {
    this.#places = places;
    this.#field.addEventListener('input', () => this.#show());
    const submit = (event: Event) => {
      event.preventDefault();
      this.#found.querySelector('a')?.click();
    };
    this.#found.addEventListener('click', () => this.dialog.close());
    this.dialog = h('dialog', { 'aria-label': 'Go to' }, h('form', { submit }, this.#field), this.#found);
  }

  open(): void {
    this.#field.value = '';
    this.#show();
    if (!this.dialog.open) this.dialog.showModal();
    this.#field.focus();
  }

  #show(): void {
    const wanted = this.#field.value.trim().toLowerCase();
    const found = this.#places().filter(({ name }) => name.toLowerCase().includes(wanted));
    this.#found.replaceChildren(...found.map(({ name, href }) => h('li', {}, h('a', { href }, name))));
  }
}
