interface CoinStatus {
  readonly supported: boolean;
  readonly available: boolean;
  readonly stale: boolean;
  readonly last_block: number | null;
  readonly decoder_lag_blocks: number | null;
}

const EVERY_MS = 5_000;
const tip = document.querySelector('#tip');

/** Shows the newest block, and says when there is one that the page does not have. */
async function lookAtTip(): Promise<void> {
  const answer = await fetch('/api/status');
  const { data } = (await answer.json()) as { data: Readonly<Record<string, CoinStatus>> };
  const coin = Object.values(data).find(({ supported }) => supported);
  if (!tip || !coin) return;
  if (!coin.available) tip.textContent = 'the database does not answer';
  else if (coin.stale) tip.textContent = `block ${coin.last_block}, ${coin.decoder_lag_blocks} behind`;
  else tip.textContent = `block ${coin.last_block}`;
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
