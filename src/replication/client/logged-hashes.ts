import { type BlockHashes, hashesOf } from '../../wire/data/database.ts';
import type { SourceClient } from './source-client.ts';

const PAGE = 1_000;
const MAX_PAGES = 20;

/**
 * Returns the hashes of the newest blocks in an indexer's transparency log, at least down to a height. Fewer if the log ends
 * before, or if the height is deeper than any rollback.
 *
 * @throws {PlatformError} SOURCE_INVALID, SOURCE_REFUSED, SOURCE_UNREACHABLE
 */
export async function readLoggedHashes(
  source: SourceClient,
  height: number,
  signal: AbortSignal
): Promise<ReadonlyMap<number, BlockHashes>> {
  const found = new Map<number, BlockHashes>();
  for (let page = 0; page < MAX_PAGES && !found.has(height); page++) {
    const entries = await source.logPage(page, PAGE, signal);
    for (const entry of entries) found.set(entry.block_index, hashesOf('indexer', entry));
    if (entries.length < PAGE) break;
  }
  return found;
}
