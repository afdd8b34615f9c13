import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { EdgeDirectory } from '../../../src/edge/directory.ts';
import { EdgeFeed } from '../../../src/edge/feed.ts';
import { EdgeFeeds } from '../../../src/edge/feeds.ts';
import { PositionReader } from '../../../src/edge/position.ts';
import type { StreamMessage } from '../../../src/edge/stream-message.ts';
import type { ValuesReader } from '../../../src/edge/values.ts';
import { silentLogger } from '../../../src/log.ts';
import type { FanOut } from '../../../src/sync/fan-out/fan-out.ts';
import type { Nats, NatsLink } from '../../../src/sync/relay/link.ts';
import type { DatabaseId } from '../../../src/wire/data/database.ts';
import { atEnd } from '../../support/cleanup.ts';
import { eventually } from '../../support/sync/sync-process.ts';

const ID: DatabaseId = { dbType: 'decoder', chain: 'litecoin', network: 'regtest' };

const nameOf = (chain: string) => `PLATFORM_DECODER_${chain.toUpperCase()}_REGTEST`;

function linkTo(nats: object): NatsLink {
  const current = { lost: new AbortController().signal, ...nats } as unknown as Nats;
  return { reason: null, current, connected: async () => current } as unknown as NatsLink;
}

const heightText = (height: number) => `b${height}`;

/** A stored block. @param more further headers */
function stored(seq: number, height: number, more: Readonly<Record<string, string>> = {}) {
  const body = JSON.stringify({ type: 'block', ...ID, block_index: height, block_hash: heightText(height), data: {} });
  const facts: Readonly<Record<string, string>> = {
    'Platform-Type': 'block',
    'Platform-Height': String(height),
    'Platform-Hash': heightText(height),
    'Platform-Previous': heightText(height - 1),
    'Platform-Size': String(body.length),
    'Platform-Sha256': createHash('sha256').update(body).digest('hex'),
    ...more
  };
  return {
    seq,
    data: Buffer.from(body),
    headers: { has: (name: string) => name in facts, get: (name: string) => facts[name]! }
  };
}

/** A stream that holds these messages, whose credentials may only read. */
function streamOf(messages: readonly ReturnType<typeof stored>[], lastSequence = messages.at(-1)!.seq) {
  const state = { first_seq: messages[0]?.seq ?? lastSequence + 1, last_seq: lastSequence };
  const config = { subjects: ['platform.v1.decoder.litecoin.regtest'] };
  const consume = async () => {
    const closed = Promise.withResolvers<void>();
    return {
      close: closed.resolve,
      async *[Symbol.asyncIterator]() {
        yield* messages;
        await closed.promise;
      }
    };
  };
  return {
    streams: { streams: { info: async () => ({ config, state, created: 'then' }) } },
    messages: {
      publish: () => Promise.reject(new Error('Permissions Violation for Publish')),
      consumers: { get: async () => ({ consume }) }
    },
    objects: { open: async () => ({ get: async () => null }) }
  };
}

function feedOf(nats: object) {
  const [passedOn, cuts]: [number[], string[]] = [[], []];
  const fanOut = {
    broadcast: async (_: DatabaseId, all: Parameters<FanOut['broadcast']>[1]) => {
      passedOn.push(...all.map(({ height }) => height));
    },
    setPoint: () => undefined,
    breakOff: (_: DatabaseId, why: string) => void cuts.push(why)
  };
  const feed = new EdgeFeed({ id: ID, link: linkTo(nats), fanOut, log: silentLogger });
  atEnd(() => feed.close());
  return { feed, passedOn, cuts };
}

test('an edge begins behind a message of the past that outlived its body', async () => {
  const gone = { 'Platform-Bucket': 'BODIES', 'Platform-Key': 'x' };
  const { feed, passedOn } = feedOf(streamOf([stored(1, 1), stored(2, 2, gone), stored(3, 3), stored(4, 4)]));
  await eventually('it serves', async () => feed.position?.height === 4 && feed.reason === null);
  assert.deepEqual(passedOn, [1, 3, 4]);
});

