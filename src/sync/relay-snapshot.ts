import type { ArtifactStore } from '../replication/snapshot/artifact-store.ts';
import { Reader } from '../replication/snapshot/artifact-store.ts';
import type { DatabaseId } from '../wire/data/database.ts';
import { SNAPSHOT_HEADERS, type SnapshotCoding, type SnapshotQuery } from '../wire/data/snapshot.ts';
import type { ActorDirectory } from './app.ts';
import type { SnapshotBody } from './relay/snapshots.ts';

/** All rows of all tables. */
const FULL: SnapshotQuery = {
  since: null,
  until: null,
  skipLookups: false,
  lookups: {},
  infraOnly: false,
  inclusive: false,
  older: null,
  parts: false
};

/** Takes the present full snapshot, built if there is none. @throws {PlatformError} SNAPSHOT_*, ACTOR_*, BLOCKS_EMPTY */
export async function takeSnapshot(
  artifacts: ArtifactStore,
  directory: Pick<ActorDirectory, 'lookup'>,
  id: DatabaseId,
  coding: SnapshotCoding
): Promise<SnapshotBody> {
  const order = await directory.lookup(id).ask('snapshot.describe', { query: FULL });
  const reader: Reader = new Reader('relay', () => reader.leave());
  const artifact = await artifacts.obtain(order, coding, reader);
  return {
    etag: artifact.etag,
    headers: artifact.headers,
    height: Number(artifact.headers[SNAPSHOT_HEADERS.height]),
    async *read() {
      for await (const bytes of artifact.read(0, null)) {
        yield bytes;
        reader.tookBlock();
      }
    },
    leave: () => reader.leave()
  };
}
