import { h } from '../dom.ts';
import { setKey } from '../live.ts';
import { enliven } from './enliven.ts';

const main = document.querySelector('main')!;
const key = h('input', { type: 'password', autocomplete: 'off' });
const submit = (event: Event) => {
  event.preventDefault();
  setKey(key.value);
  key.value = '';
  key.placeholder = 'kept until this tab is closed';
};
document
  .querySelector('#keys')
  ?.after(h('form', { submit }, h('label', {}, 'Key for requests of this page ', key), h('button', {}, 'Use')));
enliven(main);

/** Opens the operation that the address names. */
function openNamed(): void {
  const named = location.hash === '' ? null : document.getElementById(location.hash.slice(1));
  if (!(named instanceof HTMLDetailsElement)) return;
  named.open = true;
  named.scrollIntoView();
}

addEventListener('hashchange', openNamed);
// The address names what was opened last, so that it can be passed on.
main.addEventListener(
  'toggle',
  ({ target }) => {
    if (target instanceof HTMLDetailsElement && target.open) history.replaceState(null, '', `#${target.id}`);
  },
  true
);
openNamed();
