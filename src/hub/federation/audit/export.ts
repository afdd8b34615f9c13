import type { HubSet } from '../gossip/signatures.ts';
import type { Journal } from '../journal/journal.ts';
import { readManifest } from '../transfer/manifest.ts';

/** First field of an export, with its form. */
export const FORM = 'platform-hub-log/1';

/** Batches that are read at once. */
const MOST_ENTRIES = 200;
const MOST_BYTES = 4 * 2 ** 20;

/**
 * Yields a hub's log with its certificates and the state of its last checkpoint, one JSON text for each line. It has all that was written,
 * passwords included.
 */
export async function* exportLog(journal: Journal, set: HubSet): AsyncGenerator<string> {
  const { keys, quorum, rounds, votingPeriodMs, log } = set;
  yield JSON.stringify({ form: FORM, keys, quorum, rounds, votingPeriodMs, log });
  for (let from = (await journal.firstKept()) ?? 1; ; ) {
    const entries = await journal.entries(from, MOST_ENTRIES, MOST_BYTES);
    for (const committed of entries) yield JSON.stringify({ committed });
    const last = entries.at(-1);
    if (!last) break;
    from = last.batch.seq + 1;
  }
  const state = await journal.stableState();
  if (!state) return;
  yield JSON.stringify({ stable: state.stable, manifest: state.text });
  for (const hash of readManifest(state.text)?.chunks ?? []) yield JSON.stringify({ chunk: await journal.chunk(hash) });
}
