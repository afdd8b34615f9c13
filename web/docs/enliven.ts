import { h, setText } from '../dom.ts';
import { addRequest } from './request-form.ts';

/**
 * Adds to a page of operations what a browser can do: a filter, and in each part that is opened samples with the
 * service's address and a form that sends the request.
 */
export function enliven(main: HTMLElement): void {
  const status = h('p', { role: 'status', class: 'quiet' });
  const field = h('input', { type: 'search', 'aria-label': 'Filter', placeholder: 'path, method, word' });
  field.addEventListener('input', () => setText(status, filter(main, field.value.trim().toLowerCase())));
  main.prepend(h('div', { class: 'bar' }, field, status));
  main.addEventListener(
    'toggle',
    ({ target }) => {
      if (!(target instanceof HTMLDetailsElement) || !target.open || target.dataset['made'] === '') return;
      target.dataset['made'] = '';
      addRequest(target);
    },
    true // the event does not bubble
  );
}

/** Hides what does not hold the text, and parts of which nothing is left. @returns how many are shown */
function filter(main: HTMLElement, wanted: string): string {
  let [shown, all] = [0, 0];
  for (const section of main.querySelectorAll('section')) {
    const operations = [...section.querySelectorAll<HTMLDetailsElement>('.op')];
    for (const each of operations) {
      const isFound = each.firstElementChild!.textContent.toLowerCase().includes(wanted);
      each.hidden = !isFound;
      all += 1;
      if (isFound) shown += 1;
    }
    section.hidden = operations.every(({ hidden }) => hidden);
  }
  return wanted === '' ? '' : `${shown} of ${all}`;
}
