import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { connect, headers } from '@nats-io/transport-node';
import { EdgeDirectory } from '../../../src/edge/directory.ts';
import { EdgeFeed } from '../../../src/edge/feed.ts';
import { EdgeFeeds } from '../../../src/edge/feeds.ts';
import { ValuesReader } from '../../../src/edge/values.ts';
import { silentLogger } from '../../../src/log.ts';
import type { FanOut } from '../../../src/sync/fan-out/fan-out.ts';
import { NatsLink } from '../../../src/sync/relay/link.ts';
import { blockText, type DatabaseId } from '../../../src/wire/data/database.ts';
import { atEnd } from '../../support/cleanup.ts';
import { startGuardedNats } from '../../support/sync/guarded-nats.ts';
import { eventually } from '../../support/sync/sync-process.ts';

const guarded = await startGuardedNats();
const writer = await connect({ servers: guarded.nats.url, authenticator: guarded.asPublisher });
atEnd(() => writer.close());
const [messages, streams]: [JetStreamClient, JetStreamManager] = [jetstream(writer), await jetstreamManager(writer)];

const hashes = (height: number) => ({ block_hash: `b${height}` });

/** A stream of a chain of its own, whose messages are the test's, and the edge that passes them on. */
class Stream {
  readonly id: DatabaseId;
  readonly name: string;
  readonly passedOn: string[] = [];
  readonly cuts: string[] = [];
  feeds: EdgeFeeds | undefined;
  link: NatsLink | undefined;

  constructor(chain: string) {
    this.id = { dbType: 'decoder', chain, network: 'regtest' };
    this.name = `PLATFORM_DECODER_${chain.toUpperCase()}_REGTEST`;
  }

  async create(): Promise<void> {
    await streams.streams.add({ name: this.name, subjects: [`platform.v1.decoder.${this.id.chain}.regtest`] });
  }

  async open(creds = guarded.reader): Promise<void> {
    await this.create();
    const link = new NatsLink({ urls: [guarded.nats.url], creds, token: undefined, log: silentLogger });
    const fanOut = {
      broadcast: async (id: DatabaseId, all: Parameters<FanOut['broadcast']>[1]) => {
        if (id.chain === this.id.chain) this.passedOn.push(...all.map(({ type, height }) => `${type} ${height}`));
      },
      setPoint: () => undefined,
      breakOff: (id: DatabaseId, why: string) => void (id.chain === this.id.chain && this.cuts.push(why))
    };
    const feeds = new EdgeFeeds({ link, fanOut: fanOut as unknown as FanOut, log: silentLogger });
    [this.feeds, this.link] = [feeds, link];
    atEnd(async () => {
      await feeds.close();
      await link.close();
    });
  }

  /** Publishes a block. @param headerTexts header lines that are not what they should be @param text absent: the block's */
  async say(
    height: number,
    headerTexts: Readonly<Record<string, string>> = {},
    of: DatabaseId = this.id,
    text?: string
  ): Promise<void> {
    const message = { type: 'block', ...of, block_index: height, block_time: height, ...hashes(height), data: {} };
    const body = text ?? JSON.stringify(message);
    const head = headers();
    const facts = {
      Type: 'block',
      Height: height,
      Hash: blockText(hashes(height)),
      Previous: blockText(hashes(height - 1)),
      Reorgs: 0,
      Size: body.length,
      Sha256: createHash('sha256').update(body).digest('hex'),
      ...headerTexts
    };
    for (const [name, value] of Object.entries(facts)) head.set(`Platform-${name}`, String(value));
    await messages.publish(`platform.v1.decoder.${this.id.chain}.regtest`, body, { headers: head });
  }

  async isPassedOn(...heights: readonly number[]): Promise<void> {
    const all = heights.map((height) => `block ${height}`);
    await eventually(`blocks ${heights} are passed on`, async () => this.passedOn.join() === all.join()).catch(
      (fault) => {
        throw new Error(`${fault.message}: ${this.passedOn}; ${this.feeds?.of(this.id)?.reason}`);
      }
    );
  }

  async hasReason(pattern: RegExp): Promise<void> {
    await eventually(`the reason is ${pattern}`, async () => pattern.test(this.feeds?.of(this.id)?.reason ?? ''));
  }
}