test('an edge says why it has no block: nothing is left in the stream', async () => {
  const { feed } = feedOf(streamOf([], 7));
  await eventually('it has looked', async () => /holds no block/.test(feed.reason ?? ''));
  assert.equal(feed.position, null);
});

test('a feed that stands at a message counts the time, and one that passes on does not', async () => {
  const nats = streamOf([stored(1, 1)]);
  const { feed } = feedOf(nats);
  await eventually('it serves', async () => feed.position?.height === 1 && feed.reason === null);
  const directory = new EdgeDirectory(
    { of: () => feed } as unknown as EdgeFeeds,
    { of: () => undefined, silentS: () => 0 } as unknown as ValuesReader
  );
  assert.equal(directory.lastReport(ID)?.databaseSilentS, 0);
  const link = linkTo({ ...nats, streams: { streams: { info: () => Promise.reject(new Error('it is offline')) } } });
  const stopped = new EdgeFeed({
    id: ID,
    link,
    fanOut: { broadcast: async () => undefined, setPoint: () => undefined, breakOff: () => undefined },
    log: silentLogger
  });
  atEnd(() => stopped.close());
  assert.equal(stopped.stoppedS(), 0, 'it may be connecting');
  await eventually('it stands for long', 20_000, async () => stopped.stoppedS() >= 10);
  assert.equal(feed.stoppedS(), 0);
});

test('a stream that does not answer hides no other one, and one that is gone leaves the edge', async () => {
  const names = new Set(['downed', 'alive', 'leaving']);
  const downed = new Set(['downed']);
  const info = async (name: string) => {
    const chain = [...names].find((each) => nameOf(each) === name);
    if (chain === undefined || downed.has(chain)) throw new Error('stream is offline');
    return { config: { subjects: [`platform.v1.decoder.${chain}.regtest`] }, state: {}, created: 'then' };
  };
  async function* listed() {
    for (const chain of names) yield nameOf(chain);
  }
  const [cuts, forks]: [string[], string[]] = [[], []];
  const fanOut = { breakOff: ({ chain }: DatabaseId) => void cuts.push(chain) } as unknown as FanOut;
  const link = linkTo({ streams: { streams: { names: listed, info } } });
  const onFork = ({ chain }: DatabaseId) => void forks.push(chain);
  const feeds = new EdgeFeeds({ link, fanOut, onFork, log: silentLogger, lookMs: 50 });
  atEnd(() => feeds.close());
  const chains = () => feeds.ids.map(({ chain }) => chain).sort();
  await eventually('the others are served', async () => chains().join() === 'alive,leaving');
  assert.equal(feeds.hasListed, false, 'that one may be there as well');
  downed.clear();
  await eventually('all are served', async () => chains().join() === 'alive,downed,leaving' && feeds.hasListed);
  names.delete('leaving');
  await sleep(200);
  assert.deepEqual([chains().length, cuts], [3, []], 'it may be made anew');
  await eventually('it left', async () => chains().join() === 'alive,downed');
  assert.deepEqual([cuts.at(-1), forks], ['leaving', ['leaving']]);
});

test('a reader of a stream knows the blocks of its chain, and none that a reorg took back', () => {
  const reader = new PositionReader(ID);
  const take = (type: StreamMessage['type'], height: number, hash: string | null) =>
    reader.take({ type, height, hash, previous: null, schema: null, body: Buffer.alloc(0), facts: {} });
  const mayBe = (height: number, hash: string) => reader.mayBe(height, { block_hash: hash });
  for (const height of [5, 6, 7]) take('block', height, `a${height}`);
  assert.deepEqual([mayBe(7, 'a7'), mayBe(7, 'x7'), mayBe(4, 'x4'), mayBe(7, '')], [true, false, true, true]);
  take('reorg', 7, 'a6');
  assert.deepEqual([mayBe(7, 'x7'), mayBe(6, 'x6')], [true, false]);
  take('break', 9, 'c9');
  assert.equal(mayBe(6, 'x6'), true);
});
