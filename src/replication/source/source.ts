import type { ActorHost } from '../../../actors/runtime/thread/actor-host.ts';
import type { SerialConnection } from '../../db/serial-connection.ts';
import type { Logger } from '../../log.ts';
import { SourceRoots } from '../commitment/source-roots.ts';
import type { ActorNotices, MainAsks, SourceActorData } from '../protocol.ts';
import { SourceDigests } from './answers/digests.ts';
import { SourcePages } from './answers/pages.ts';
import { SourceSchema } from './answers/schema.ts';
import { SourceConnections } from './connections.ts';
import { SourceFeed } from './feed/feed.ts';
import { handOverTo } from './feed/hand-over.ts';
import { SourceTransparency } from './feed/transparency.ts';

const TASK_DEADLINE_MS = 60_000;
/** A snapshot build may hold the pool for long. */
const TREE_TASK_DEADLINE_MS = 3_600_000;

/** The parts of one source. Each effect and each answer takes the parts it needs. */
export class Source {
  readonly data: SourceActorData;
  readonly connections: SourceConnections;
  readonly transparency: SourceTransparency;
  /** Computes state roots; null where the tables carry them, or have no ledger. */
  readonly roots: SourceRoots | null;
  readonly feed: SourceFeed;
  readonly digests: SourceDigests;
  readonly pages: SourcePages;
  readonly schema: SourceSchema;

  /** @param changed called after messages were handed over */
  constructor(data: SourceActorData, log: Logger, host: ActorHost<MainAsks, ActorNotices>, changed: () => void) {
    this.data = data;
    this.connections = new SourceConnections(data);
    const { open, reader, control, questions, logReader } = this.connections;
    const transparency = new SourceTransparency({
      data,
      log,
      logWriter: control,
      logReader,
      observe: host.observe('epochCommit'),
      computeRoots: (epochs) => host.ask('sync/merkle-epochs', { epochs }, { deadlineMs: TASK_DEADLINE_MS })
    });
    this.transparency = transparency;
    this.roots = SourceRoots.of({
      data,
      log,
      inspect: host.observe('balanceTree'),
      open,
      changed: () => undefined, // reported with the next tick
      computeTops: (batch) => host.ask('sync/balance-tops', batch, { deadlineMs: TREE_TASK_DEADLINE_MS })
    });
    const feed = new SourceFeed({
      data,
      log,
      reader,
      control,
      open,
      beginGroup: (recent, heads) => transparency.beginGroup(recent, heads),
      record: (blocks, recent, heads) => transparency.record(blocks, recent, heads),
      retime: (recent, heads) => transparency.retime(recent, heads),
      prune: (fork) => transparency.prune(fork),
      roots: this.roots,
      ...handOverTo(host, changed)
    });
    this.feed = feed;
    this.digests = new SourceDigests(data, open, {
      reorgs: () => feed.reorgs,
      amendments: (height) => feed.amendmentsOf(height),
      learned: () => feed.learned?.id ?? null,
      isSettled: async (connection, layout, table, tip) =>
        (await feed.isSettled(connection, layout, table, tip)) &&
        (table !== 'sync_meta' || (await transparency.follows(connection, layout.heads!, tip.height)))
    });
    this.pages = new SourcePages(data, open);
    this.schema = new SourceSchema(data, questions, () => feed.served);
  }

  /** Connection for callers' short questions. */
  get questions(): SerialConnection {
    return this.connections.questions;
  }

  /** Connection of the index map alone, which is closed after each reading. */
  get indexMap(): SerialConnection {
    return this.connections.indexMap;
  }

  /** Ends everything that is under way, and closes the connections. */
  close(): void {
    this.feed.stop();
    this.digests.destroy();
    this.pages.destroy();
    this.connections.destroy();
  }
}
