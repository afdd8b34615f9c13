import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import Type from 'typebox';
import { PlatformError } from '../../../src/errors.ts';
import { createFrame } from '../../../src/service/frame.ts';
import { rpcMethod } from '../../../src/service/rpc/method.ts';
import { definitionOf, FRAME_CONFIG, openRpc } from '../../support/frame.ts';

const methods = {
  echo: rpcMethod({ summary: 'Echoes', result: Type.Unknown(), params: Type.Object({}), write: false, run: (it) => it })
};
const payload = { jsonrpc: '2.0', id: 1, method: 'echo' };

test('the key is taken by either header; without one configured all is open but what an operator may do', async () => {
  const closed = createFrame(definitionOf({ keys: { readers: ['k'] } }));
  assert.equal((await closed.inject('/metrics')).statusCode, 401);
  for (const headers of [{ authorization: 'Bearer k' }, { 'x-api-key': 'k' }])
    assert.equal((await closed.inject({ url: '/metrics', headers })).statusCode, 200);
  assert.equal((await closed.inject({ url: '/metrics', headers: { 'x-api-key': 'K' } })).statusCode, 401);
  const open = createFrame(definitionOf());
  assert.equal((await open.inject('/metrics')).statusCode, 200);
  const url = '/debug/actors/decoder/litecoin/regtest/kill';
  assert.equal((await open.inject({ method: 'POST', url })).statusCode, 401);
});

test('TRUST_PROXY: behind a listed proxy each caller has a limit of its own; a forged header of others counts nothing', async () => {
  const limited = (TRUST_PROXY: readonly string[] | undefined) =>
    openRpc({ methods, requestsPerMinute: 1 }, { config: { ...FRAME_CONFIG, TRUST_PROXY } });
  const ask = (app: ReturnType<typeof limited>, client: string) =>
    app.inject({ method: 'POST', url: '/', payload, headers: { 'x-forwarded-for': client } });
  const [listed, unlisted] = [limited(['127.0.0.1']), limited(undefined)];
  for (const client of ['192.0.2.1', '192.0.2.2']) assert.equal((await ask(listed, client)).statusCode, 200);
  const refused = await ask(listed, '192.0.2.1');
  assert.equal(refused.statusCode, 429);
  assert.equal(refused.headers['ratelimit-policy'], '"rpc";q=1;w=60');
  assert.ok(Number(refused.headers['retry-after']) > 0);
  assert.equal((await ask(unlisted, '192.0.2.1')).statusCode, 200);
  assert.equal((await ask(unlisted, '192.0.2.2')).statusCode, 429);
});

test('pages of other sites in a browser of this machine use up nothing of what its own programs may ask; elsewhere nothing is theirs', async () => {
  const app = openRpc({ methods, requestsPerMinute: 1 });
  const ask = async (remoteAddress: string, headers: Record<string, string> = {}) =>
    (await app.inject({ method: 'POST', url: '/', payload, headers, remoteAddress })).statusCode;
  const page = { 'sec-fetch-site': 'cross-site', origin: 'http://stranger.example' };
  const neighbour = { 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:1' };
  assert.deepEqual([await ask('127.0.0.1', page), await ask('127.0.0.1', neighbour)], [200, 429]);
  assert.deepEqual([await ask('127.0.0.1'), await ask('127.0.0.1')], [200, 429]);
  const forwarded = { ...page, 'x-forwarded-for': '192.0.2.1' };
  assert.equal(await ask('127.0.0.1', forwarded), 429, 'a proxy brings it');
  assert.deepEqual(
    [await ask('192.0.2.1', page), await ask('192.0.2.1')],
    [200, 429],
    'who is elsewhere could say so of itself'
  );
});

test('CORS_ORIGINS: JSON-RPC of a listed origin is allowed by its preflight, with the key in X-API-Key', async () => {
  const app = openRpc({ methods }, { config: { ...FRAME_CONFIG, CORS_ORIGINS: ['https://console.example'] } });
  const preflight = (origin: string) =>
    app.inject({ method: 'OPTIONS', url: '/', headers: { origin, 'access-control-request-method': 'POST' } });
  const { headers } = await preflight('https://console.example');
  assert.equal(headers['access-control-allow-origin'], 'https://console.example');
  assert.match(String(headers['access-control-allow-headers']), /X-API-Key/);
  assert.equal((await preflight('https://other.example')).headers['access-control-allow-origin'], undefined);
});

test('every answer says whether caches may keep it', async () => {
  const app = createFrame(definitionOf());
  for (const url of ['/metrics', '/livez', '/readyz', '/openapi.json', '/debug/live', '/nothing']) {
    const { headers } = await app.inject(url);
    assert.match(String(headers['cache-control']), /^no-(?:cache|store)$/, url);
  }
});

test('an answer of 503 is kept by no cache', async () => {
  const wait = async () => {
    throw new PlatformError('ANSWERS_WAITING', { reason: 'others wait' });
  };
  const routes = (app: FastifyInstance) => void app.get('/busy', { config: { open: true } }, wait);
  const { statusCode, headers } = await createFrame(definitionOf({ routes })).inject('/busy');
  assert.deepEqual([statusCode, headers['cache-control'], headers['retry-after']], [503, 'no-store', '5']);
});

test('503 /readyz with the word of the service', async () => {
  const app = createFrame(definitionOf({ readiness: async () => 'halted' as const }));
  const answer = await app.inject('/readyz');
  assert.deepEqual([answer.statusCode, answer.json()], [503, { status: 'halted' }]);
  await app.close();
});

test('a service to which any web page may write says so at its start', () => {
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
  const config = { ...FRAME_CONFIG, CORS_ORIGINS: ['*'] };
  const method = (write: boolean) => rpcMethod({ summary: 'A', result: Type.String(), write, run: async () => 'done' });
  openRpc({ methods: { read: method(false) } }, { config, log });
  openRpc({ methods: { note: method(true) } }, { config, log, keys: { readers: ['k'.repeat(16)] } });
  assert.deepEqual(lines, []);
  openRpc({ methods: { note: method(true) } }, { config, log });
  assert.match(lines.join(''), /CORS_ORIGINS is \* and no key is set: any web page may write here/);
});

test('a key that can be guessed is named at the start, and guesses are counted', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
  const refused: string[] = [];
  const metrics = { ...definitionOf().metrics, refused: (code: string) => void refused.push(code) };
  const start = (key: string) => createFrame(definitionOf({ keys: { readers: [key] }, log, metrics }));
  start('k'.repeat(16));
  assert.deepEqual(lines, []);
  const app = start('fifteen letters');
  assert.match(lines.join(''), /a key has 15 characters, so that it can be guessed .*openssl rand -hex 32/);
  createFrame(definitionOf({ log, secrets: { TELEMETRY_IP_SALT: 's', TELEMETRY_ADMIN_KEY: 'k'.repeat(16) } }));
  assert.match(lines.at(-1)!, /a secret has 1 characters, so that it can be guessed \(TELEMETRY_IP_SALT\)/);
  createFrame(definitionOf({ log, config: { ...FRAME_CONFIG, CONSOLE_SERVICES_KEY: 'k'.repeat(16) } }));
  assert.match(lines.at(-1)!, /CONSOLE_SERVICES_KEY is set and not used: name the services in CONSOLE_SERVICES/);
  for (const key of ['fifteen letters', 'guess', 'another guess'])
    await app.inject({ url: '/metrics', headers: { 'x-api-key': key } });
  assert.deepEqual(refused.filter((code) => code === 'WRONG_KEY').length, 2);
});
