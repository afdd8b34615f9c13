import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type FastifyInstance, type FastifyReply, fastify } from 'fastify';
import Type from 'typebox';
import { createFrame } from '../../src/service/frame.ts';
import { WorkBudget } from '../../src/service/ingress/work-budget.ts';
import { JsonResult } from '../../src/service/rpc/json-result.ts';
import { rpcMethod } from '../../src/service/rpc/method.ts';
import { HeldBodies } from '../../src/service/stream/held-bodies.ts';
import { AT, AttackedDoor, get } from '../support/attacked-door.ts';
import { atEnd } from '../support/cleanup.ts';
import { definitionOf, openRpc } from '../support/frame.ts';
import { until } from '../support/listener.ts';
import { RawClient } from '../support/raw-client.ts';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

describe('ANSWERS_WAITING', () => {
  const PAGE = `/snapshot-rows/${AT}/index_addresses`;
  const body = new Uint8Array(8 * 2 ** 20);

  test('503 for an address that leaves 32 MiB unread; it goes on with small ones, and others with large ones', async () => {
    const attack = await AttackedDoor.begin({
      answers: { 'lookups.page': async () => ({ body, maxId: 1, hasMore: false }) }
    });
    const deaf: RawClient[] = [];
    const sending: Socket[] = [];
    for (let n = 0; n < 4; n++) {
      const accepted = once(attack.frontDoor.app.server, 'connection') as Promise<[Socket]>;
      deaf.push((await attack.open({ deaf: true })).say(get(PAGE)));
      const [there] = await accepted;
      if (n < 2) await until(() => there.bytesWritten > 0, 'the answer is on its way');
      sending.push(there);
    }
    await until(() => sending[3]!.bytesRead > 0, 'all have asked');
    const refused = (await attack.open()).say(get(PAGE));
    const REFUSAL = /^HTTP\/1\.1 503.*retry-after: 5.*"ANSWERS_WAITING"/s;
    await refused.hear('the reason', (heard) => REFUSAL.test(heard.toString()) || undefined);
    assert.equal(await (await attack.open()).say(get('/status')).status(), 200);
    const headers = { 'accept-encoding': 'identity' };
    const other = await fetch(`http://${attack.place}${PAGE}`, { headers });
    assert.equal((await other.arrayBuffer()).byteLength, body.length, 'another address has a share of its own');
    for (const { socket } of deaf) socket.destroy();
    await until(() => sending.every(({ closed }) => closed), 'they are gone');
    assert.equal(await (await attack.open()).say(get(PAGE)).status(), 200);
  });

  /** An answer of nobody's connection, which is never taken. @returns whether it was refused at once */
  const holdUnread = (buffer: HeldBodies, address: string, body: string) => {
    const raw = Object.assign(new EventEmitter(), { destroyed: false });
    const reply = { raw, header: () => undefined } as unknown as FastifyReply;
    const held = buffer.hold(address, reply, body).then(
      () => false,
      () => true
    );
    return Promise.race([held, sleep(100).then(() => false)]);
  };

  test('two hundred answers that wait for room behind as many cost little', async (t) => {
    const buffer = new HeldBodies({ patienceMs: 2_000 });
    const body = 'x'.repeat(240_000);
    const before = process.cpuUsage();
    await Promise.all(Array.from({ length: 400 }, (_, n) => holdUnread(buffer, `address ${n % 6}`, body)));
    await sleep(2_500);
    const { user, system } = process.cpuUsage(before);
    t.diagnostic(`${Math.round((user + system) / 1_000)} ms of a processor`);
    assert.ok(user + system < 1_000_000, `${Math.round((user + system) / 1_000)} ms`);
  });

  test('waiting bodies are bounded over all addresses, and addresses without one have a part of their own', async () => {
    const buffer = new HeldBodies({ mostBytes: 1e6, shareBytes: 1e6, patienceMs: 500 });
    const ask = (address: string) => holdUnread(buffer, address, 'x'.repeat(200_000));
    const greedy = await Promise.all(Array.from({ length: 40 }, (_, n) => ask(`address ${n % 2}`)));
    assert.equal(greedy.filter((isRefused) => !isRefused).length, 10, 'five are held and five wait');
    const others = await Promise.all(Array.from({ length: 40 }, (_, n) => ask(`other ${n}`)));
    assert.equal(others.filter((isRefused) => !isRefused).length, 5);
  });

  /** A service that answers with eight megabytes. */
  async function begin(limits: ConstructorParameters<typeof HeldBodies>[0]) {
    const responses = new HeldBodies(limits);
    const app = fastify({ forceCloseConnections: true });
    app.addHook('onSend', async ({ headers }, reply, payload) =>
      responses.hold(String(headers['x-from'] ?? 'a'), reply, payload)
    );
    app.get('/', async () => Buffer.from(body));
    await app.listen({ host: '127.0.0.1', port: 0 });
    atEnd(() => app.close());
    const place = `127.0.0.1:${(app.server.address() as AddressInfo).port}`;
    const openDeaf = async (from: string) => {
      const accepted = once(app.server, 'connection') as Promise<[Socket]>;
      (await RawClient.open(place, { deaf: true })).say(get('/', `X-From: ${from}\r\n`));
      const [there] = await accepted;
      await until(() => there.bytesWritten > 0, 'the answer is on its way');
      return there;
    };
    const fetchAs = async (from: string) => {
      const served = await fetch(`http://${place}/`, { headers: { 'x-from': from } });
      return (await served.arrayBuffer()).byteLength;
    };
    return { openDeaf, fetchAs };
  }

  test('stalled bodies give way to others of the same address', async () => {
    const { openDeaf, fetchAs } = await begin({ shareBytes: body.length, graceMs: 0, stallMs: 0 });
    const there = await openDeaf('a');
    assert.equal(await fetchAs('a'), body.length);
    assert.ok(there.destroyed);
  });

  test('the slowest of an address that holds more than its part gives way to another address', async () => {
    const { openDeaf, fetchAs } = await begin({
      mostBytes: 2 * body.length,
      shareBytes: 2 * body.length,
      graceMs: 0,
      stallMs: 0
    });
    const held = [await openDeaf('a'), await openDeaf('a')];
    assert.equal(await fetchAs('b'), body.length);
    assert.deepEqual(held.map(({ destroyed }) => destroyed).sort(), [false, true]);
  });

  test('an address that holds no more than its part keeps it', async () => {
    const { openDeaf, fetchAs } = await begin({ mostBytes: 2 * body.length, graceMs: 0, stallMs: 0 });
    const [modest, greedy] = [await openDeaf('a'), await openDeaf('b')];
    assert.equal(await fetchAs('b'), body.length);
    assert.deepEqual([modest.destroyed, greedy.destroyed], [false, true]);
  });
});

