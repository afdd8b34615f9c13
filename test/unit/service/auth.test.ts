import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { InjectOptions } from 'fastify';
import { openFrontDoor, routesOf } from '../../support/sync/front-door.ts';

const BEARER = { authorization: 'Bearer k1' };
const AT = 'bitcoin/regtest';

describe('with a key', async () => {
  const { app } = await openFrontDoor({ config: { SYNC_API_KEY: 'k1,k2' } });
  const ask = async (url: string, headers = {}, method: InjectOptions['method'] = 'GET') =>
    app.inject({ method, url, headers });

  test('401 comes before everything else, unknown paths included', async () => {
    for (const url of [
      '/health',
      '/catalog',
      '/nowhere',
      '/livez/more',
      `/status/nonsense/${AT}`,
      `/transparency/decoder/${AT}/roots`
    ]) {
      const answer = await ask(url);
      assert.equal(answer.statusCode, 401, url);
      assert.equal(answer.headers['www-authenticate'], 'Bearer');
      assert.equal(typeof answer.json().error, 'string');
    }
    assert.equal((await ask('/health', { authorization: 'Bearer wrong' })).statusCode, 401);
    assert.equal((await ask('/health', { authorization: 'Basic k1' })).statusCode, 401);
    assert.equal((await ask('/health', { authorization: 'Bearer k1,k2' })).statusCode, 401);
    assert.equal((await ask('/health?key=k1')).statusCode, 401);
  });

  test('200 for both keys of a rotation', async () => {
    for (const key of ['k1', 'k2'])
      assert.equal((await ask('/health', { authorization: `Bearer ${key}` })).statusCode, 200);
  });

  test('401 for a token among WebSocket subprotocols without an upgrade', async () => {
    const protocol = `bearer.${Buffer.from('k1').toString('base64url')}, platform-sync.v1`;
    assert.equal((await ask('/health', { 'sec-websocket-protocol': protocol })).statusCode, 401);
  });

  test('401 without the key and 400 with it for a path that cannot be decoded', async () => {
    assert.equal((await ask('/status/%zz')).statusCode, 401);
    const answer = await ask('/status/%zz', BEARER);
    assert.equal(answer.statusCode, 400);
    assert.deepEqual(Object.keys(answer.json()), ['error']);
  });

  test('every route needs the key but the few that are open', async () => {
    const open = new Set(['/', '/livez', '/readyz', '/openapi.json', '/docs']);
    const routes = await routesOf(app);
    assert.ok(routes.length > 25);
    for (const { method, path } of routes) {
      const url = path.replace(':dbType', 'indexer').replace(':chain', 'bitcoin').replace(':network', 'regtest');
      const { statusCode } = await ask(url, {}, method as 'GET');
      assert.equal(statusCode === 401, !open.has(path), `${method} ${path} answered ${statusCode}`);
    }
  });
});

test('without a key all is open but what an operator may do: that is always 401', async () => {
  const { app, acts } = await openFrontDoor();
  assert.equal((await app.inject('/debug/actors')).statusCode, 200);
  for (const url of [
    `/debug/actors/indexer/${AT}/kill`,
    `/debug/actors/indexer/${AT}/restart`,
    `/halt/clear/indexer/${AT}`
  ])
    for (const headers of [{}, BEARER])
      assert.equal((await app.inject({ method: 'POST', url, headers })).statusCode, 401, url);
  assert.deepEqual(acts, []);
});

describe('with a key for operators', async () => {
  const { app, acts } = await openFrontDoor({
    config: { SYNC_MODE: 'client', SYNC_API_KEY: 'k1', SYNC_OPERATOR_KEY: 'o1,o2' },
    clearHalt: async () => {
      acts.push('clear');
      return { was: null };
    }
  });
  const ask = async (key: string, url: string, method: InjectOptions['method'] = 'GET') =>
    app.inject({ method, url, headers: { authorization: `Bearer ${key}` } });
  const changes = [
    ...['kill', 'restart', 'pause', 'verify'].map((action) => `/debug/actors/indexer/${AT}/${action}`),
    `/halt/clear/indexer/${AT}`
  ];

  test("401: the readers' key changes nothing, and is told whose key is missing", async () => {
    for (const url of changes) {
      const answer = await ask('k1', url, 'POST');
      assert.equal(answer.statusCode, 401, url);
      assert.match(answer.json().error, /operator/);
    }
    assert.deepEqual(acts, []);
  });

  test('202 and 200 with the key of operators, either of a rotation', async () => {
    for (const [index, url] of changes.entries())
      assert.ok((await ask(index % 2 === 0 ? 'o1' : 'o2', url, 'POST')).statusCode <= 202, url);
    assert.equal(acts.length, changes.length);
  });

  test('both keys read, and the console shows buttons to operators alone', async () => {
    for (const key of ['k1', 'o1', 'o2']) {
      assert.equal((await ask(key, '/health')).statusCode, 200);
      assert.equal((await ask(key, '/debug/live')).json().operated, key !== 'k1');
    }
    assert.equal((await ask('o3', '/health')).statusCode, 401);
  });

  test("every route that changes something is an operator's; heartbeats are not", async () => {
    const writes = (await routesOf(app)).filter(({ method }) => !['GET', 'HEAD', 'OPTIONS'].includes(method));
    for (const { method, path } of writes) {
      const url = path.replace(':dbType', 'indexer').replace(':chain', 'bitcoin').replace(':network', 'regtest');
      const { statusCode } = await ask('k1', url, method as 'POST');
      assert.equal(statusCode === 401, !path.includes('heartbeat'), `${method} ${path} answered ${statusCode}`);
    }
  });
});

test('a key for operators alone: all read, and only operators change something', async () => {
  const { app, acts } = await openFrontDoor({ config: { SYNC_OPERATOR_KEY: 'o1' } });
  assert.equal((await app.inject('/health')).statusCode, 200);
  const kill = async (headers: Record<string, string>) =>
    (await app.inject({ method: 'POST', url: `/debug/actors/indexer/${AT}/kill`, headers })).statusCode;
  assert.equal(await kill({}), 401);
  assert.equal(await kill(BEARER), 401);
  assert.equal(await kill({ authorization: 'Bearer o1' }), 202);
  assert.deepEqual(acts, [`kill indexer/${AT}`]);
});
