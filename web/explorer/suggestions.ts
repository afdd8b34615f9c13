interface Found {
  readonly type: string;
  readonly value: string;
}

/** A question is asked when no letter came for so long. */
const PAUSE_MS = 250;
const MOST = 10;
const FIELD = 'header input[type=search]';

/** Offers names while somebody types into the search field; `/`, and K with Ctrl or Command, lead to the field. */
export function offerNames(): void {
  const field = document.querySelector<HTMLInputElement>(FIELD);
  if (!field?.form) return;
  const offers = new Offers(field, field.form);
  const api = new URL(field.form.action).pathname.replace(/search$/, 'api/search/');
  let due: ReturnType<typeof setTimeout> | undefined;
  field.addEventListener('input', () => {
    clearTimeout(due);
    const text = field.value.trim();
    if (text === '') offers.show([]);
    else
      due = setTimeout(async () => {
        const found = await ask(api + encodeURIComponent(text));
        if (field.value.trim() === text) offers.show(found);
      }, PAUSE_MS);
  });
  addEventListener('keydown', (event) => {
    const isWanted =
      event.key === 'k' ? event.ctrlKey || event.metaKey : event.key === '/' && event.target === document.body;
    if (!isWanted) return;
    event.preventDefault();
    field.select();
  });
}

/** Returns what a search finds; without an answer the field is used as it is. */
async function ask(path: string): Promise<readonly Found[]> {
  const answer = await fetch(path).catch(() => null);
  if (!answer?.ok) return [];
  return ((await answer.json()) as { readonly results: readonly Found[] }).results.slice(0, MOST);
}

/** A list below a field: arrows choose an entry, Enter goes to it, Escape closes the list. */
class Offers {
  readonly #field: HTMLInputElement;
  readonly #list = document.createElement('ul');
  readonly #base: string;
  #found: readonly Found[] = [];
  /** Place of the chosen entry; -1: none. */
  #chosen = -1;

  constructor(field: HTMLInputElement, form: HTMLFormElement) {
    this.#field = field;
    this.#base = new URL(form.action).pathname.replace(/search$/, '');
    this.#list.id = 'names';
    this.#list.setAttribute('role', 'listbox');
    this.#list.setAttribute('aria-label', 'Found');
    this.#list.hidden = true;
    form.append(this.#list);
    for (const [name, value] of [
      ['role', 'combobox'],
      ['aria-autocomplete', 'list'],
      ['aria-controls', 'names'],
      ['aria-expanded', 'false']
    ] as const)
      field.setAttribute(name, value);
    field.addEventListener('keydown', (event) => this.#take(event));
    field.addEventListener('blur', () => this.show([]));
    // The field keeps the focus while somebody clicks an entry.
    this.#list.addEventListener('mousedown', (event) => event.preventDefault());
  }

  show(found: readonly Found[]): void {
    this.#found = found;
    this.#list.replaceChildren(...found.map((each, place) => this.#entry(each, place)));
    this.#list.hidden = found.length === 0;
    this.#field.setAttribute('aria-expanded', String(found.length > 0));
    this.#choose(-1);
  }

  #entry(found: Found, place: number): HTMLLIElement {
    const entry = document.createElement('li');
    entry.id = `name-${place}`;
    entry.setAttribute('role', 'option');
    const kind = document.createElement('span');
    kind.textContent = found.type;
    entry.append(`${found.value} `, kind);
    entry.addEventListener('click', () => this.#go(found));
    return entry;
  }

  #take(event: KeyboardEvent): void {
    const { length } = this.#found;
    if (length === 0) return;
    if (event.key === 'Escape') this.show([]);
    else if (event.key === 'ArrowDown') this.#choose(this.#chosen + 1 < length ? this.#chosen + 1 : -1);
    else if (event.key === 'ArrowUp') this.#choose(this.#chosen === -1 ? length - 1 : this.#chosen - 1);
    else if (event.key === 'Enter' && this.#chosen >= 0) this.#go(this.#found[this.#chosen]!);
    else return;
    event.preventDefault();
  }

  #choose(place: number): void {
    this.#chosen = place;
    for (const [at, entry] of [...this.#list.children].entries()) {
      entry.setAttribute('aria-selected', String(at === place));
      if (at === place) entry.scrollIntoView({ block: 'nearest' });
    }
    if (place < 0) this.#field.removeAttribute('aria-activedescendant');
    else this.#field.setAttribute('aria-activedescendant', `name-${place}`);
  }

  #go({ type, value }: Found): void {
    location.assign(`${this.#base}${type}/${encodeURIComponent(value)}`);
  }
}
