import { type BlockHashes, hashesOf } from '../../wire/data/database.ts';
import type { SourceClient } from './source-client.ts';

const PAGE = 1_000;
/** Additional blocks of a log page besides the requested one, because the log may grow meanwhile. */
const MARGIN = 10;

/** A source's answer about a block. */
interface HashAnswer {
  readonly hashes: ReadonlyMap<number, BlockHashes>;
  /** Whether the source has passed the block without naming it: servers of other makes name no single block below their tip. */
  readonly cannotName: boolean;
}

/**
 * Asks a source for its hashes of a block, and of others in the same answer, in the cheapest way that it offers: its
 * status, else an indexer's transparency log, else the headers of a snapshot.
 *
 * @throws {PlatformError} SOURCE_INVALID, SOURCE_REFUSED, SOURCE_UNREACHABLE
 */
export async function askHashes(source: SourceClient, height: number, signal: AbortSignal): Promise<HashAnswer> {
  const status = await source.status(signal);
  if (status.height === null) return answerOf(new Map());
  if (status.height <= height) return answerOf(new Map([[status.height, status.hashes]]));
  const depth = status.height - height + 1;
  if (source.id.dbType === 'indexer' && depth + MARGIN <= PAGE) {
    const entries = await source.logPage(0, depth + MARGIN, signal);
    const found = new Map(entries.map((entry) => [entry.block_index, hashesOf('indexer', entry)]));
    if (found.has(height)) return answerOf(found);
  }
  const head = await source.headAt(height, signal);
  if (head?.height === height && head.hashes !== null) return answerOf(new Map([[height, head.hashes]]));
  return { hashes: new Map(), cannotName: head !== null && head.height >= height };
}

function answerOf(hashes: ReadonlyMap<number, BlockHashes>): HashAnswer {
  return { hashes, cannotName: false };
}
