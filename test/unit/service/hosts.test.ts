import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { loadConfig } from '../../../src/config/load.ts';
import { frameVariables } from '../../../src/config/service.ts';
import { readKeys } from '../../../src/config/tokens.ts';
import { createFrame } from '../../../src/service/frame.ts';
import { acceptWebSockets } from '../../../src/service/stream/web-sockets.ts';
import { definitionOf, FRAME_CONFIG } from '../../support/frame.ts';
import { RawClient } from '../../support/raw-client.ts';

const FROM_AFAR = '203.0.113.7';
const ask = async (
  app: FastifyInstance,
  headers: Record<string, string>,
  url = '/livez',
  remoteAddress = '127.0.0.1'
) => await app.inject({ url, headers, remoteAddress });

test('HOST_UNKNOWN: 421 for a public name that is not listed; addresses, private and listed names, and keys are taken', async () => {
  const config = { ...FRAME_CONFIG, PUBLIC_HOSTS: ['hub.example.com', '*.nodes.example.com'] };
  const app = createFrame(definitionOf({ config, keys: { readers: ['k'] } }));
  for (const host of [
    'evil.example.org',
    'evil.example.org:3002',
    'example.com',
    'hub.example.com.evil.org',
    '1.2.3.4.nip.io'
  ]) {
    const refused = await ask(app, { host });
    assert.deepEqual([refused.statusCode, refused.json().code], [421, 'HOST_UNKNOWN'], host);
    assert.match(refused.json().error, /PUBLIC_HOSTS/);
    assert.equal((await ask(app, { host, 'x-api-key': 'k' })).statusCode, 200, 'no page of a stranger has the key');
  }
  for (const host of [
    '127.0.0.1:80',
    '[::1]:3002',
    'localhost',
    'LOCALHOST:1',
    'hub',
    'hub:10000',
    'hub.default.svc',
    'hub.default.svc.cluster.local:80',
    'node.lan',
    'hub.example.com',
    'HUB.example.com.:443',
    'a.b.nodes.example.com'
  ])
    assert.equal((await ask(app, { host })).statusCode, 200, host);
  const any = createFrame(definitionOf({ config: { ...FRAME_CONFIG, PUBLIC_HOSTS: ['*'] } }));
  assert.equal((await ask(any, { host: 'evil.example.org' })).statusCode, 200);
});

test('HOST_UNKNOWN: without a key, a page by a name that neighbours can give themselves; services by such names are taken', async () => {
  const config = { ...FRAME_CONFIG, PUBLIC_HOSTS: ['node.lan'] };
  const open = createFrame(definitionOf({ config, keys: {} }));
  const keyed = createFrame(definitionOf({ config, keys: { readers: ['k'.repeat(16)] } }));
  const pages = (host: string) => [
    { host, origin: `http://${host}` },
    { host, 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)' }
  ];
  for (const host of ['evil.local:24401', 'evil.lan', 'evil.internal', 'evil', 'ai:10000'])
    for (const headers of pages(host)) {
      assert.equal((await ask(open, headers)).statusCode, 421, JSON.stringify(headers));
      assert.equal((await ask(keyed, headers)).statusCode, 200, 'it reads nothing of worth');
    }
  for (const host of ['hub:10000', 'hub.default.svc', 'utxo'])
    assert.equal((await ask(open, { host })).statusCode, 200);
  for (const host of ['127.0.0.1:1', '[::1]', 'localhost:10000', `${hostname()}:10000`, 'node.lan'])
    for (const headers of pages(host)) assert.equal((await ask(open, headers)).statusCode, 200, host);
});

test('ORIGIN_REFUSED: 403 for a WebSocket of a page of another origin', async () => {
  const app = createFrame(
    definitionOf({
      config: { ...FRAME_CONFIG, CORS_ORIGINS: ['https://wallet.example'] },
      routes: (plugin) => {
        const sockets = acceptWebSockets(plugin);
        plugin.get('/stream', { config: { open: true } }, async (request) => sockets.check(request));
      }
    })
  );
  const subscribe = async (headers: Record<string, string>) =>
    (
      await ask(app, { host: '127.0.0.1:80', connection: 'upgrade', upgrade: 'websocket', ...headers }, '/stream')
    ).json();
  for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:81'])
    assert.equal((await subscribe({ origin })).code, 'ORIGIN_REFUSED', origin);
  for (const headers of [{}, { origin: 'https://wallet.example' }, { origin: 'http://127.0.0.1:80' }])
    assert.equal(
      (await subscribe(headers as Record<string, string>)).code,
      'REQUEST_INVALID',
      'it gets as far as the handshake'
    );
});

