import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, Socket } from 'node:net';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fastify } from 'fastify';
import { createDecoderApp } from '../../src/decoder/app.ts';
import { freePort } from '../../src/devnet/mariadb.ts';
import { startHub } from '../../src/hub/server.ts';
import { silentLogger } from '../../src/log.ts';
import { ClientLimiter } from '../../src/service/ingress/client-limiter.ts';
import { ResponseBuffer } from '../../src/service/response-buffer.ts';
import { atEnd } from '../support/cleanup.ts';
import { definitionOf, FRAME_CONFIG } from '../support/frame.ts';
import { hubConfigOf } from '../support/hub-config.ts';
import { type Listener, listen, subscribe, until } from '../support/listener.ts';
import { frame, RawClient, upgradeRequest } from '../support/raw-client.ts';
import { eventually } from '../support/sync/sync-process.ts';
import { type House, INDEXER, INDEXER_HASHES, openHouse } from '../unit/sync/routes/house.ts';

const AT = 'indexer/bitcoin/regtest';
const HEARTBEAT = `POST /validator-heartbeat/${AT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
const PING = frame(0x89, Buffer.alloc(125));
const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;

/** A house where a good subscriber listens to blocks while the test attacks it. */
class Siege {
  readonly house: House;
  readonly place: string;
  readonly good: Listener;
  #height = 7;

  static async begin(options: Parameters<typeof openHouse>[0] = {}): Promise<Siege> {
    const house = await openHouse(options);
    Object.assign(house.app.server, { connectionsCheckingInterval: 20 });
    const place = await listen(house);
    return new Siege(house, place, await subscribe(place));
  }

  private constructor(house: House, place: string, good: Listener) {
    this.house = house;
    this.place = place;
    this.good = good;
  }

  open(options?: { readonly deaf?: boolean }): Promise<RawClient> {
    return RawClient.open(this.place, options);
  }

  async openSocket(options?: { readonly deaf?: boolean }): Promise<RawClient> {
    const client = await (await this.open()).upgrade(`/subscribe/${AT}`);
    if (options?.deaf) client.socket.pause();
    return client;
  }

  async block(): Promise<void> {
    const height = ++this.#height;
    const bytes = Buffer.from(JSON.stringify({ type: 'block', block_index: height }));
    const point = { height, blockTime: 1, hashes: INDEXER_HASHES };
    await this.house.fanOut.broadcast(INDEXER, [{ type: 'block', height, bytes, infraBytes: bytes }], point);
  }

  /** The good one has every block in order, and nobody else is connected. */
  async end(): Promise<void> {
    await this.block();
    await until(() => this.good.heard.at(-1)?.block_index === this.#height, 'the good one has the last block');
    assert.deepEqual(
      this.good.heard.slice(1).map(({ block_index }) => block_index),
      Array.from({ length: this.#height - 7 }, (_, index) => 8 + index)
    );
    await until(() => this.house.fanOut.subscribers(INDEXER).length === 1, 'no other subscriber is left');
    await this.connections(1);
  }

  /** Waits until the server has so many, the good one's among them. */
  async connections(count: number): Promise<void> {
    let found = -1;
    await until(() => {
      this.house.app.server.getConnections((_, now) => {
        found = now;
      });
      return found === count;
    }, `${count} connections are left`);
  }
}

describe('HTTP: what breaks a rule is answered once and cut, though its client stays', async () => {
  const fields = (count: number) => Array.from({ length: count }, (_, n) => `a${n}: b\r\n`).join('');
  const chunked = `${HEARTBEAT}Transfer-Encoding: chunked\r\n\r\n`;
  const siege = await Siege.begin();
  for (const [what, status, said] of [
    ['no HTTP', 400, '\u0001'.repeat(100)],
    ['TLS', 400, '\u0016\u0003\u0001\u0002\u0000'],
    ['no Host', 400, 'GET /status HTTP/1.1\r\n\r\n'],
    ['two lengths', 400, `${HEARTBEAT}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`],
    ['a length and chunks', 400, `${HEARTBEAT}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`],
    ['a GET with a body', 400, get('/status', 'Content-Length: 1\r\n')],
    ['an upgrade with a body', 400, upgradeRequest(`/subscribe/${AT}`, 'Content-Length: 1\r\n')],
    ['a body that is too long, in chunks', 413, `${chunked}${'1\r\n \r\n'.repeat(5_000)}`],
    ['endless chunk extensions', 400, `${chunked}1${`;a=${'x'.repeat(1_000)}`.repeat(100)}`],
    ['another expectation', 417, get('/status', 'Expect: wonders\r\n')],
    ['a long URL', 431, `GET /${'x'.repeat(20_000)}`],
    ['one long header field', 431, `GET /status HTTP/1.1\r\nHost: x\r\na: ${'x'.repeat(20_000)}`],
    ['many header fields', 431, get('/status', fields(100))],
    ['header fields without end', 431, `GET /status HTTP/1.1\r\nHost: x\r\n${fields(3_000)}`],
    ['a body that is too long', 413, `${HEARTBEAT}Content-Length: 5000\r\n\r\n`],
    ['a body that nobody waits for', 404, 'POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n'],
    ['an upgrade that is refused', 400, get(`/subscribe/${AT}`, 'Connection: Upgrade\r\nUpgrade: websocket\r\n')]
  ] as const)
    test(`${status}: ${what}`, async () => {
      const client = (await siege.open()).say(said);
      assert.equal(await client.status(), status);
      await client.ended;
      await siege.block();
    });
  test('afterwards the good subscriber has every block, and nothing is left', () => siege.end());
});

describe('what one connection sends is handed over in slices of 2 KiB, one in a turn of the event loop', () => {
  /** Looks at what is handed over of each connection that comes from now on. */
  function watch(siege: Siege): { readonly total: () => number } {
    let total = 0;
    siege.house.app.server.on('connection', (socket: Socket) => {
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
    const siege = await Siege.begin();
    const { total } = watch(siege);
    const said = `POST /nowhere HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\n \r\n'.repeat(100_000)}`;
    const client = (await siege.open()).say(said);
    assert.equal(await client.status(), 404);
    await client.ended;
    assert.ok(total() < 16 * 1024, `${total()} bytes were parsed`);
    await siege.end();
  });

  test('frames of a WebSocket, the first of which come with its request', async () => {
    const siege = await Siege.begin();
    watch(siege);
    const heartbeat = (n: number) => frame(0x81, Buffer.from(JSON.stringify({ type: 'heartbeat', appliedBlock: n })));
    const frames = Array.from({ length: 500 }, (_, n) => heartbeat(n + 1));
    const client = await siege.open();
    client.say(Buffer.concat([Buffer.from(upgradeRequest(`/subscribe/${AT}`)), ...frames]));
    const last = () => siege.house.fanOut.subscribers(INDEXER).some(({ appliedBlock }) => appliedBlock === 500);
    await until(last, 'the last heartbeat is heard');
    client.socket.destroy();
    await siege.end();
  });

  test('requests that come before an answer wait, 16 KiB of them; who sends more is cut', async () => {
    const asked: (() => void)[] = [];
    const answer = async () => {
      await new Promise<void>((resolve) => asked.push(resolve));
      return { body: '{}', fingerprint: 'f' };
    };
    const siege = await Siege.begin({ answers: { 'schema.read': answer } });
    const { total } = watch(siege);
    const request = get(`/schema/${AT}`, `a: ${'x'.repeat(1_900)}\r\n`);
    const client = (await siege.open()).say(request.repeat(8));
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
    await siege.end();
  });
});

