import { PlatformError } from '../../../errors.ts';
import type { HubSet } from '../gossip/signatures.ts';
import type { Journal } from '../journal/journal.ts';
import { readManifest } from '../transfer/manifest.ts';

/** First field of an export, with its form. */
export const FORM = 'platform-hub-log/1';

/** Batches that are read at once. */
const MOST_ENTRIES = 200;
const MOST_BYTES = 4 * 2 ** 20;
/** States that are begun with, one after the other. */
const MOST_TRIES = 5;

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
  // A running hub throws old states away meanwhile: parts that are gone are those of one that a newer one has followed.
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const state = await journal.stableState();
    if (!state) return;
    const chunks = await readChunks(journal, state.text);
    if (chunks === null) continue;
    yield JSON.stringify({ stable: state.stable, manifest: state.text });
    for (const chunk of chunks) yield JSON.stringify({ chunk });
    return;
  }
  throw new PlatformError('STATE_UNUSABLE', {
    reason: 'the hub threw its states away while they were read: try again'
  });
}

/** Reads the parts of a state; null where one is gone. */
async function readChunks(journal: Journal, text: string): Promise<readonly string[] | null> {
  const chunks: string[] = [];
  for (const hash of readManifest(text)?.chunks ?? []) {
    const chunk = await journal.chunk(hash);
    if (chunk === null) return null;
    chunks.push(chunk);
  }
  return chunks;
}
