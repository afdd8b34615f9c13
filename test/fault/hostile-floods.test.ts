import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { AT, AttackedDoor, get } from '../support/attacked-door.ts';
import { until } from '../support/listener.ts';
import { frame, upgradeRequest } from '../support/raw-client.ts';
import { INDEXER } from '../support/sync/front-door.ts';

describe('bytes of one connection are handed over in slices of 2 KiB, one in a turn of the event loop', () => {
  /** Looks at what is handed over of each connection that comes from now on. */
  function watch(attack: AttackedDoor): { readonly total: () => number } {
    let total = 0;
    attack.frontDoor.app.server.on('connection', (socket: Socket) => {
      let isNextTurn = true;
      socket.on('data', ({ length }: Buffer) => {
        assert.ok(length <= 2_048, `${length} bytes at once`);
        assert.ok(isNextTurn, 'another slice in the same turn');
        assert.ok(socket.readableLength < 128 * 1024, `${socket.readableLength} bytes wait`);
        isNextTurn = false;
        setImmediate(() => {
          isNextTurn = true;
        });
        total += length;
      });
    });
    return { total: () => total };
  }

  test('chunks of a body, and nothing of them after it is cut', async () => {
    const attack = await AttackedDoor.begin();
    const { total } = watch(attack);
    const request = `POST /nowhere HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\n \r\n'.repeat(100_000)}`;
    const client = (await attack.open()).say(request);
    assert.equal(await client.status(), 404);
    await client.ended;
    assert.ok(total() < 16 * 1024, `${total()} bytes were parsed`);
    await attack.end();
  });

  test('frames of a WebSocket, the first of which come with its request', async () => {
    const attack = await AttackedDoor.begin();
    watch(attack);
    const heartbeat = (n: number) => frame(0x81, Buffer.from(JSON.stringify({ type: 'heartbeat', appliedBlock: n })));
    const frames = Array.from({ length: 500 }, (_, n) => heartbeat(n + 1));
    const client = await attack.open();
    client.say(Buffer.concat([Buffer.from(upgradeRequest(`/subscribe/${AT}`)), ...frames]));
    const last = () => attack.frontDoor.fanOut.subscribers(INDEXER).some(({ appliedBlock }) => appliedBlock === 500);
    await until(last, 'the last heartbeat is heard');
    client.socket.destroy();
    await attack.end();
  });

  test('requests that come before an answer wait, 16 KiB of them; who sends more is cut', async () => {
    const asked: (() => void)[] = [];
    const answer = async () => {
      await new Promise<void>((resolve) => asked.push(resolve));
      return { body: '{}', fingerprint: 'f' };
    };
    const attack = await AttackedDoor.begin({ answers: { 'schema.read': answer } });
    const { total } = watch(attack);
    const request = get(`/schema/${AT}`, `a: ${'x'.repeat(1_900)}\r\n`);
    const client = (await attack.open()).say(request.repeat(8));
    for (let n = 1; n <= 8; n++) {
      await until(() => asked.length === n, `request ${n} is asked`);
      assert.ok(total() <= n * request.length + 2_048, `${total()} bytes are parsed`);
      asked[n - 1]!();
      assert.equal(await client.status(), 200);
    }
    client.say(request);
    await until(() => asked.length === 9, 'another one is asked');
    client.say('x'.repeat(16_385));
    await client.ended;
    await attack.end();
  });
});
