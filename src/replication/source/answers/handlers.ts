import type { Handlers } from '../../../../actors/runtime/channel.ts';
import type { SerialConnection } from '../../../db/serial-connection.ts';
import type { SourceAsks } from '../../protocol.ts';
import { IndexMap } from '../../tables/index-map.ts';
import { readEpochs, readLatestEpoch, readProof, readRoots } from '../../tables/transparency-pages.ts';
import type { SourceTransparency } from '../feed/transparency.ts';
import type { SourceDigests } from './digests.ts';
import type { SourcePages } from './pages.ts';
import { describeSnapshot, type SnapshotParts } from './snapshot-order.ts';

/** Parts of a source that answer callers. */
interface AnsweringParts extends SnapshotParts {
  readonly digests: SourceDigests;
  readonly pages: SourcePages;
  readonly transparency: SourceTransparency;
  /** Connection of the index map alone, which is closed after each reading. */
  readonly indexMap: SerialConnection;
}

/** Returns a handler for each ask of a source. @param parts called with each ask: parts are made after the handlers */
export function sourceHandlers(parts: () => AnsweringParts): Handlers<SourceAsks> {
  const indexMap = new IndexMap();
  return {
    'schema.read': (known) => parts().schema.read(known),
    'snapshot.describe': ({ query }) => describeSnapshot(parts(), query),
    'snapshot.missed': async ({ since, height, hashes }) => ({
      missed: await parts().feed.missedSince(since, { height, hashes })
    }),
    'snapshot.pauseGroups': async ({ buildId, height }) => {
      await parts().feed.readers.pauseGroups(buildId, height);
      return {};
    },
    'snapshot.reconcile': async ({ buildId, checksums }) => {
      await parts().feed.readers.reconcile(buildId, checksums);
      return {};
    },
    'digest.read': async ({ query }) => ({ body: await parts().digests.read(query) }),
    'digest.challenge': async ({ key }) => ({ body: await parts().digests.challenge(key) }),
    'digest.key': async ({ part }) => ({ body: await parts().digests.key(part) }),
    'lookups.page': (order) => parts().pages.lookups(order),
    'dispensers.read': (order) => parts().pages.dispensers(order),
    'checkpoint.read': (order) => parts().pages.checkpoint(order),
    'index-map.read': async () => {
      const line = parts().indexMap;
      try {
        return await line.use((connection) => indexMap.read(connection, null));
      } finally {
        line.destroy();
      }
    },
    'transparency.roots': ({ page, limit }) =>
      parts().transparency.read((connection) => readRoots(connection, page, limit)),
    'transparency.proof': ({ blockIndex }) => {
      const { transparency } = parts();
      return transparency.read((connection) => readProof(connection, blockIndex, transparency.epochSize));
    },
    'transparency.epochs': ({ page, limit }) =>
      parts().transparency.read((connection) => readEpochs(connection, page, limit)),
    'transparency.latest': () => parts().transparency.read(readLatestEpoch)
  };
}