test('408: who says nothing, or slowly, is cut; the limits are those that are set', async () => {
  const siege = await Siege.begin();
  const { server } = siege.house.app;
  assert.deepEqual([server.headersTimeout, server.requestTimeout, server.timeout], [15_000, 30_000, 240_000]);
  Object.assign(server, { headersTimeout: 100, requestTimeout: 200 });
  const slow = [
    await siege.open(),
    (await siege.open()).say('GET /st'),
    (await siege.open()).say('GET /status HTTP/1.1\r\na: b\r\n'),
    (await siege.open()).say(`${HEARTBEAT}Content-Length: 100\r\n\r\n{`)
  ];
  assert.deepEqual(await Promise.all(slow.map((client) => client.status())), [408, 408, 408, 408]);
  await Promise.all(slow.map(({ ended }) => ended));
  await siege.end();
});

test('one request of a connection is answered at a time: eight more wait, a further one ends it', async () => {
  let asked = 0;
  let answer: (() => void) | undefined;
  const siege = await Siege.begin({
    answers: {
      'schema.read': async () => {
        asked++;
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
        return { body: '{}', fingerprint: 'f' };
      }
    }
  });
  const patient = (await siege.open()).say(get(`/schema/${AT}`).repeat(9));
  for (let n = 1; n <= 9; n++) {
    await until(() => asked === n, `request ${n} is asked`);
    answer?.();
    assert.equal(await patient.status(), 200);
  }
  patient.socket.destroy();
  const greedy = (await siege.open()).say(get(`/schema/${AT}`).repeat(10));
  await greedy.ended;
  await siege.end();
});