test('nothing is read from a database for who has left before its turn', async () => {
  let asked = 0;
  let answer: (() => void) | undefined;
  const attack = await AttackedDoor.begin({
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
    const accepted = once(attack.frontDoor.app.server, 'connection') as Promise<[Socket]>;
    const client = (await attack.open()).say(get(`/snapshot-rows/${AT}/index_addresses`));
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
  await attack.end();
});

describe('bodies of strangers in memory', () => {
  test('answers below a large one count too: an address waits, and others do not', async () => {
    const bodies = new HeldBodies({ mostBytes: 2e6, shareBytes: 1e6, patienceMs: 100 });
    const holder = () => ({ destroyed: false, destroy: () => undefined });
    const take = (address: string, length = 100_000) => bodies.take(address, holder(), { length });
    const parts = await Promise.all(Array.from({ length: 10 }, () => take('a')));
    await assert.rejects(take('a'), { code: 'ANSWERS_WAITING' });
    await take('b');
    await take('a', 4_096); // too small to count
    for (const { release } of parts) release();
    await take('a');
    const shared = Buffer.alloc(900_000);
    for (let n = 0; n < 50; n++) await bodies.take('c', holder(), shared);
  });

  test('a caller that leaves while its body waits for room holds none when there is room', async () => {
    const bodies = new HeldBodies({ mostBytes: 1e6, shareBytes: 1e6, patienceMs: 2_000 });
    const holder = () => ({ destroyed: false, destroy: () => undefined });
    const first = await bodies.take('a', holder(), { length: 900_000 });
    const left = holder();
    const waiting = assert.rejects(bodies.take('a', left, { length: 900_000 }), { code: 'ANSWERS_WAITING' });
    await sleep(10);
    left.destroyed = true;
    first.release();
    await waiting;
    const next = await bodies.take('b', holder(), { length: 900_000 });
    next.release();
  });

  test('a body that is taken at less than 256 KiB a second gives way, though something of it is taken all the time', async (t) => {
    let now = 0;
    t.mock.method(performance, 'now', () => now);
    const bodies = new HeldBodies({ patienceMs: 60_000 });
    let ended = 0;
    const holder = { destroyed: false, destroy: () => ended++ };
    const slow = await bodies.take('a', holder, { length: 16 * 2 ** 20 });
    const pass = async (ms: number) => {
      now += ms;
      slow.progress(1_000);
      await sleep(250);
    };
    await pass(60_000);
    const next = bodies.take('a', holder, { length: 100_000 });
    await pass(5_900);
    assert.equal(ended, 0, '16 MiB may take 64 s, and the first two count for nothing');
    await pass(200);
    assert.equal(ended, 1);
    await next;
  });

  test('a prefix of which each address holds one body gives way to an address that holds none', async () => {
    const bodies = new HeldBodies({ mostBytes: 1e6, graceMs: 0, patienceMs: 100 });
    let ended = 0;
    const holder = () => ({ destroyed: false, destroy: () => ended++ });
    for (let n = 0; n < 10; n++) await bodies.take(`2001:db8:7:${n}::/64`, holder(), { length: 100_000 });
    await bodies.take('198.51.100.1', holder(), { length: 100_000 });
    assert.equal(ended, 1);
  });

  test('bodies of requests that never end: an address has a part, more of it wait, and the rest is told to come later', async () => {
    const run = async () => 'done';
    const app = openRpc({ methods: { ask: rpcMethod({ summary: 'A', result: Type.String(), write: false, run }) } });
    await app.listen({ host: '127.0.0.1', port: 0 });
    atEnd(() => app.close());
    const place = `127.0.0.1:${(app.server.address() as AddressInfo).port}`;
    const call = JSON.stringify({ jsonrpc: '2.0', method: 'ask', id: 1, note: 'x'.repeat(90_000) });
    const request = `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${call.length}\r\n\r\n${call}`;
    const endless = request.slice(0, -1);
    const clients = await Promise.all(Array.from({ length: 95 }, () => RawClient.open(place)));
    let refused = 0;
    for (const client of clients) {
      client.say(endless);
      client.status().then(
        (status) => {
          if (status === 503) refused++;
        },
        () => undefined
      );
    }
    await until(() => refused >= 95 - 2 - 23, 'two are read, and 2 MiB wait');
    assert.equal(await (await RawClient.open(place, { from: '127.0.0.3' })).say(request).status(), 200);
    for (const { socket } of clients) socket.destroy();
    for (let status = 503, end = Date.now() + 10_000; status !== 200; ) {
      assert.ok(Date.now() < end, 'the address is served again');
      status = await (await RawClient.open(place)).say(request).status();
    }
  });

  test('an address whose bodies find no room, and that comes back at once, is soon ended as it arrives', async () => {
    const app = openRpc({ methods: {} });
    await app.listen({ host: '127.0.0.1', port: 0 });
    atEnd(() => app.close());
    const place = `127.0.0.1:${(app.server.address() as AddressInfo).port}`;
    const endless = `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 90001\r\n\r\n`;
    const open = () => RawClient.open(place, { from: '127.0.0.4' });
    const holders = await Promise.all(Array.from({ length: 25 }, open));
    for (const holder of holders) holder.say(endless);
    let refused = 0;
    for (let status = 503; status === 503 && refused < 2_000; refused++) {
      const client = await open();
      status = await client
        .say(endless)
        .status()
        .catch(() => 0);
      client.socket.destroy();
    }
    assert.ok(refused < 1_200, `${refused} requests were read to their heads and refused`);
    for (const { socket } of holders) socket.destroy();
  });

  test('a body counts until it is answered, by what its values take: calls that wait hold no more than others', async () => {
    const answer = Promise.withResolvers<string>();
    const asked: unknown[] = [];
    const run = async ({ from }: { from: string }) => {
      asked.push(from);
      return await answer.promise;
    };
    const params = Type.Object({ from: Type.String(), values: Type.Optional(Type.Array(Type.Unknown())) });
    const method = rpcMethod({ summary: 'A', params, result: Type.String(), write: false, run });
    const app = openRpc({ methods: { ask: method } });
    await app.listen({ host: '127.0.0.1', port: 0 });
    atEnd(() => app.close());
    const place = `127.0.0.1:${(app.server.address() as AddressInfo).port}`;
    const say = async (from: string, count: number) => {
      const values = Array.from({ length: count }, () => []);
      const call = JSON.stringify({ jsonrpc: '2.0', method: 'ask', id: 1, params: { from, values } });
      const head = `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${call.length}\r\n\r\n`;
      return (await RawClient.open(place, { from })).say(head + call);
    };
    const clients = [await say('127.0.0.2', 5_000)];
    await until(() => asked.length === 1, 'its values are counted');
    clients.push(await say('127.0.0.2', 5_000), await say('127.0.0.3', 5_000));
    await until(() => asked.includes('127.0.0.3'), 'another address is served');
    await sleep(200);
    assert.deepEqual(asked, ['127.0.0.2', '127.0.0.3'], '15 kB of text are 640 kB of values');
    answer.resolve('done');
    for (const client of clients) assert.equal(await client.status(), 200);
  });

  test('a body that comes in pieces of a byte is in one piece of memory, by whichever route', async (t) => {
    const routes = (app: FastifyInstance) =>
      void app.post('/note', { bodyLimit: 60_000, config: { open: true } }, async () => 'noted');
    const app = createFrame(definitionOf({ routes }));
    await app.listen({ host: '127.0.0.1', port: 0 });
    atEnd(() => app.close());
    const place = `127.0.0.1:${(app.server.address() as AddressInfo).port}`;
    const head =
      'POST /note HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
    const request = Buffer.from(head + '1\r\n \r\n'.repeat(30_000));
    const heapNow = () => {
      gc();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    const read: Socket[] = [];
    app.server.on('connection', (socket: Socket) => read.push(socket));
    const clients = await Promise.all(
      Array.from({ length: 8 }, (_, n) => RawClient.open(place, { from: `127.0.0.${n + 2}` }))
    );
    for (const client of clients) client.say(request);
    await until(
      () => read.length === 8 && read.every((socket) => socket.bytesRead === request.length),
      'all have come'
    );
    // What has come is parsed a moment later; on a busy machine that takes seconds.
    let held = heapNow();
    for (let before = Number.POSITIVE_INFINITY; before - held > 1e6; held = heapNow()) {
      before = held;
      await sleep(500);
    }
    for (const { socket } of clients) socket.destroy();
    await until(() => read.every(({ closed }) => closed), 'they are gone');
    await sleep(100);
    const each = (held - heapNow()) / 8 / 1_024;
    t.diagnostic(`${each.toFixed(0)} KiB each`);
    assert.ok(each < 1_500, `${each.toFixed(0)} KiB each`);
  });

  test('ten thousand answers of ten thousand networks that are not taken cost little', async (t) => {
    const bodies = new HeldBodies({ patienceMs: 1_500, graceMs: 0 });
    const holder = { destroyed: false, destroy: () => undefined };
    const before = process.cpuUsage();
    const take = (_: unknown, n: number) => bodies.take(`10.${n >> 8}.${n & 255}.1`, holder, { length: 9_000 });
    await Promise.allSettled(Array.from({ length: 10_000 }, take));
    const { user, system } = process.cpuUsage(before);
    t.diagnostic(`${Math.round((user + system) / 1_000)} ms of a processor`);
    assert.ok(user + system < 2_000_000, `${Math.round((user + system) / 1_000)} ms`);
  });

  test('a service counts request bodies that never end, and answers that nobody reads, of whatever size', async (t) => {
    const text = 'x'.repeat(60_000);
    const run = () => text;
    const app = openRpc({ methods: { text: rpcMethod({ summary: 'A', result: Type.String(), write: false, run }) } });
    await app.listen({ host: '127.0.0.1', port: 0 });
    atEnd(() => app.close());
    const { port } = app.server.address() as AddressInfo;
    const taken: number[] = [];
    const { take } = HeldBodies.prototype;
    t.mock.method(HeldBodies.prototype, 'take', async function (this: HeldBodies, ...args: Parameters<typeof take>) {
      taken.push(args[2].length);
      return await take.apply(this, args);
    });
    const post = async (body: object) => {
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers, body: JSON.stringify(body) });
      await answer.arrayBuffer();
    };
    const call = { jsonrpc: '2.0', method: 'text', id: 1 };
    await post(call);
    assert.ok(taken.some((bytes) => bytes > text.length));
    await post([call, call]);
    assert.ok(taken.filter((bytes) => bytes > text.length).length >= 2, 'those of a batch too');
    await post({ ...call, note: 'x'.repeat(50_000) });
    assert.ok(taken.some((bytes) => bytes > 50_000 && bytes < text.length));
  });
});

test('answers of a caller that owes go where they are counted: none waits in memory for its payment', async () => {
  let [made, ended] = [0, 0];
  const run = () => {
    made++;
    return new JsonResult<number>(Buffer.alloc(4_000_000, 0x31));
  };
  const large = rpcMethod({ summary: 'Large', result: Type.Integer(), write: false, run });
  const app = openRpc({ methods: { large } });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/`;
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'large' });
  const asked = Array.from({ length: 40 }, async () => {
    const answer = await fetch(url, { method: 'POST', headers, body });
    await answer.arrayBuffer();
    ended++;
  });
  await until(() => made === 40, 'forty answers');
  for (const late = performance.now() + 5_000; made - ended > 10; await sleep(20))
    assert.ok(performance.now() < late, `${made - ended} answers of 4 MB are in memory`);
  await Promise.all(asked);
  await app.close();
});

test('a caller that owes waits for the next call of its batch with nothing of the answer before it in memory', async (t) => {
  const made: WeakRef<object>[] = [];
  const run = () => {
    const result = { text: 'x'.repeat(4_000_000) };
    made.push(new WeakRef(result));
    return result;
  };
  const large = rpcMethod({ summary: 'Large', result: Type.Unknown(), write: false, run });
  const app = openRpc({ methods: { large } });
  await app.listen({ host: '127.0.0.1', port: 0 });
  atEnd(() => app.close());
  const paid = Promise.withResolvers<void>();
  let waits = 0;
  t.mock.method(WorkBudget.prototype, 'pace', async () => {
    if (made.length !== 1) return;
    waits++;
    await paid.promise;
  });
  const call = { jsonrpc: '2.0', id: 1, method: 'large' };
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/`;
  const headers = { 'content-type': 'application/json' };
  const answer = fetch(url, { method: 'POST', headers, body: JSON.stringify([call, call]) });
  const replies = answer.then((response) => response.json());
  await until(() => waits > 0, 'it waits');
  for (const late = performance.now() + 5_000; ; ) {
    await sleep(20);
    gc(); // not in the same turn: whoever asks a WeakRef keeps what it has until the end of it
    await sleep(1);
    if (made[0]!.deref() === undefined) break;
    assert.ok(performance.now() < late, 'the first answer is in memory, and counted by nobody');
  }
  paid.resolve();
  assert.equal(((await replies) as unknown[]).length, 2);
});

test('documents are under a limit, and share their bytes', async () => {
  const app = openRpc({ methods: {} });
  const sent: unknown[] = [];
  app.addHook('onSend', async (_, __, payload) => void sent.push(payload));
  for (const path of ['/openrpc.json', '/openapi.json', '/docs']) {
    sent.length = 0;
    for (let n = 0; n < 61; n++) await app.inject(path);
    assert.equal((await app.inject(path)).statusCode, 429, path);
    if (path !== '/docs') assert.ok(Buffer.isBuffer(sent[0]) && sent[0] === sent[1], path);
  }
  await app.close();
});
