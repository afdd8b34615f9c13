type Child = Node | string | null | undefined;
type Attributes = Readonly<Record<string, string | boolean | null | undefined | ((event: Event) => void)>>;

/** Makes an element; a function among the attributes listens to the event of that name, null and false leave one out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Touches the page only where something changed. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Content of one table cell: text with a class, or an element of its own. */
export type Cell =
  | string
  | Element
  | {
      readonly text: string;
      readonly kind: 'good' | 'busy' | 'warn' | 'bad' | 'wide' | 'quiet' | 'number';
      /** Text that the pointer is told. */
      readonly title?: string;
    };

/** A table whose rows stay the same elements from one look to the next; those that are no longer needed are used again. */
export class Table {
  readonly element: HTMLTableElement;
  readonly #body = h('tbody');
  readonly #columns: readonly string[];
  readonly #rows = new Map<string, HTMLTableRowElement>();

  /** @param onSort called with the number of the column whose head was pressed */
  constructor(caption: string, columns: readonly string[], onSort?: (column: number) => void) {
    this.#columns = columns;
    const head = (name: string, index: number) =>
      onSort
        ? h('th', { scope: 'col' }, h('button', { type: 'button', class: 'head', click: () => onSort(index) }, name))
        : h('th', { scope: 'col' }, name);
    this.element = h(
      'table',
      { class: 'stack', 'aria-label': caption },
      h('thead', {}, h('tr', {}, ...columns.map(head))),
      this.#body
    );
  }

  markSorted(column: number): void {
    for (const [index, head] of [...this.element.querySelectorAll('th')].entries())
      head.setAttribute('aria-sort', index === column ? 'descending' : 'none');
  }

  update(rows: readonly { readonly key: string; readonly cells: readonly Cell[] }[]): void {
    const keys = new Set(rows.map(({ key }) => key));
    const free = [...this.#rows].filter(([key]) => !keys.has(key));
    for (const [key] of free) this.#rows.delete(key);
    for (const [index, { key, cells }] of rows.entries()) {
      const row = this.#rows.get(key) ?? free.pop()?.[1] ?? this.#newRow();
      this.#rows.set(key, row);
      for (const [column, cell] of cells.entries()) fill(row.cells[column]!, cell);
      if (this.#body.children[index] !== row) this.#body.insertBefore(row, this.#body.children[index] ?? null);
    }
    for (const [, row] of free) row.remove();
  }

  /** Makes the same in steps of some rows each, for rows that seldom come or go. */
  inParts(
    rows: readonly { readonly key: string; readonly cells: () => readonly Cell[] }[],
    size: number
  ): (() => void)[] {
    const isKnown = rows.length === this.#rows.size && rows.every(({ key }) => this.#rows.has(key));
    if (!isKnown) return [() => this.update(rows.map(({ key, cells }) => ({ key, cells: cells() })))];
    return Array.from({ length: Math.ceil(rows.length / size) }, (_, part) => () => {
      for (const { key, cells } of rows.slice(part * size, (part + 1) * size)) {
        const row = this.#rows.get(key)!;
        for (const [column, cell] of cells().entries()) fill(row.cells[column]!, cell);
      }
    });
  }

  #newRow(): HTMLTableRowElement {
    return h('tr', {}, ...this.#columns.map((label) => h('td', { 'data-label': label })));
  }
}

function fill(element: HTMLTableCellElement, cell: Cell): void {
  if (cell instanceof Element) {
    if (element.firstChild !== cell) element.replaceChildren(cell);
    return;
  }
  const { text, kind, title = '' } = typeof cell === 'string' ? { text: cell, kind: '' } : cell;
  if (element.className !== kind) element.className = kind;
  if (element.title !== title) element.title = title;
  setText(element, text);
}

/** Lets the reader save a value as a file. */
export function saveJson(name: string, content: unknown): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify(content)], { type: 'application/json' }));
  h('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1_000);
}

/** Returns `1 h 5 min`, `12 s`. */
export function duration(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

export const count = (value: number | null | undefined): string =>
  value === null || value === undefined ? '–' : value.toLocaleString('en');