test('connections of an address, and of all, have a limit; WebSockets have their own', async () => {
  const siege = await Siege.begin({ config: { HTTP_MAX_PER_IP: 2, WS_MAX_PER_IP: 1, MAX_CONNECTIONS: 5 } });
  const clients = [await siege.openSocket(), await siege.open(), await siege.open()];
  await (await siege.open()).ended;
  clients[1]!.socket.destroy();
  await siege.connections(3);
  clients.push(await siege.open());
  assert.equal(await clients[3]!.say(get('/status')).status(), 200);
  const others = await RawClient.open(siege.place, { from: '127.0.0.3' });
  assert.equal(await others.say(get('/status')).status(), 200);
  await (await RawClient.open(siege.place, { from: '127.0.0.3' })).ended;
  for (const { socket } of [...clients, others]) socket.destroy();
  await siege.end();
});

test('an address that goes on breaking the rules loses its connections, but not its WebSockets; others lose nothing', async (t) => {
  const siege = await Siege.begin();
  let now = performance.now();
  t.mock.method(performance, 'now', () => now);
  const other = await RawClient.open(siege.place, { from: '127.0.0.3' });
  const socket = await siege.openSocket();
  const idle = await siege.open();
  for (let n = 0; n < 20; n++) {
    await (await siege.open()).say('\u0001').ended;
    const rude = (await siege.openSocket()).say(frame(0xf1));
    assert.equal(await rude.closeCode(), 1002);
    rude.socket.destroy();
  }
  await idle.ended;
  await (await siege.open()).ended;
  assert.equal(await other.say(get('/status')).status(), 200);
  now += 2_000;
  const again = await siege.open();
  assert.equal(await again.say(get('/status')).status(), 200, 'it is served again');
  await siege.block();
  await socket.hear('the block', (heard) => heard.includes('"block_index":8') || undefined);
  for (const client of [other, again, socket]) client.socket.destroy();
  await siege.end();
});

test('bodies in chunks use up an address’s credit: it loses what it has open', async (t) => {
  const siege = await Siege.begin();
  const now = performance.now();
  t.mock.method(performance, 'now', () => now);
  const idle = await siege.open();
  const chunked = `${HEARTBEAT}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`;
  for (let n = 0; n < 90; n++) {
    const client = (await siege.open()).say(chunked);
    assert.equal(await client.status(), 400, 'it is read, and is no heartbeat');
    client.socket.destroy();
  }
  for (let n = 0; n < 20; n++) (await siege.open()).say(chunked);
  await idle.ended;
  await siege.end();
});

