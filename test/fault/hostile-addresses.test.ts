import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { ClientLimiter } from '../../src/service/ingress/client-limiter.ts';
import { listenTls } from '../../src/service/ingress/listen-tls.ts';
import { AT, AttackedDoor, get } from '../support/attacked-door.ts';
import { openRpc } from '../support/frame.ts';
import { frame, RawClient } from '../support/raw-client.ts';
import { openFrontDoor } from '../support/sync/front-door.ts';
import { temporaryDirectory } from '../support/sync/sync-process.ts';

const from = (remoteAddress: string) => ({ socket: { remoteAddress } }) as IncomingMessage;

function makeCertificate() {
  const directory = temporaryDirectory('tls');
  const [certificate, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=localhost'];
  execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
  return { certificate, key };
}

const HEARTBEAT = `POST /validator-heartbeat/${AT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;

test('connections of an address, and of all, have a limit; WebSockets have their own; who has the most gives way', async () => {
  const attack = await AttackedDoor.begin({ config: { HTTP_MAX_PER_IP: 2, WS_MAX_PER_IP: 1, MAX_CONNECTIONS: 5 } });
  const clients = [await attack.openSocket(), await attack.open(), await attack.open()];
  await (await attack.open()).ended;
  clients[1]!.socket.destroy();
  await attack.connections(3);
  clients.push(await attack.open());
  assert.equal(await clients[3]!.say(get('/status')).status(), 200);
  const others = await RawClient.open(attack.place, { from: '127.0.0.3' });
  assert.equal(await others.say(get('/status')).status(), 200);
  const second = await RawClient.open(attack.place, { from: '127.0.0.3' });
  await clients[3]!.ended;
  assert.equal(await second.say(get('/status')).status(), 200, 'it took a place of who had three');
  await (await RawClient.open(attack.place, { from: '127.0.0.3' })).ended;
  for (const { socket } of [...clients, others, second]) socket.destroy();
  await attack.end();
});

test('on the TLS port an address has its places before any handshake, and the places of all ports are counted together', async () => {
  const { certificate, key } = makeCertificate();
  const attack = await AttackedDoor.begin({ config: { HTTP_MAX_PER_IP: 2, WS_MAX_PER_IP: 1, MAX_CONNECTIONS: 5 } });
  const place = { host: '127.0.0.1', port: await freePort(), certificate, key };
  const variables = { port: 'P', certificate: 'C', key: 'K' };
  const stop = await listenTls(attack.frontDoor.app.server, { ...place, variables });
  const at = `127.0.0.1:${place.port}`;
  const silent = await Promise.all(Array.from({ length: 8 }, () => RawClient.open(at)));
  const cut = silent.map(({ ended }) => ended.then(() => true));
  const first = await Promise.all(cut.map((each) => Promise.race([each, sleep(500).then(() => false)])));
  assert.equal(first.filter(Boolean).length, 5, 'three of eight stay, though none has shaken hands');
  const raw = connect({ port: place.port, host: '127.0.0.1', localAddress: '127.0.0.3' });
  const socket = connectTls({ socket: raw, rejectUnauthorized: false });
  await once(socket, 'secureConnect'); // four of five places, with the good one's that is five
  const open = silent.filter((_, at) => !first[at]);
  const fourth = await RawClient.open(attack.place, { from: '127.0.0.4' });
  await open.at(-1)!.ended; // it has the most, on another port
  assert.equal(await fourth.say(get('/status')).status(), 200);
  socket.destroy();
  fourth.socket.destroy();
  stop();
  for (const each of silent) each.socket.destroy();
  await attack.end();
});

test('an address that goes on breaking the rules loses its connections, but not its WebSockets; others lose nothing', async (t) => {
  const attack = await AttackedDoor.begin();
  let now = performance.now();
  t.mock.method(performance, 'now', () => now);
  const other = await RawClient.open(attack.place, { from: '127.0.0.3' });
  const socket = await attack.openSocket();
  const idle = await attack.open();
  for (let n = 0; n < 20; n++) {
    await (await attack.open()).say('\u0001').ended;
    const rude = (await attack.openSocket()).say(frame(0xf1));
    assert.equal(await rude.closeCode(), 1002);
    rude.socket.destroy();
  }
  await idle.ended;
  await (await attack.open()).ended;
  assert.equal(await other.say(get('/status')).status(), 200);
  now += 2_000;
  const again = await attack.open();
  assert.equal(await again.say(get('/status')).status(), 200, 'it is served again');
  await attack.block();
  await socket.hear('the block', (heard) => heard.includes('"block_index":8') || undefined);
  for (const client of [other, again, socket]) client.socket.destroy();
  await attack.end();
});

test('long URLs, which any page can name, end nothing that others on this machine have open', async (t) => {
  const attack = await AttackedDoor.begin();
  const now = performance.now();
  t.mock.method(performance, 'now', () => now);
  const idle = await attack.open();
  const long = get(`/${'x'.repeat(20_000)}`);
  for (let n = 0; n < 60; n++) {
    const client = (await attack.open()).say(long);
    assert.equal(await client.status(), 431);
    client.socket.destroy();
  }
  assert.equal(await idle.say(get('/status')).status(), 200);
  idle.socket.destroy();
  await attack.end();
});

test('bodies in chunks use up an address’s credit: it loses what it has open', async (t) => {
  const attack = await AttackedDoor.begin();
  const now = performance.now();
  t.mock.method(performance, 'now', () => now);
  const idle = await attack.open();
  const chunked = `${HEARTBEAT}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`;
  for (let n = 0; n < 90; n++) {
    const client = (await attack.open()).say(chunked);
    assert.equal(await client.status(), 400, 'it is read, and is no heartbeat');
    client.socket.destroy();
  }
  for (let n = 0; n < 20; n++) (await attack.open()).say(chunked);
  await idle.ended;
  await attack.end();
});

test('ten thousand addresses of one network leave places to others, and have sixteen limits together', async () => {
  const limiter = new ClientLimiter({ maxPerAddress: 256, maxConnections: 1_000 });
  const connection = (remoteAddress: string) => {
    const socket = Object.assign(new Socket(), { destroy: () => socket.emit('close') });
    Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress });
    return socket as unknown as Socket;
  };
  for (let n = 0; n < 1_000; n++) assert.ok(limiter.arrive(connection(`2001:db8:7:${n.toString(16)}::1`)));
  for (let n = 0; n < 100; n++) assert.ok(limiter.arrive(connection(`198.51.100.${n}`)), 'an honest address');
  const app = openRpc({ methods: {}, requestsPerMinute: 1 });
  const ask = async (remoteAddress: string) => {
    const payload = { jsonrpc: '2.0', method: 'rpc.discover', id: 1 };
    return (await app.inject({ method: 'POST', url: '/', payload, remoteAddress })).statusCode;
  };
  for (let n = 0; n < 16; n++) assert.equal(await ask(`2001:db8:7:${n}::1`), 200);
  assert.equal(await ask('2001:db8:7:16::1'), 429);
  for (const other of ['2001:db8:8:1::1', '198.51.100.1']) assert.equal(await ask(other), 200);
  await app.close();
});

test('a caller that asks too often waits for its answer, a second at most', (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const callers = new ClientLimiter({ maxPerAddress: 1, addressOf: () => 'a' });
  const request = { socket: new Socket() } as IncomingMessage;
  for (let n = 0; n < 10_000; n++) assert.equal(callers.ask(request), 0);
  for (const waitMs of [1, 2, 3]) assert.equal(callers.ask(request), waitMs);
  for (let n = 0; n < 10_000; n++) assert.ok(callers.ask(request) <= 1_000);
  now = 1_001;
  assert.equal(callers.ask(request), 0);
  const ofProxy = new ClientLimiter({ maxPerAddress: 1, addressOf: () => undefined });
  for (let n = 0; n < 12_000; n++) assert.equal(ofProxy.ask(request), 0, 'the connections of a proxy are not counted');
});

test('a handshake of TLS and an upgrade cost ten tokens each', (t) => {
  t.mock.method(performance, 'now', () => 1_000);
  const connection = (remoteAddress: string) => {
    const socket = Object.assign(new Socket(), { destroy: () => socket.emit('close') });
    Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress });
    return socket as unknown as Socket;
  };
  const callers = new ClientLimiter({ maxPerAddress: 10_000 });
  for (let n = 0; n < 1_000; n++) assert.ok(callers.arrive(connection('10.0.0.1'), true));
  assert.ok(!callers.arrive(connection('10.0.0.1'), true));
  for (let n = 0; n < 1_001; n++) assert.ok(callers.arrive(connection('10.0.0.2')));
  for (let n = 0; n < 1_000; n++) assert.equal(callers.upgrade(from('10.0.0.3')), 0);
  assert.equal(callers.upgrade(from('10.0.0.3')), 10);
});

test('a caller that ignores Retry-After waits longer with each request', async (t) => {
  t.mock.method(performance, 'now', () => 1_000);
  const callers = new ClientLimiter({ maxPerAddress: 1 });
  const request = from('10.0.0.1');
  const waits = Array.from({ length: 600 }, () => {
    callers.refuse(request);
    return callers.ask(request);
  });
  assert.deepEqual([waits[400], waits.at(-1)], [0, 1_000]);
  assert.equal(callers.ask(from('10.0.0.2')), 0);
  const refuse = t.mock.method(ClientLimiter.prototype, 'refuse');
  const { app } = await openFrontDoor({ answers: { 'schema.read': () => ({ body: '{}', fingerprint: 'f' }) } });
  for (let n = 0; n < 603; n++) await app.inject(`/schema/${AT}`);
  assert.equal(refuse.mock.callCount(), 3);
});