test('STREAM_FOREIGN: a message of another database is not passed on, nor what follows it', async () => {
  const stream = new Stream('foreign');
  await stream.open();
  await stream.say(1);
  await stream.say(2, {}, { ...stream.id, chain: 'other' });
  await stream.say(3);
  await stream.hasReason(/message 2 in the stream of decoder\/foreign\/regtest is of decoder\/other\/regtest/);
  await stream.isPassedOn(1);
});

test('a message that names no type is passed over: a reader can have NATS copy those of other streams there', async () => {
  const stream = new Stream('copied');
  await stream.open();
  await stream.say(1);
  const bucket = await new Kvm(messages).create('PLATFORM');
  await bucket.put('copied', 'thing');
  const reader = await connect({ servers: guarded.nats.url, authenticator: guarded.asReader });
  atEnd(() => reader.close());
  const delivery = { deliver_subject: 'platform.v1.decoder.copied.regtest', filter_subject: '$KV.PLATFORM.copied' };
  const config = { ...delivery, deliver_policy: 'all', ack_policy: 'none' };
  await reader.request('$JS.API.CONSUMER.CREATE.KV_PLATFORM', JSON.stringify({ stream_name: 'KV_PLATFORM', config }));
  await eventually('it is there', async () => (await streams.streams.info(stream.name)).state.messages === 2);
  await stream.say(2);
  await stream.isPassedOn(1, 2);
  assert.deepEqual(stream.cuts, []);
});

test('STREAM_BODY_DIFFERS: a body with another hash, or none where one is named, is not passed on', async () => {
  for (const [chain, cause] of [
    ['changed', { Sha256: '0'.repeat(64) }],
    ['absent', { Bucket: 'PLATFORM_DECODER_ABSENT_REGTEST_BODIES', Key: 'x' }]
  ] as const) {
    const stream = new Stream(chain);
    await stream.open();
    await stream.say(1);
    await stream.isPassedOn(1);
    await stream.say(2, cause);
    await stream.hasReason(/message 2 (of decoder\/changed\/regtest has .* another hash|cannot be read|is not stored)/);
    await stream.isPassedOn(1);
  }
});

test('a gap in the stream cuts its subscribers off, and what follows is passed on: messages that are gone, and another chain', async () => {
  const stream = new Stream('gap');
  await stream.open();
  await stream.say(1);
  await stream.isPassedOn(1);
  await stream.say(3); // its parent was never published
  await stream.isPassedOn(1, 3);
  await stream.say(4, { Previous: 'another' });
  await stream.isPassedOn(1, 3, 4);
  assert.equal(stream.cuts.length, 2);
  assert.match(stream.cuts[0]!, /gap/);

  await guarded.nats.end();
  await guarded.nats.start();
  await streams.streams.purge(stream.name).catch(() => streams.streams.purge(stream.name));
  await stream.say(5);
  await stream.say(6);
  await stream.isPassedOn(1, 3, 4, 5, 6);
});

test('STREAM_WRITABLE: credentials that may write the stream pass nothing on', async () => {
  const stream = new Stream('writable');
  await stream.open(guarded.publisher);
  await stream.say(1);
  await stream.hasReason(/the credentials of this edge may write the stream of decoder\/writable\/regtest/);
  await stream.isPassedOn();
  const info = await streams.streams.info(stream.name);
  assert.equal(info.state.messages, 1, 'and nothing was written to find that out');
});

test('a stream that is deleted and created anew while its edge listens is another one, from its first message on', async () => {
  const stream = new Stream('anew');
  await stream.open();
  for (const height of [1, 2, 3]) await stream.say(height);
  await stream.isPassedOn(1, 2, 3);
  await streams.streams.delete(stream.name);
  await stream.create();
  for (const height of [4, 5, 6, 7]) await stream.say(height); // as many as it had, and one more
  await stream.isPassedOn(1, 2, 3, 4, 5, 6, 7);
  assert.equal(stream.cuts.length, 1);
});

test('STREAM_SILENT: a stream whose consumer gets nothing more, without a word, is asked for anew', async () => {
  const stream = new Stream('silent');
  await stream.open();
  await stream.say(1);
  await stream.isPassedOn(1);
  // NATS itself is made to keep the messages back: the consumer lives, and another subject of the stream is all it gets.
  const subject = 'platform.v1.decoder.silent.regtest';
  await streams.streams.update(stream.name, { subjects: [subject, `${subject}.nothing`] });
  const [consumer] = await streams.consumers.list(stream.name).next();
  await streams.consumers.update(stream.name, consumer!.name, { filter_subject: `${subject}.nothing` });
  await streams.streams.update(stream.name, { subjects: [subject] });
  await stream.say(2);
  await stream.isPassedOn(1, 2);
  assert.deepEqual(stream.cuts, []);
});

