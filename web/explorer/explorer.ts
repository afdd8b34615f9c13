import { addCopyButtons } from './copy.ts';
import { offerNames } from './suggestions.ts';
import { keepTimes, tellTimes } from './times.ts';

interface CoinStatus {
  readonly supported: boolean;
  readonly available: boolean;
  readonly stale: boolean;
  readonly last_block: number | null;
  readonly last_block_mark: string | null;
  readonly decoder_lag_blocks: number | null;
}

const EVERY_MS = 2_000;
const tip = document.querySelector<HTMLElement>('#tip');
/** Selects what identifies a row or a cell. */
const NAMES = 'td:first-child, .block > a';
/** Mark of the newest block that a live part shows; undefined before the first look. */
let shown: string | null | undefined;

function tellTip(text: string, isWell: boolean): void {
  if (!tip) return;
  if (tip.textContent !== text) tip.textContent = text;
  tip.dataset['state'] = isWell ? 'well' : 'failed';
}

/** Shows the newest block; what is live on the page is read again when there is a new one. */
async function lookAtTip(): Promise<void> {
  const answer = await fetch('/api/status');
  const { data } = (await answer.json()) as { data: Readonly<Record<string, CoinStatus>> };
  const coin = data[tip?.dataset['code'] ?? ''];
  if (!coin) return;
  if (!coin.available) tellTip('the database does not answer', false);
  else if (coin.stale) tellTip(`block ${coin.last_block}, ${coin.decoder_lag_blocks ?? 'unknown'} behind`, false);
  else tellTip(`block ${coin.last_block}`, true);
  if (shown !== undefined && coin.last_block_mark !== shown) await readLive();
  shown = coin.last_block_mark;
}

/** Takes the live part of the page as it is now; rows that are new are marked. What has the focus keeps it. */
async function readLive(): Promise<void> {
  const live = document.querySelector('[data-live]');
  if (!live) return;
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), 'text/html');
  const now = page.querySelector('[data-live]');
  if (!now) return;
  const known = new Set(Array.from(live.querySelectorAll(NAMES), ({ innerHTML }) => innerHTML));
  for (const cell of now.querySelectorAll(NAMES))
    cell.parentElement?.classList.toggle('new', !known.has(cell.innerHTML));
  const focused = live.contains(document.activeElement) ? document.activeElement?.getAttribute('href') : null;
  const scrolled = live.querySelector('.cells')?.scrollLeft ?? 0;
  tellTimes(now);
  live.replaceWith(now);
  now.querySelector('.cells')?.scrollTo({ left: scrolled, behavior: 'instant' });
  if (focused) now.querySelector<HTMLElement>(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

async function keepLooking(): Promise<void> {
  for (;;) {
    if (!document.hidden) await lookAtTip().catch(() => tellTip('the service does not answer', false));
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

keepTimes();
addCopyButtons();
offerNames();
void keepLooking();
