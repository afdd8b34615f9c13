import { offerNames } from './suggestions.ts';

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
/** Selects the cell that identifies a row. */
const NAMES = 'td:first-child';
/** Mark of the newest block that a live part shows; undefined before the first look. */
let shown: string | null | undefined;

/** Shows the newest block; what is live on the page is read again when there is a new one. */
async function lookAtTip(): Promise<void> {
  const answer = await fetch('/api/status');
  const { data } = (await answer.json()) as { data: Readonly<Record<string, CoinStatus>> };
  const coin = data[tip?.dataset['code'] ?? ''];
  if (!tip || !coin) return;
  if (!coin.available) tip.textContent = 'the database does not answer';
  else if (coin.stale) tip.textContent = `block ${coin.last_block}, ${coin.decoder_lag_blocks ?? 'unknown'} behind`;
  else tip.textContent = `block ${coin.last_block}`;
  if (shown !== undefined && coin.last_block_mark !== shown) await readLive();
  shown = coin.last_block_mark;
}

/** Takes the live part of the page as it is now; rows that are new are marked. */
async function readLive(): Promise<void> {
  const live = document.querySelector('[data-live]');
  if (!live) return;
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), 'text/html');
  const now = page.querySelector('[data-live]');
  if (!now) return;
  const known = new Set(Array.from(live.querySelectorAll(NAMES), ({ innerHTML }) => innerHTML));
  for (const cell of now.querySelectorAll(NAMES))
    cell.parentElement?.classList.toggle('new', !known.has(cell.innerHTML));
  live.replaceWith(now);
}

async function keepLooking(): Promise<void> {
  for (;;) {
    if (!document.hidden)
      await lookAtTip().catch(() => {
        if (tip) tip.textContent = 'the service does not answer';
      });
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

void keepLooking();
offerNames();