test('a feed that is closed just before it listens ends, and one whose connection is lost just then goes on with the next', async () => {
  const stream = new Stream('between');
  await stream.create();
  await stream.say(1);
  const link = new NatsLink({ urls: [guarded.nats.url], creds: guarded.reader, token: undefined, log: silentLogger });
  atEnd(() => link.close());
  /** The link, with something that happens when a feed is about to listen. */
  const during = (act: () => void, lost?: AbortSignal) => {
    const connected = async (signal: AbortSignal) => {
      const nats = await link.connected(signal);
      const get = async (...asked: Parameters<JetStreamClient['consumers']['get']>) => {
        const consumer = await nats.messages.consumers.get(...asked);
        act();
        return consumer;
      };
      const publish = nats.messages.publish.bind(nats.messages);
      return { ...nats, messages: { publish, consumers: { get } }, lost: lost?.aborted === false ? lost : nats.lost };
    };
    return { reason: null, connected } as unknown as NatsLink;
  };
  let passedOn = 0;
  const broadcast = async () => void passedOn++;
  const fanOut = { broadcast, setPoint: () => undefined, breakOff: () => undefined };
  const closed = Promise.withResolvers<void>();
  const ended = new EdgeFeed({
    id: stream.id,
    fanOut,
    log: silentLogger,
    link: during(() => void ended.close().then(closed.resolve))
  });
  let isClosed = false;
  void closed.promise.then(() => (isClosed = true));
  await eventually('the closed feed has ended', 10_000, async () => isClosed);

  const lost = new AbortController();
  const goesOn = new EdgeFeed({
    id: stream.id,
    fanOut,
    log: silentLogger,
    link: during(() => lost.abort(), lost.signal)
  });
  await eventually('the other passes its block on', 10_000, async () => passedOn === 1);
  await goesOn.close();
});

test('an edge on its origin: nothing of another block, how long it is silent, and the hashes of a block that is too long', async () => {
  const stream = new Stream('values');
  await stream.open();
  const [{ id }, { feeds, link }] = [stream, stream];
  const bucket = await new Kvm(messages).create('PLATFORM');
  const tell = (hash: string, silent = 0) => {
    const settled = { settled_height: 1, amendments: 0, database_silent_s: silent };
    const status = JSON.stringify({ block_height: 1, block_hash: hash, ...settled });
    return bucket.put('decoder.values.regtest.status', status);
  };
  const flips: DatabaseId[] = [];
  const values = new ValuesReader({
    link: link!,
    ids: () => [id],
    log: silentLogger,
    silentMs: 4_000,
    onSilence: (of) => flips.push(of)
  });
  atEnd(() => values.close());
  const directory = new EdgeDirectory(feeds!, values);
  await stream.say(1, {}, id, JSON.stringify({ type: 'block', ...id, block_index: 1, ...hashes(1), settling: true }));
  await stream.isPassedOn(1);
  await tell('another');
  await eventually('the origin is heard', async () => values.of(id) !== undefined);
  assert.equal(directory.lastReport(id)?.settledHeight, null);
  await tell('b1', 7);
  await eventually('its MariaDB is silent', async () => directory.lastReport(id)?.databaseSilentS === 7);
  assert.deepEqual([directory.lastReport(id)?.settledHeight, directory.isUp(id), flips.length], [1, true, 1]);
  await eventually('it is silent', async () => !directory.isUp(id));
  assert.match(directory.waitsFor(id)!, /the origin has written nothing into NATS for \d+ s/);
  await tell('b1');
  await eventually('it is heard again', async () => directory.isUp(id) && flips.length === 2);
  assert.equal(directory.lastReport(id)?.databaseSilentS, 0);

  await stream.say(2, {}, id, '');
  await eventually('the block without bytes is passed on', async () => directory.lastReport(id)?.height === 2);
  const { hashes: reported, settledHeight } = directory.lastReport(id)!;
  assert.deepEqual([reported, settledHeight], [hashes(2), null]);
});
