import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { EdgeDirectory } from '../../../src/edge/directory.ts';
import { EdgeFeeds } from '../../../src/edge/feeds.ts';
import { ValuesReader } from '../../../src/edge/values.ts';
import { silentLogger } from '../../../src/log.ts';
import type { ResumePoint } from '../../../src/replication/source/reading/resume-point.ts';
import { FanOut } from '../../../src/sync/fan-out/fan-out.ts';
import { NatsLink } from '../../../src/sync/relay/link.ts';
import { Relay } from '../../../src/sync/relay/relay.ts';
import { streamName, subjectOf } from '../../../src/sync/relay/stream.ts';
import type { BlockHashes, DatabaseId } from '../../../src/wire/data/database.ts';
import { atEnd } from '../../support/cleanup.ts';
import {
  DECODER,
  type FrontDoorOptions,
  INDEXER,
  INDEXER_HASHES,
  openFrontDoor,
  reportOf
} from '../../support/sync/front-door.ts';
import { startGuardedNats } from '../../support/sync/guarded-nats.ts';
import { BASE_HEIGHT } from '../../support/sync/stream-messages.ts';
import { eventually, temporaryDirectory } from '../../support/sync/sync-process.ts';
import { type FedFrontDoor, testLiveStream } from '../sync/fan-out/live-stream.ts';

const { nats, publisher, reader, asPublisher } = await startGuardedNats();
const connection = await connect({ servers: nats.url, authenticator: asPublisher });
atEnd(() => connection.close());
const { streams } = await jetstreamManager(connection);

const pointAt = (height: number, hashes: BlockHashes, reorgs = 0): ResumePoint => ({
  height,
  blockTime: 1_700_000_000,
  hashes,
  reorgs,
  recent: [{ height, hashes }],
  openGroup: null,
  lookupIds: {},
  watches: {}
});

/** Ends the edge that was opened last: others would read the streams of the next. */
let endLast = (): Promise<void> => Promise.resolve();
atEnd(() => endLast());

/** The front door of an edge, fed by a publisher through NATS. */
async function openEdge(options: FrontDoorOptions = {}): Promise<FedFrontDoor> {
  await endLast();
  for (const id of [INDEXER, DECODER]) await streams.delete(streamName(id)).catch(() => undefined); // there may be none
  const creds = (file: string) => ({ urls: [nats.url], creds: file, token: undefined });
  const relay = new Relay({
    nats: creds(publisher),
    directory: temporaryDirectory('relay'),
    maxBacklogBytes: 2 ** 30,
    log: silentLogger,
    limits: { replicas: 1, keepMs: 3_600_000, maxBytes: 256 * 2 ** 20 }
  });
  const reported = options.reports?.map(({ id }) => id) ?? [INDEXER, DECODER];
  let point = pointAt(BASE_HEIGHT, INDEXER_HASHES);
  for (const id of [INDEXER, DECODER]) {
    const begins = id === INDEXER ? point : pointAt(BASE_HEIGHT, reportOf(DECODER).hashes!);
    if (reported.includes(id)) await relay.accept(id, [], null, begins);
    else await streams.add({ name: streamName(id), subjects: [subjectOf(id)] });
  }
  await eventually('the streams begin', async () =>
    reported.every((id) => relay.view(id)?.state === 'publishing' && relay.view(id)?.waiting === 0)
  );
  const link = new NatsLink({ ...creds(reader), log: silentLogger });
  let [sent, passedOn, reorgs] = [0, 0, 0];
  let whenPassedOn = (): void => undefined;
  let opened:
    | { readonly feeds: EdgeFeeds; readonly values: ValuesReader; readonly directory: EdgeDirectory }
    | undefined;
  const frontDoor = await openFrontDoor({
    ...options,
    feed: (config) => {
      const fanOut = new FanOut({
        config,
        log: silentLogger,
        hasOthers: true,
        lastReport: (id) => opened?.directory.lastReport(id)
      });
      const broadcast = fanOut.broadcast.bind(fanOut);
      fanOut.broadcast = async (...all) => {
        await broadcast(...all);
        passedOn += all[1].length;
        if (passedOn === sent) whenPassedOn();
      };
      const feeds = new EdgeFeeds({ link, fanOut, log: silentLogger });
      const values = new ValuesReader({ link, ids: () => feeds.ids, log: silentLogger });
      opened = { feeds, values, directory: new EdgeDirectory(feeds, values) };
      return { fanOut, directory: opened.directory };
    }
  });
  endLast = async () => {
    await Promise.all([opened?.feeds.close(), opened?.values.close(), relay.close()]);
    await link.close();
  };
  const { directory } = opened!;
  await eventually('the edge has the streams', async () =>
    [INDEXER, DECODER].every((id: DatabaseId) =>
      reported.includes(id) ? directory.lastReport(id) !== undefined : directory.list().length === 2
    )
  );
  return {
    ...frontDoor,
    send: async (messages) => {
      const { type, height, names } = messages.at(-1)!;
      reorgs += messages.filter((message) => message.type === 'reorg').length;
      const before = point;
      const hashes = names?.hashes ?? { ...INDEXER_HASHES, ledger_hash: `below ${height}` };
      point = pointAt(type === 'reorg' ? height - 1 : height, hashes, reorgs);
      const { promise, resolve } = Promise.withResolvers<void>();
      [sent, whenPassedOn] = [sent + messages.length, resolve];
      await relay.accept(INDEXER, messages, before, point);
      await promise;
    }
  };
}

testLiveStream(openEdge);