test('CORS_ORIGINS: extensions and wallets have origins of their own kind, and `*` is any', async () => {
  const origins = ['chrome-extension://abcdefghijklmnop', 'moz-extension://6d-1', 'capacitor://localhost', '*'];
  const load = (CORS_ORIGINS: string) => loadConfig(frameVariables, { env: { CORS_ORIGINS } }).values.CORS_ORIGINS;
  assert.deepEqual(load(origins.join()), origins);
  for (const wrong of ['null', 'file://', 'https://wallet.example/', 'chrome-extension://a/b', 'wallet.example'])
    assert.throws(() => load(wrong), /CORS_ORIGINS/, wrong);
  for (const [listed, origin, isTaken] of [
    ['chrome-extension://abcdefghijklmnop', 'chrome-extension://abcdefghijklmnop', true],
    ['chrome-extension://abcdefghijklmnop', 'chrome-extension://another', false],
    ['*', 'https://any.example', true]
  ] as const) {
    const config = { ...FRAME_CONFIG, CORS_ORIGINS: [listed] };
    const app = createFrame(
      definitionOf({
        config,
        routes: (plugin) => {
          const sockets = acceptWebSockets(plugin);
          plugin.get('/stream', { config: { open: true } }, async (request) => sockets.check(request));
        }
      })
    );
    const headers = { host: '127.0.0.1:80', origin };
    const answer = await ask(app, headers);
    assert.equal(answer.headers['access-control-allow-origin'], isTaken ? origin : undefined);
    const upgrade = await ask(app, { ...headers, connection: 'upgrade', upgrade: 'websocket' }, '/stream');
    assert.equal(upgrade.json().code, isTaken ? 'REQUEST_INVALID' : 'ORIGIN_REFUSED', origin);
  }
});

test('without a key, the inside is told to this machine and its networks alone; descriptions are always open', async () => {
  const open = createFrame(definitionOf());
  for (const url of ['/metrics', '/debug/actors', '/debug/live', '/debug/pipeline']) {
    for (const near of ['127.0.0.1', '::1', '10.1.2.3', '192.168.0.7', 'fd00::5'])
      assert.equal((await ask(open, {}, url, near)).statusCode, 200, `${url} ${near}`);
    assert.equal((await ask(open, {}, url, FROM_AFAR)).statusCode, 401, url);
    for (const name of ['x-forwarded-for', 'x-forwarded-proto', 'forwarded', 'via', 'x-real-ip', 'cf-connecting-ip'])
      assert.equal(
        (await ask(open, { [name]: FROM_AFAR }, url)).statusCode,
        401,
        `a proxy that is not listed: ${name}`
      );
  }
  const closed = createFrame(definitionOf({ keys: { readers: ['k'] } }));
  for (const url of ['/openapi.json', '/docs']) assert.equal((await ask(closed, {}, url, FROM_AFAR)).statusCode, 200);
  assert.equal((await ask(closed, {}, '/metrics')).statusCode, 401);
  assert.equal((await ask(closed, { 'x-api-key': 'k' }, '/metrics', FROM_AFAR)).statusCode, 200);
});

test('a request of HTTP 1.0 is that of a proxy: nginx says nothing more of whom it speaks for', async (t) => {
  const app = createFrame(definitionOf());
  await app.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => app.close());
  const { port } = app.server.address() as { port: number };
  for (const [version, status] of [
    ['1.1', 200],
    ['1.0', 401]
  ] as const) {
    const client = await RawClient.open(`127.0.0.1:${port}`);
    client.say(`GET /metrics HTTP/${version}\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`);
    assert.equal(await client.status(), status, version);
  }
});

test('a service without a key tells only this machine what it reads of others with their keys', async () => {
  const config = { ...FRAME_CONFIG, CONSOLE_SERVICES: ['http://127.0.0.1:9'] };
  const platformOf = async (app: FastifyInstance, from: string) =>
    (await ask(app, {}, '/debug/live', from)).json<{ readonly platform: object | null }>().platform;
  const keyed = createFrame(definitionOf({ config: { ...config, CONSOLE_SERVICES_KEY: 'key-of-the-others' } }));
  assert.notEqual(await platformOf(keyed, '127.0.0.1'), null);
  assert.equal(await platformOf(keyed, '10.1.2.3'), null);
  const open = createFrame(definitionOf({ config }));
  assert.notEqual(await platformOf(open, '10.1.2.3'), null, 'everybody may ask them without one');
});