test('who asks too often waits for the answer, a second at most', (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const callers = new ClientLimiter({ maxPerAddress: 1, addressOf: () => 'a' });
  const socket = new Socket();
  for (let n = 0; n < 10_000; n++) assert.equal(callers.ask(socket), 0);
  for (const waitMs of [1, 2, 3]) assert.equal(callers.ask(socket), waitMs);
  for (let n = 0; n < 10_000; n++) assert.ok(callers.ask(socket) <= 1_000);
  now = 1_001;
  assert.equal(callers.ask(socket), 0);
  const ofProxy = new ClientLimiter({ maxPerAddress: 1, addressOf: () => undefined });
  for (let n = 0; n < 12_000; n++) assert.equal(ofProxy.ask(socket), 0, 'the connections of a proxy are not counted');
});

test('WebSocket: what breaks a rule is closed with its code and cut, though its client stays', async () => {
  const siege = await Siege.begin();
  await spell(siege);
  const length64 = (...bytes: number[]) => Buffer.from([0x81, 0xff, ...bytes, 0, 0, 0, 0]);
  const closings = (
    [
      [1002, 'RSV bits', frame(0xf1)],
      [1002, 'RSV1 without an extension', frame(0xc1)],
      [1002, 'an unmasked frame', frame(0x81, Buffer.from('{}'), false)],
      [1002, 'a bad opcode', frame(0x83)],
      [1002, 'a continuation of nothing', frame(0x80)],
      [1002, 'a ping in pieces', frame(0x09)],
      [1002, 'a ping that is too long', frame(0x89, Buffer.alloc(126))],
      [1002, 'a bad closing code', frame(0x88, Buffer.from([0, 1]))],
      [1007, 'text that is no UTF-8', frame(0x81, Buffer.from([0xff]))],
      [1009, 'a frame of 2^63 bytes', length64(0x80, 0, 0, 0, 0, 0, 0, 0)],
      [1009, 'a frame of 2^32 bytes', length64(0, 0, 0, 1, 0, 0, 0, 0)],
      [1009, 'a message that is too long', frame(0x81, Buffer.alloc(4_097))],
      [1008, 'empty continuations', Buffer.concat([frame(0x01), frame(0x00), frame(0x00)])],
      [1008, 'many tiny frames', Buffer.concat(Array.from({ length: 1_001 }, () => frame(0x82)))]
    ] as const
  ).map(async ([code, what, bytes]) => {
    const client = (await siege.openSocket()).say(bytes);
    assert.equal(await client.closeCode(), code, what);
    await siege.block();
    await client.ended;
  });
  await Promise.all([...closings, floodWithPings(siege)]);
  await siege.end();
});

/** A frame in more reads than it may take. */
async function spell(siege: Siege): Promise<void> {
  const accepted = once(siege.house.app.server, 'connection') as Promise<[Socket]>;
  const client = await siege.open();
  const [there] = await accepted;
  await client.upgrade(`/subscribe/${AT}`);
  const bytes = frame(0x81, Buffer.alloc(125));
  const before = there.bytesRead;
  for (let sent = 1; sent <= 6 + 65; sent++) {
    client.say(bytes.subarray(sent - 1, sent));
    await until(() => there.bytesRead === before + sent, `byte ${sent} is read`);
  }
  assert.equal(await client.closeCode(), 1008);
  client.socket.destroy();
}

async function floodWithPings(siege: Siege): Promise<void> {
  const client = await siege.openSocket({ deaf: true });
  while (client.socket.writable) {
    if (!client.socket.write(PING)) await Promise.race([once(client.socket, 'drain').catch(() => null), client.ended]);
    else await nextTurn();
  }
}

