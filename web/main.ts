import { ActorPage } from './actor.ts';
import { Docs } from './docs.ts';
import { h, setText } from './dom.ts';
import { KeyNeeded, LiveState, setKey } from './live.ts';
import { Overview } from './overview.ts';
import { Subscribers } from './subscribers.ts';
import { TimelinePage } from './timeline.ts';
import { Transparency } from './transparency.ts';
import type { View } from './view.ts';

const LOOK_EVERY_MS = 500;
const VIEWS = [
  ['#/', 'Overview'],
  ['#/timeline', 'Timeline'],
  ['#/subscribers', 'Subscribers'],
  ['#/transparency', 'Transparency'],
  ['#/docs', 'Interface']
] as const;

const state = new LiveState();
const main = document.getElementById('view')!;
const link = document.getElementById('link')!;
/** Whether the key form is shown instead of a view. */
let locked = false;
let view: View;

function openView(): View {
  const place = location.hash || '#/';
  const key = /^#\/actor\/(\w+\/\w+\/\w+)$/.exec(place)?.[1];
  const opened = key
    ? new ActorPage(key)
    : place === '#/timeline'
      ? new TimelinePage()
      : place === '#/subscribers'
        ? new Subscribers()
        : place === '#/transparency'
          ? new Transparency()
          : place === '#/docs'
            ? new Docs()
            : new Overview();
  main.replaceChildren(opened.element);
  opened.update(state);
  for (const anchor of document.querySelectorAll('#views a'))
    if (anchor.getAttribute('href') === place) anchor.setAttribute('aria-current', 'page');
    else anchor.removeAttribute('aria-current');
  return opened;
}

function askForKey(): void {
  locked = true;
  const field = h('input', { type: 'password', required: true, autocomplete: 'off', id: 'key' });
  const submit = (event: Event) => {
    event.preventDefault();
    setKey(field.value);
    locked = false;
    view = openView();
    void keepLooking();
  };
  main.replaceChildren(
    h('h2', {}, 'This service has a key'),
    h('p', {}, 'It is its SYNC_API_KEY; an operator gives its SYNC_OPERATOR_KEY, where there is one.'),
    h('p', {}, 'The key is kept until this tab is closed, and sent to this service only.'),
    h('form', { submit }, h('label', { for: 'key' }, 'Key'), field, h('button', {}, 'Open'))
  );
  field.focus();
}

/** Looks while the page is seen; a look follows the answer of the one before. */
async function keepLooking(): Promise<void> {
  for (;;) {
    if (!document.hidden) {
      try {
        await state.look(view.showsEntries === true);
        show();
      } catch (fault) {
        if (fault instanceof KeyNeeded) {
          setText(link, 'the key is missing or not accepted');
          return askForKey();
        }
        link.dataset['lost'] = '';
        setText(link, `no answer: ${(fault as Error).message}`);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

function show(): void {
  delete link.dataset['lost'];
  setText(link, `seen ${new Date(state.last!.now).toLocaleTimeString()}`);
  setText(document.getElementById('mode')!, state.last!.mode);
  view.update(state);
}

document.getElementById('views')!.append(...VIEWS.map(([href, name]) => h('a', { href }, name)));
addEventListener('hashchange', () => {
  if (locked) return;
  view = openView();
  main.focus({ preventScroll: true });
});
view = openView();
void keepLooking();
