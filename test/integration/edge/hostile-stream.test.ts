import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, headers } from '@nats-io/transport-node';
import { EdgeFeeds } from '../../../src/edge/feeds.ts';
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

  constructor(chain: string) {
    this.id = { dbType: 'decoder', chain, network: 'regtest' };
    this.name = `PLATFORM_DECODER_${chain.toUpperCase()}_REGTEST`;
  }

  async open(creds = guarded.reader): Promise<void> {
    await streams.streams.add({ name: this.name, subjects: [`platform.v1.decoder.${this.id.chain}.regtest`] });
    const link = new NatsLink({ urls: [guarded.nats.url], creds, token: undefined, log: silentLogger });
    const fanOut = {
      broadcast: async (id: DatabaseId, all: Parameters<FanOut['broadcast']>[1]) => {
        if (id.chain === this.id.chain) this.passedOn.push(...all.map(({ type, height }) => `${type} ${height}`));
      },
      setPoint: () => undefined,
      breakOff: (id: DatabaseId, why: string) => void (id.chain === this.id.chain && this.cuts.push(why))
    };
    const feeds = new EdgeFeeds({ link, fanOut: fanOut as unknown as FanOut, log: silentLogger });
    this.feeds = feeds;
    atEnd(async () => {
      await feeds.close();
      await link.close();
    });
  }

  /** Publishes a block. @param told header lines that are not what they should be */
  async say(height: number, told: Readonly<Record<string, string>> = {}, of: DatabaseId = this.id): Promise<void> {
    const body = JSON.stringify({
      type: 'block',
      ...of,
      block_index: height,
      block_time: height,
      ...hashes(height),
      data: {}
    });
    const head = headers();
    const facts = {
      Type: 'block',
      Height: height,
      Hash: blockText(hashes(height)),
      Previous: blockText(hashes(height - 1)),
      Reorgs: 0,
      Size: body.length,
      Sha256: createHash('sha256').update(body).digest('hex'),
      ...told
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

test('STREAM_BODY_DIFFERS: a body with another hash, or none where one is named, is not passed on', async () => {
  for (const [chain, told] of [
    ['changed', { Sha256: '0'.repeat(64) }],
    ['absent', { Bucket: 'PLATFORM_DECODER_ABSENT_REGTEST_BODIES', Key: 'x' }]
  ] as const) {
    const stream = new Stream(chain);
    await stream.open();
    await stream.say(1);
    await stream.say(2, told);
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