test('half-open sockets: a subscriber that does not answer, or has half said goodbye, is gone after two pings', async () => {
  const siege = await Siege.begin({ config: { WS_PING_INTERVAL: 100 } });
  const silent = await siege.openSocket({ deaf: true });
  const half = (await siege.openSocket()).say(frame(0x88, Buffer.from([3, 0xe8])).subarray(0, 3));
  await half.ended;
  await siege.end();
  silent.socket.destroy();
});

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

test('who asks on and on when it is told to come later is answered later and later', async (t) => {
  t.mock.method(performance, 'now', () => 1_000);
  const callers = new ClientLimiter({ maxPerAddress: 1 });
  const socket = { remoteAddress: '10.0.0.1' } as Socket;
  const waits = Array.from({ length: 600 }, () => {
    callers.refuse(socket);
    return callers.ask(socket);
  });
  assert.deepEqual([waits[400], waits.at(-1)], [0, 1_000]);
  assert.equal(callers.ask({ remoteAddress: '10.0.0.2' } as Socket), 0);
  const refuse = t.mock.method(ClientLimiter.prototype, 'refuse');
  const { app } = await openHouse({ answers: { 'schema.read': () => ({ body: '{}', fingerprint: 'f' }) } });
  for (let n = 0; n < 603; n++) await app.inject(`/schema/${AT}`);
  assert.equal(refuse.mock.callCount(), 3);
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

describe('who speaks JSON-RPC has the same door', () => {
  const post = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
  const inChunks = `${post}Transfer-Encoding: chunked\r\n\r\n`;

  /** @param port of a service that takes 100,000 bytes */
  async function besiege(port: number): Promise<void> {
    for (const [status, said] of [
      [400, '\u0001'],
      [400, `GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n`],
      [400, `${inChunks}1${`;a=${'x'.repeat(1_000)}`.repeat(100)}`],
      [413, `${inChunks}${'1\r\n \r\n'.repeat(100_001)}`],
      [413, `${post}Content-Length: 100001\r\n\r\n`],
      [431, `${post}a: ${'x'.repeat(20_000)}`]
    ] as const) {
      const client = (await RawClient.open(`127.0.0.1:${port}`)).say(said);
      assert.equal(await client.status(), status);
      await client.ended;
    }
    // A body need not say how long it is.
    const call = [...'{"jsonrpc":"2.0","id":1,"method":"nothing"}'].map((byte) => `1\r\n${byte}\r\n`).join('');
    const client = await RawClient.open(`127.0.0.1:${port}`);
    assert.equal(await client.say(`${inChunks}${call}0\r\n\r\n`).status(), 200);
    client.socket.destroy();
  }

  test('the decoder', async () => {
    const app = createDecoderApp({
      ...definitionOf(),
      config: {
        ...FRAME_CONFIG,
        DECODER_API_KEY: undefined,
        DECODER_RATE_LIMIT_RPM: 100,
        DECODER_STALL_ALERT_MS: 1_000,
        DECODER_STALL_FETCH_ATTEMPTS: 20
      },
      view: () => assert.fail('nobody gets so far'),
      serves: () => false
    });
    atEnd(() => app.close());
    await app.listen({ host: '127.0.0.1', port: 0 });
    await besiege((app.server.address() as AddressInfo).port);
  });

  test('the hub, while it waits for its database', async () => {
    const [port, nobody] = [await freePort(), await freePort()];
    const enough = new AbortController();
    const database = { host: '127.0.0.1', port: nobody, name: 'x', user: 'x', pass: 'x' };
    const config = hubConfigOf(database, { HUB_PORT: String(port), HUB_API_KEY: 'k', HUB_RATE_LIMIT_RPM: '100' });
    const starting = startHub({ config, log: silentLogger }, enough.signal);
    const listens = () => RawClient.open(`127.0.0.1:${port}`).then(({ socket }) => socket.destroy());
    await eventually('it listens', 10_000, () =>
      listens().then(
        () => true,
        () => false
      )
    );
    await besiege(port);
    enough.abort();
    await assert.rejects(starting);
  });
});
