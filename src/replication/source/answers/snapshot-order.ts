import { createHash, randomUUID } from 'node:crypto';
import type { SerialConnection } from '../../../db/serial-connection.ts';
import { PlatformError } from '../../../errors.ts';
import type { SnapshotOrder, SnapshotQuery } from '../../../wire/data/snapshot.ts';
import type { SourceActorData } from '../../protocol.ts';
import { readTip } from '../../tables/block-hashes.ts';
import type { SourceFeed } from '../feed/feed.ts';
import type { SourceSchema } from './schema.ts';

/** Parts of a source that decide what a snapshot contains. */
export interface SnapshotParts {
  readonly data: Pick<SourceActorData, 'id' | 'coordinates' | 'localTables' | 'finderKey'>;
  readonly feed: SourceFeed;
  readonly schema: SourceSchema;
  readonly questions: SerialConnection;
}

/**
 * Returns what a snapshot would be built from now.
 *
 * The key changes with the body: also for another database in the same place, and for a reorg to blocks of the same hashes; with
 * the schema a moment later. It does not change with in-place changes between two blocks.
 *
 * @throws {PlatformError} BLOCKS_EMPTY, BLOCKS_CAUGHT_UP
 */
export async function describeSnapshot(
  { data, feed, schema, questions }: SnapshotParts,
  query: SnapshotQuery
): Promise<SnapshotOrder> {
  const { id, coordinates, localTables, finderKey } = data;
  if (feed.learned === undefined) await feed.readers.reached(-1); // what it learns at its start goes with the snapshot
  const { heads, fingerprint } = await schema.recentLayout();
  const { reorgs } = feed;
  const tip = await questions.use((connection) => readTip(connection, heads));
  if (!tip) throw new PlatformError('BLOCKS_EMPTY', { reason: 'No blocks in database' });
  if (query.inclusive && query.since !== null && query.since > tip.height) {
    throw new PlatformError('BLOCKS_CAUGHT_UP', { reason: `No data available after block ${query.since}` });
  }
  // Before its start it may learn that it does not know what it sent.
  const learned = feed.learned === undefined ? { height: tip.height, id: randomUUID() } : feed.learned;
  // What else a mark holds is of the time when it was read.
  const { place, server, created } = feed.mark ?? { place: coordinates.name, server: null, created: null };
  const key = createHash('sha256')
    .update(
      JSON.stringify([id, place, server, created, reorgs, tip.height, tip.hashes, fingerprint, query, learned?.id])
    )
    .digest('hex');
  const behind = query.since === null ? {} : { behind: Math.min(tip.height, query.until ?? tip.height) - query.since };
  const { life } = feed;
  const known = { ...(learned && { learned }), ...(life && { life }) };
  return { key, id, coordinates, query, localTables, finderKey, ...known, ...behind };
}