test('a right key counts beside a foreign one in the other header', async () => {
  const app = createFrame(definitionOf({ keys: { readers: ['right'] } }));
  for (const headers of [
    { 'x-api-key': 'right', authorization: 'Bearer of-a-proxy' },
    { 'x-api-key': 'other', authorization: 'Bearer right' }
  ])
    assert.equal((await ask(app, headers, '/metrics')).statusCode, 200);
  assert.equal((await ask(app, { 'x-api-key': 'a', authorization: 'Bearer b' }, '/metrics')).statusCode, 401);
});

test('TRUST_PROXY takes the names of networks; HUB_API_KEY=OLD,NEW takes both, and the whole', () => {
  const read = (TRUST_PROXY: string) => loadConfig(frameVariables, { env: { TRUST_PROXY } }).values.TRUST_PROXY;
  assert.deepEqual(read('loopback, 10.0.0.1'), ['127.0.0.0/8', '::1/128', '10.0.0.1']);
  assert.ok(read('linklocal,uniquelocal')?.includes('192.168.0.0/16'));
  assert.throws(() => read('loopbak'), /loopback, linklocal, uniquelocal/);
  assert.deepEqual(readKeys('old,new'), ['old', 'new', 'old,new']);
});

test('a key of another service on routes that need none costs nothing: a proxy or a library may add it to each request', async () => {
  const refused: string[] = [];
  const definition = definitionOf({
    keys: { readers: ['right'] },
    routes: (app) => void app.get('/open', { config: { open: true } }, async () => 'open')
  });
  const metrics = { ...definition.metrics, refused: (code: string) => void refused.push(code) };
  const app = createFrame({ ...definition, metrics });
  await app.listen({ host: '127.0.0.1', port: 0 });
  try {
    const { port } = app.server.address() as { port: number };
    const headers = { authorization: 'Bearer of-another-service' };
    const status = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`, { headers })).status;
    for (let request = 0; request < 80; request++) assert.equal(await status('/open'), 200);
    assert.equal(await status('/nowhere'), 404);
    assert.deepEqual(refused, []);
    assert.equal(await status('/metrics'), 401);
    assert.deepEqual(refused, ['UNAUTHORIZED', 'WRONG_KEY']);
    const foreign = await app.inject({ url: '/open', headers: { ...headers, host: 'evil.example.org' } });
    assert.equal(foreign.statusCode, 421);
    assert.deepEqual(refused.slice(2).sort(), ['HOST_UNKNOWN', 'WRONG_KEY'], 'a right key would have opened it');
  } finally {
    app.server.closeAllConnections();
    await app.close();
  }
});

test('404 for what is no path, also where a key is set; a service that hides its paths says 401 to who has none', async () => {
  const [open, hidden] = [undefined, true].map((hidesPaths) =>
    createFrame(definitionOf({ keys: { readers: ['right'] }, ...(hidesPaths ? { hidesPaths } : {}) }))
  ) as [FastifyInstance, FastifyInstance];
  for (const [method, url, status] of [
    ['GET', '/favicon.ico', 404],
    ['POST', '/livez', 404],
    ['GET', '/%zz', 400],
    ['GET', '/metrics', 401]
  ] as const) {
    assert.equal((await open.inject({ method, url })).statusCode, status, url);
    assert.equal((await hidden.inject({ method, url })).statusCode, 401, url);
  }
});

test('each wrong key costs tokens: guesses come later and later, and a key that is right does not', async (t) => {
  t.mock.method(performance, 'now', () => 1_000);
  const app = createFrame(definitionOf({ keys: { readers: ['right'] } }));
  await app.listen({ host: '127.0.0.1', port: 0 });
  try {
    const { port } = app.server.address() as { port: number };
    const status = async (key: string, signal = AbortSignal.timeout(400)) =>
      (await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { 'x-api-key': key }, signal })).status;
    for (let guess = 0; guess < 30; guess++) assert.equal(await status('right', AbortSignal.timeout(5_000)), 200);
    for (let guess = 0; guess < 39; guess++)
      assert.equal(await status(`guess ${guess}`, AbortSignal.timeout(5_000)), 401);
    for (let guess = 0; guess < 4; guess++) await status(`more ${guess}`).catch(() => undefined);
    await assert.rejects(status('one more'), { name: 'TimeoutError' });
  } finally {
    app.server.closeAllConnections();
    await app.close();
  }
});

test('the first of several keys is sent to the services of a console', () => {
  const { CONSOLE_SERVICES_KEY } = loadConfig(frameVariables, { env: { CONSOLE_SERVICES_KEY: 'OLD,NEW' } }).values;
  assert.equal(CONSOLE_SERVICES_KEY, 'OLD');
});
