import { duration, h, setText } from './dom.ts';
import { Shortcuts } from './keys.ts';
import { hasKey, KeyNeeded, type Live, LiveState, setKey } from './live.ts';
import { Palette } from './palette.ts';
import { pathOfPlace } from './place.ts';
import { showLostTab, showTab } from './tab.ts';
import { ThemeSwitch } from './theme.ts';
import { clockText, ZoneSwitch } from './time.ts';
import { ActorPage } from './views/actor.ts';
import { Audit } from './views/audit.ts';
import { Docs } from './views/docs.ts';
import { Federation } from './views/federation.ts';
import { Overview } from './views/overview.ts';
import { Subscribers } from './views/subscribers.ts';
import { TimelinePage } from './views/timeline.ts';
import { Transparency } from './views/transparency.ts';
import type { View } from './views/view.ts';

const LOOK_EVERY_MS = 500;
const hasActors = ({ databases, seq }: Live) => databases.length > 0 || seq > 0;
const isOfSet = ({ databases }: Live) => databases.some(({ key }) => key.startsWith('validator/'));
const isSync = ({ service }: Live) => service === 'sync';
/** Address, name, and which services have it; without that all have. */
const VIEWS: readonly (readonly [href: string, name: string, make: () => View, has?: (live: Live) => boolean])[] = [
  ['#/', 'Overview', () => new Overview()],
  ['#/timeline', 'Timeline', () => new TimelinePage(), hasActors],
  ['#/subscribers', 'Subscribers', () => new Subscribers(), isSync],
  ['#/transparency', 'Transparency', () => new Transparency(), isSync],
  ['#/audit', 'Audit', () => new Audit()],
  ['#/docs', 'Interface', () => new Docs()],
  ['#/federation', 'Federation', () => new Federation(), isOfSet]
];

const anchors = VIEWS.map(([href, name], index) => h('a', { href, 'aria-keyshortcuts': String(index + 1) }, name));
const state = new LiveState();
const main = document.getElementById('view')!;
const link = document.getElementById('link')!;
const lost = document.getElementById('lost')!;
/** Whether the key form is shown instead of a view. */
let locked = false;
let view: View;

function openView(): View {
  const place = pathOfPlace();
  const key = /^#\/actor\/(\w+\/[\w-]+\/[\w-]+)$/.exec(place)?.[1];
  const [, , make] = VIEWS.find(([href]) => href === place) ?? VIEWS[0]!;
  const opened = key ? new ActorPage(key) : make();
  main.replaceChildren(opened.element);
  opened.update(state);
  for (const anchor of document.querySelectorAll('#views a'))
    if (anchor.getAttribute('href') === place) {
      anchor.setAttribute('aria-current', 'page');
      anchor.scrollIntoView({ block: 'nearest', inline: 'nearest' }); // on a phone not all of them fit
    } else anchor.removeAttribute('aria-current');
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
    h(
      'div',
      { class: 'card gate' },
      h('h2', {}, 'This service has a key'),
      h(
        'p',
        {},
        'It is set by the variable of the service whose name ends in _API_KEY, such as HUB_API_KEY; an operator of sync gives SYNC_OPERATOR_KEY.'
      ),
      hasKey() ? h('p', { class: 'bad', role: 'alert' }, 'The service does not accept the key that was given.') : null,
      h('p', { class: 'quiet' }, 'The key is kept until this tab is closed, and sent to this service only.'),
      h('form', { submit }, h('label', { for: 'key' }, 'Key'), field, h('button', {}, 'Open'))
    )
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
          setText(link, '');
          lost.hidden = true;
          return askForKey();
        }
        showLoss(fault as Error);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

function show(): void {
  delete document.body.dataset['lost'];
  lost.hidden = true;
  setText(link, `seen ${clockText(state.last!.now)}`);
  showTab(state.last!);
  const { service, mode, version } = state.last!;
  for (const [index, [, , , has]] of VIEWS.entries()) anchors[index]!.hidden = has?.(state.last!) === false;
  setText(document.getElementById('mode')!, [service, mode, version].filter((word) => word !== null).join(' '));
  view.update(state);
}

/** Keeps the last view and marks it as old. */
function showLoss({ message }: Error): void {
  document.body.dataset['lost'] = '';
  lost.hidden = false;
  setText(link, 'no answer');
  showLostTab();
  const seen = state.last
    ? `Last seen ${clockText(state.last.now)}, ${duration(Date.now() - state.seenAt)} ago; the page shows how it was then.`
    : 'It has not answered yet.';
  setText(lost, `Connection lost: ${message}. ${seen} Trying again.`);
}

document.getElementById('views')!.append(...anchors);
const theme = new ThemeSwitch();
const zone = new ZoneSwitch(() => {
  if (!locked) view = openView();
});
const shortcuts = new Shortcuts([
  ...VIEWS.map(([href, name], index) => ({
    key: String(index + 1),
    does: name,
    run: () => {
      location.hash = href;
    }
  })),
  { key: '/', does: 'to the filter', run: () => document.querySelector<HTMLElement>('input[type=search]')?.focus() },
  { key: 'n', does: 'back to now', run: () => document.querySelector<HTMLElement>('#now')?.click() },
  { key: 't', does: 'colours: auto, light, dark', run: () => theme.turn() },
  { key: 'z', does: 'times: local, UTC', run: () => zone.turn() }
]);
const help = h(
  'button',
  { type: 'button', class: 'icon', 'aria-label': 'Keys', title: 'Keys (?)', click: () => shortcuts.toggle() },
  '?'
);
document.getElementById('tools')!.append(zone.element, theme.element, help);
const palette = new Palette(() => [
  ...VIEWS.filter(([, , , has]) => !state.last || has?.(state.last) !== false).map(([href, name]) => ({ href, name })),
  ...(state.last?.databases ?? []).map(({ key }) => ({ href: `#/actor/${key}`, name: key }))
]);
document.body.append(shortcuts.dialog, palette.dialog);
addEventListener('keydown', (event) => {
  if (event.key !== 'k' || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  palette.open();
});
document.querySelector('.skip')!.addEventListener('click', (event) => {
  event.preventDefault(); // this page's own addresses begin with # too
  main.focus();
});
addEventListener('hashchange', () => {
  if (locked) return;
  view = openView();
  main.focus({ preventScroll: true });
});
view = openView();
void keepLooking();
