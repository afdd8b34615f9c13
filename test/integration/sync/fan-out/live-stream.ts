import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { Broadcast } from '../../../../src/wire/data/broadcast.ts';
import { type Listener, listen, subscribe, until } from '../../../support/listener.ts';
import {
  DECODER,
  type FrontDoor,
  type FrontDoorOptions,
  INDEXER,
  INDEXER_HASHES,
  reportOf
} from '../../../support/sync/front-door.ts';
import { AT, BASE_HEIGHT, behind, block, heights, range, word, words } from '../../../support/sync/stream-messages.ts';

/** A front door with a feed. */
export interface FedFrontDoor extends FrontDoor {
  /** Sends to the subscribers of its indexer; done when they have been handed everything. */
  send(messages: readonly Broadcast[]): Promise<void>;
}

/** The HTTP answer that an upgrade was refused with. */
async function refusal(place: string, path: string, headers: Record<string, string> = {}, protocols: string[] = []) {
  const socket = new WebSocket(`ws://${place}${path}`, protocols, { headers });
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  const body = JSON.parse(await text(response)) as { error: string };
  socket.on('error', () => undefined);
  socket.terminate();
  return { status: response.statusCode, headers: response.headers, body };
}

/** The specification's live stream, limits, keys and backpressure, at a front door whose feed is the caller's. */
export function testLiveStream(openFrontDoor: (options?: FrontDoorOptions) => Promise<FedFrontDoor>): void {
  test('status first, then every block in order; infra-only has its own bytes; heartbeats are seen', async () => {
    const frontDoor = await openFrontDoor();
    const place = await listen(frontDoor);
    const full = await subscribe(place);
    const infra = await subscribe(place, `/subscribe/indexer/${AT}?sync_mode=infra-only`);
    const decoder = await subscribe(place, `/subscribe/decoder/${AT}`);
    await until(() => [full, infra, decoder].every(({ heard }) => heard.length === 1), 'status for all');
    assert.deepEqual(full.heard[0], {
      type: 'status',
      ...INDEXER,
      block_height: BASE_HEIGHT,
      block_time: 1_700_000_000,
      ...INDEXER_HASHES
    });
    assert.deepEqual(Object.keys(full.heard[0] ?? {}).slice(0, 4), ['type', 'chain', 'network', 'dbType']);
    assert.equal((decoder.heard[0] as unknown as { block_hash: string }).block_hash, 'cc');

    await frontDoor.send(range(8, 40).map((height) => block(height)));
    await until(() => heights(full).length === 33 && heights(infra).length === 33, 'all blocks');
    assert.deepEqual(heights(full), range(8, 40));
    assert.ok(infra.heard.slice(1).every((message) => (message as { sync_mode?: string }).sync_mode === 'infra-only'));
    assert.equal(decoder.heard.length, 1);

    for (const junk of [
      '{',
      '[]',
      'null',
      '{"type":"heartbeat"}',
      '{"type":"heartbeat","appliedBlock":-1}',
      '{"type":"x"}'
    ])
      full.socket.send(junk);
    full.socket.send('{"type":"heartbeat","appliedBlock":38}');
    await until(() => frontDoor.fanOut.subscribers(INDEXER).some(({ lag }) => lag === 2), 'the heartbeat');
    const status = (await frontDoor.app.inject(`/status/indexer/${AT}`)).json();
    assert.deepEqual(
      status.subscribers.map(({ id, ...rest }: { id: string }) => rest),
      [
        { lastSentBlock: 40, appliedBlock: 38, lag: 2 },
        { lastSentBlock: 40, appliedBlock: null, lag: null }
      ]
    );
    await frontDoor.send([word('reorg', 39)]);
    await until(() => infra.heard.at(-1)?.type === 'reorg', 'the reorg');
    assert.equal(frontDoor.fanOut.subscribers(INDEXER)[0]?.lastSentBlock, 38);
  });

  test('a subscriber that comes while blocks are broadcast sees no gap and no repeat after its status', async () => {
    const frontDoor = await openFrontDoor();
    const place = await listen(frontDoor);
    const listeners: Listener[] = [];
    const joining = (async () => {
      for (let n = 0; n < 60; n++) listeners.push(await subscribe(place));
    })();
    let height = BASE_HEIGHT;
    while (height < 600 || listeners.length < 60) {
      const batch = range(height + 1, height + 1 + (height % 7)).map((each) => block(each, 200));
      height += batch.length;
      await frontDoor.send(batch);
      await sleep(1);
    }
    await joining;
    await until(
      () =>
        listeners.every(
          (listener) => listener.heard.at(-1)?.block_index === height || listener.heard[0]?.block_height === height
        ),
      'all caught up'
    );
    for (const listener of listeners) {
      const start = listener.heard[0]?.block_height;
      assert.equal(listener.heard[0]?.type, 'status');
      assert.deepEqual(heights(listener), range(Number(start) + 1, height));
    }
    assert.ok(
      new Set(listeners.map(({ heard }) => heard[0]?.block_height)).size > 5,
      'they did join at different heights'
    );
  });

  describe('backpressure', () => {
    const blocks = (first: number, count: number) =>
      range(first, first + count - 1).map((height) => block(height, 200_000));

    test('buffer ceiling: dropped with the exact reason, the others unaffected', async () => {
      const frontDoor = await openFrontDoor({ config: { WS_BACKPRESSURE_MAX_BYTES: 8_000_000 } });
      const place = await listen(frontDoor);
      const good = await subscribe(place);
      const bad = await subscribe(place);
      bad.socket.pause();
      for (let height = 8; height < 108; height += 5) {
        await frontDoor.send(blocks(height, 5));
        await until(() => good.heard.at(-1)?.block_index === height + 4, 'the good one has them');
      }
      bad.socket.resume();
      const { code, reason } = await bad.closed;
      assert.equal(code, 1008);
      const [, bytes] = /^Backpressure: buffer ceiling exceeded \((\d+) bytes\)$/.exec(reason) ?? [];
      assert.ok(Number(bytes) > 8_000_000, reason);
      assert.deepEqual(heights(good), range(8, 107));
      assert.equal(frontDoor.fanOut.subscribers(INDEXER).length, 1);
    });

    test('stall: dropped with the exact reason, the others unaffected', async () => {
      const frontDoor = await openFrontDoor({ config: { WS_BACKPRESSURE_STALL_MS: 300 } });
      const place = await listen(frontDoor);
      const good = await subscribe(place);
      const bad = await subscribe(place);
      bad.socket.pause();
      const sending = frontDoor.send(blocks(8, 50));
      await until(() => frontDoor.fanOut.subscribers(INDEXER).length === 1, 'the drop');
      bad.socket.resume();
      await sending;
      const { code, reason } = await bad.closed;
      assert.equal(code, 1008);
      const [, ms] = /^Backpressure: send buffer not draining for (\d+)ms$/.exec(reason) ?? [];
      assert.ok(Number(ms) >= 300, reason);
      await until(() => good.heard.at(-1)?.block_index === 57, 'the good one has all');
      assert.deepEqual(heights(good), range(8, 57));
    });
  });

  describe('a reader slower than the stall window takes for all that waits', () => {
    const BLOCKS = 12;
    const BLOCK_BYTES = 3_000_000;
    const STALL_MS = 1_000;

    test('is not dropped while it reads, and gets every block', async () => {
      const frontDoor = await openFrontDoor({
        config: { WS_BACKPRESSURE_STALL_MS: STALL_MS, WS_BACKPRESSURE_MAX_BYTES: 64 * 2 ** 20 }
      });
      const slow = await subscribe(await listen(frontDoor));
      readSteadily(slow, 12_000_000);
      const began = performance.now();
      await frontDoor.send(range(8, 7 + BLOCKS).map((height) => block(height, BLOCK_BYTES)));
      await until(
        () => slow.heard.at(-1)?.block_index === 7 + BLOCKS || slow.socket.readyState !== 1,
        'the last block'
      );
      assert.deepEqual(heights(slow), range(8, 7 + BLOCKS));
      assert.deepEqual(frontDoor.fanOut.counts.drops, {});
      assert.equal(frontDoor.fanOut.subscribers(INDEXER).length, 1);
      assert.ok(performance.now() - began > 2 * STALL_MS, 'it took much longer than the window');
    });

    test('/status says which limit it is near, and that it is near none when it has all', async () => {
      const frontDoor = await openFrontDoor({ config: { WS_BACKPRESSURE_MAX_BYTES: 40_000_000 } });
      const slow = await subscribe(await listen(frontDoor));
      const nearLimit = async () =>
        (await frontDoor.app.inject(`/status/indexer/${AT}`)).json().subscribers[0].nearLimit as object | undefined;
      assert.equal(await nearLimit(), undefined);
      slow.socket.pause();
      await frontDoor.send(range(8, 7 + BLOCKS).map((height) => block(height, BLOCK_BYTES)));
      const { limit, percent } = (await nearLimit()) as { limit: string; percent: number };
      assert.equal(limit, 'ceiling');
      const { bufferedBytes } = frontDoor.fanOut.subscribers(INDEXER)[0]!;
      assert.equal(percent, Math.floor((bufferedBytes / 40_000_000) * 100));
      assert.ok(bufferedBytes < BLOCKS * BLOCK_BYTES, 'what the kernel took does not wait');
      slow.socket.resume();
      await until(() => heights(slow).length === BLOCKS, 'all blocks');
      await until(() => frontDoor.fanOut.subscribers(INDEXER)[0]?.nearLimit === undefined, 'near none');
      assert.equal(frontDoor.fanOut.subscribers(INDEXER)[0]?.bufferedBytes, 0);
    });
  });

  test('a message that is larger than may be is sent to nobody: those whom it is for catch up, others go on', async () => {
    const frontDoor = await openFrontDoor({ config: { WS_MAX_MESSAGE_BYTES: 100_000 } });
    const place = await listen(frontDoor);
    const [full, infra] = [
      await subscribe(place),
      await subscribe(place, `/subscribe/indexer/${AT}?sync_mode=infra-only`)
    ];
    await frontDoor.send([block(8), block(9, 100_000), block(10)]);
    assert.deepEqual(await full.closed, {
      code: 1008,
      reason: 'the message is larger than clients take (block 9): catch up by snapshot'
    });
    assert.deepEqual(heights(full), [8]);
    const back = await subscribe(place);
    await until(() => back.heard.length === 1, 'its status');
    assert.equal(back.heard[0]?.block_height, 10, 'above its own block: it asks for what it lacks');
    await until(() => heights(infra).length === 3, 'the other has all');
    assert.deepEqual(heights(infra), range(8, 10));
    assert.deepEqual(frontDoor.fanOut.counts.drops, { 'the message is larger than clients take': 1 });
  });

  test('refusals come as HTTP before the upgrade: 401, 400, 404, 429, 503', async () => {
    const frontDoor = await openFrontDoor({
      config: { SYNC_API_KEY: 'k1', WS_MAX_PER_IP: 1 },
      reports: [reportOf(INDEXER)],
      known: [INDEXER, DECODER]
    });
    const place = await listen(frontDoor);
    const headers = { authorization: 'Bearer k1' };
    const asked = (path: string) => refusal(place, path, headers);
    assert.equal((await refusal(place, `/subscribe/indexer/${AT}`)).status, 401);
    assert.equal((await asked(`/subscribe/nonsense/${AT}`)).status, 400);
    assert.equal((await asked(`/subscribe/indexer/${AT}?sync_mode=x`)).status, 400);
    assert.equal((await asked(`/subscribe/decoder/${AT}?sync_mode=infra-only`)).status, 400);
    assert.equal((await asked('/subscribe/indexer/no/where')).status, 404);
    assert.equal((await asked('/nowhere')).status, 404);
    const notReady = await asked(`/subscribe/decoder/${AT}`);
    assert.equal(notReady.status, 503);
    assert.ok(notReady.headers['retry-after']);

    const bearer = `bearer.${Buffer.from('k1').toString('base64url')}`;
    const only = await subscribe(place, `/subscribe/indexer/${AT}`, ['platform-sync.v1', bearer]);
    assert.equal(only.socket.protocol, 'platform-sync.v1');
    assert.equal(only.socket.extensions, '', 'no per-message deflate');
    const crowded = await asked(`/subscribe/indexer/${AT}`);
    assert.equal(crowded.status, 429);
    assert.equal(crowded.body.error, 'too many connections from this address');
    only.socket.close();
    await only.closed;
    await until(() => frontDoor.fanOut.subscribers(INDEXER).length === 0, 'the place is free');
    const next = await subscribe(place, `/subscribe/indexer/${AT}`, ['platform-sync.v1', bearer]);
    next.socket.send('x'.repeat(5_000));
    assert.equal((await next.closed).code, 1009, 'a long message of a client ends its connection');
  });

  test('status comes again and again behind the blocks that it counts; silent connections are terminated', async () => {
    const frontDoor = await openFrontDoor({ config: { WS_STATUS_INTERVAL: 40, WS_PING_INTERVAL: 60 } });
    const place = await listen(frontDoor);
    const good = await subscribe(place);
    const silent = new WebSocket(`ws://${place}/subscribe/indexer/${AT}`, { autoPong: false });
    const gone = once(silent, 'close');
    for (let height = 8; height < 30; height++) {
      await frontDoor.send([block(height)]);
      await sleep(10);
    }
    const [code] = (await gone) as [number];
    assert.equal(code, 1006);
    let seen = BASE_HEIGHT;
    for (const { type, block_index, block_height } of good.heard) {
      if (type === 'block') seen = Number(block_index);
      else assert.equal(block_height, seen);
    }
    assert.ok(good.heard.filter(({ type }) => type === 'status').length > 3);
    assert.equal(good.socket.readyState, good.socket.OPEN);
  });

  test('1012 on shutdown', async () => {
    const frontDoor = await openFrontDoor();
    const listener = await subscribe(await listen(frontDoor));
    await frontDoor.app.close();
    assert.equal((await listener.closed).code, 1012);
  });

  describe('after= brings what followed a block', () => {
    test('first a status that says so, then each message once, also those that come meanwhile', async () => {
      const frontDoor = await openFrontDoor();
      const place = await listen(frontDoor);
      await frontDoor.send([block(8), block(9), block(10)]);
      const back = await subscribe(place, behind(8));
      const infra = await subscribe(place, behind(9, { also: '&sync_mode=infra-only' }));
      await until(() => back.heard.length === 4 && infra.heard.length === 3, 'what followed');
      await frontDoor.send([block(11)]);
      await until(() => heights(back).length === 3 && heights(infra).length === 2, 'the next block');
      assert.deepEqual(words(back), ['status', 'block 9', 'block 10', 'status', 'block 11']);
      assert.deepEqual(
        back.heard.map(({ resumed }) => resumed === true),
        [true, false, false, false, false]
      );
      assert.ok(infra.heard.every(({ type, sync_mode }) => type === 'status' || sync_mode === 'infra-only'));
      const [view] = frontDoor.fanOut.subscribers(INDEXER);
      assert.equal(view?.lastSentBlock, 11);
    });

    test('a block that is not known: 4409, and the next connection without it is served', async () => {
      const frontDoor = await openFrontDoor({ config: { WS_MAX_MESSAGE_BYTES: 100_000 } });
      const place = await listen(frontDoor);
      const refused = async (asked: string) => {
        const { closed, heard } = await subscribe(place, asked);
        assert.deepEqual(await closed, { code: 4409, reason: 'take a snapshot' });
        assert.equal(heard.length, 0);
      };
      await refused(behind(7));
      await frontDoor.send([block(8), block(9)]);
      await refused(behind(8, { branch: 'other' }));
      await refused(behind(12));
      await frontDoor.send([block(10, 100_000)]); // its subscribers catch up by snapshot
      await refused(behind(9));
      await frontDoor.send([block(11), block(12)]);
      const cut = await subscribe(place);
      frontDoor.fanOut.breakOff(INDEXER, 'a gap');
      assert.deepEqual(await cut.closed, { code: 1008, reason: 'a gap' });
      await refused(behind(11));
      const next = await subscribe(place);
      await until(() => next.heard.length === 1, 'its status');
      assert.equal(next.heard[0]?.resumed, undefined);
      assert.equal((await refusal(place, `/subscribe/indexer/${AT}?after=8`)).status, 400);
    });

    test('a reorg meanwhile is among it, also where the new branch has a block of the same hash', async () => {
      const frontDoor = await openFrontDoor();
      const place = await listen(frontDoor);
      await frontDoor.send([block(8), block(9), word('reorg', 8), block(8), block(9, 0, 'b')]);
      const [before, orphaned, stands] = [
        await subscribe(place, behind(8)),
        await subscribe(place, behind(9)),
        await subscribe(place, behind(9, { branch: 'b' }))
      ];
      await until(() => before.heard.length === 6 && orphaned.heard.length === 5 && stands.heard.length === 2, 'all');
      assert.deepEqual(words(before), ['status', 'block 9', 'reorg 8', 'block 8', 'block 9', 'status']);
      assert.deepEqual(words(orphaned), ['status', 'reorg 8', 'block 8', 'block 9', 'status']);
      assert.deepEqual(words(stands), ['status', 'status']);
    });

    test('a reorg is among it also where the block that it replaced is of the same hash and not here any more', async () => {
      const frontDoor = await openFrontDoor();
      const place = await listen(frontDoor);
      await frontDoor.send([word('reorg', BASE_HEIGHT), block(7), block(8)]);
      const before = await subscribe(place, behind(7));
      await until(() => before.heard.length === 5, 'all');
      assert.deepEqual(words(before), ['status', 'reorg 7', 'block 7', 'block 8', 'status']);
    });

    test('a slow reader gets more than its buffer holds, and then what comes', async () => {
      const frontDoor = await openFrontDoor({ config: { WS_BACKPRESSURE_MAX_BYTES: 4_000_000 } });
      const place = await listen(frontDoor);
      await frontDoor.send(range(8, 16).map((height) => block(height, 1_500_000)));
      const slow = await subscribe(place, behind(8));
      readSteadily(slow, 40_000_000);
      await until(() => slow.heard.length > 1, 'it begins');
      await frontDoor.send([block(17)]);
      await until(() => heights(slow).at(-1) === 17, 'all of it');
      assert.deepEqual(heights(slow), range(9, 17));
      assert.deepEqual(frontDoor.fanOut.counts.drops, {});
    });
  });
}

/** Reads at a steady rate, in small pieces. */
function readSteadily({ socket }: Listener, bytesPerSecond: number) {
  const connection = (socket as unknown as { _socket: Socket })._socket;
  const began = performance.now();
  let bytes = 0;
  connection.on('data', ({ length }: Buffer) => {
    bytes += length;
    const aheadMs = (bytes / bytesPerSecond) * 1_000 - (performance.now() - began);
    if (aheadMs < 5) return;
    connection.pause();
    setTimeout(() => connection.resume(), aheadMs);
  });
}
