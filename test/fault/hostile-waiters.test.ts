import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { describe, test } from 'node:test';
import { fastify } from 'fastify';
import { ResponseBuffer } from '../../src/service/stream/response-buffer.ts';
import { atEnd } from '../support/cleanup.ts';
import { until } from '../support/listener.ts';
import { RawClient } from '../support/raw-client.ts';
import { AT, get, Siege } from '../support/siege.ts';

describe('ANSWERS_WAITING', () => {
  const PAGE = `/snapshot-rows/${AT}/index_addresses`;
  const body = new Uint8Array(8 * 2 ** 20);

  test('503 when large answers that nobody reads hold 32 MiB; a small one goes on, and a large one when there is room', async () => {
    const siege = await Siege.begin({ answers: { 'lookups.page': async () => ({ body, maxId: 1, hasMore: false }) } });
    const deaf: RawClient[] = [];
    const sending: Socket[] = [];
    for (let n = 0; n < 4; n++) {
      const accepted = once(siege.house.app.server, 'connection') as Promise<[Socket]>;
      deaf.push((await siege.open({ deaf: true })).say(get(PAGE)));
      const [there] = await accepted;
      await until(() => there.bytesWritten > 0, 'the answer is on its way');
      sending.push(there);
    }
    const headers = { 'accept-encoding': 'identity' };
    const refused = await fetch(`http://${siege.place}${PAGE}`, { headers });
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get('retry-after'), '5');
    assert.equal(((await refused.json()) as { code: string }).code, 'ANSWERS_WAITING');
    assert.equal((await fetch(`http://${siege.place}/status`)).status, 200);
    deaf[0]!.socket.destroy();
    await until(() => sending[0]!.closed, 'one of them is gone');
    const served = await fetch(`http://${siege.place}${PAGE}`, { headers });
    assert.deepEqual([served.status, (await served.arrayBuffer()).byteLength], [200, body.length]);
    for (const { socket } of deaf) socket.destroy();
  });

  test('those that stall give way', async () => {
    const responses = new ResponseBuffer(body.length, 0);
    const app = fastify();
    app.addHook('onSend', async (_, reply, payload) => responses.hold(reply, payload));
    app.get('/', async () => Buffer.from(body));
    await app.listen({ host: '127.0.0.1', port: 0 });
    atEnd(() => app.close());
    const place = `127.0.0.1:${(app.server.address() as AddressInfo).port}`;
    const accepted = once(app.server, 'connection') as Promise<[Socket]>;
    (await RawClient.open(place, { deaf: true })).say(get('/'));
    const [there] = await accepted;
    await until(() => there.bytesWritten > 0, 'the answer is on its way');
    const served = await fetch(`http://${place}/`);
    assert.equal((await served.arrayBuffer()).byteLength, body.length);
    assert.ok(there.destroyed);
  });
});

test('nothing is read from a database for who has left before its turn', async () => {
  let asked = 0;
  let answer: (() => void) | undefined;
  const siege = await Siege.begin({
    answers: {
      'lookups.page': async () => {
        asked++;
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
        return { body: new Uint8Array(2), maxId: 1, hasMore: false };
      }
    }
  });
  const ask = async () => {
    const accepted = once(siege.house.app.server, 'connection') as Promise<[Socket]>;
    const client = (await siege.open()).say(get(`/snapshot-rows/${AT}/index_addresses`));
    const [there] = await accepted;
    await until(() => there.bytesRead > 0, 'it has asked');
    return { client, there };
  };
  const [first, leaving, last] = [await ask(), await ask(), await ask()];
  leaving.client.socket.destroy();
  await until(() => leaving.there.closed, 'it has left');
  for (const [n, { client }] of [first, last].entries()) {
    await until(() => asked === n + 1, 'its page is read');
    answer?.();
    assert.equal(await client.status(), 200);
    client.socket.destroy();
  }
  assert.equal(asked, 2);
  await siege.end();
});
