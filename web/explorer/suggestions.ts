interface Found {
  readonly type: string;
  readonly value: string;
}

/** A question is asked when no letter came for so long. */
const PAUSE_MS = 250;
const FIELD = 'header input[type=search]';

/** Offers names while somebody types into the search field; `/`, and K with Ctrl or Command, lead to the field. */
export function offerNames(): void {
  const field = document.querySelector<HTMLInputElement>(FIELD);
  if (!field?.form) return;
  const list = document.createElement('datalist');
  list.id = 'names';
  field.setAttribute('list', list.id);
  field.after(list);
  const api = new URL(field.form.action).pathname.replace(/search$/, 'api/search/');
  let due: ReturnType<typeof setTimeout> | undefined;
  field.addEventListener('input', () => {
    clearTimeout(due);
    const text = field.value.trim();
    if (text !== '') due = setTimeout(() => void offer(list, api + encodeURIComponent(text)), PAUSE_MS);
  });
  addEventListener('keydown', (event) => {
    const isWanted =
      event.key === 'k' ? event.ctrlKey || event.metaKey : event.key === '/' && event.target === document.body;
    if (!isWanted) return;
    event.preventDefault();
    field.select();
  });
}

/** Fills the list with what a search finds; without an answer the field is used as it is. */
async function offer(list: HTMLDataListElement, path: string): Promise<void> {
  const answer = await fetch(path).catch(() => null);
  if (!answer?.ok) return;
  const { results } = (await answer.json()) as { readonly results: readonly Found[] };
  list.replaceChildren(...results.map(({ type, value }) => new Option(type, value)));
}
