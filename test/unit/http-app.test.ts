import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import type { InjectOptions } from 'fastify';
import { PlatformError } from '../../src/errors.ts';
import { DECODER, INDEXER, INDEXER_HASHES, openHouse, reportOf } from './http-house.ts';

const BEARER = { authorization: 'Bearer k1' };
const INDEXER_ONLY = 'transparency log is indexer-only; the decoder database has no synthetic chain-of-state hashes';
const AT = 'bitcoin/regtest';

describe('with a key', async () => {
  const { app, acts } = await openHouse({ config: { SYNC_API_KEY: 'k1,k2' } });
  const ask = async (url: string, headers = {}, method: InjectOptions['method'] = 'GET') =>
    app.inject({ method, url, headers });

  test('401 comes before everything else, unknown paths included', async () => {
    for (const url of ['/health', '/nowhere', `/status/nonsense/${AT}`, `/transparency/decoder/${AT}/roots`]) {
      const answer = await ask(url);
      assert.equal(answer.statusCode, 401, url);
      assert.equal(answer.headers['www-authenticate'], 'Bearer');
      assert.equal(typeof answer.json().error, 'string');
    }
    assert.equal((await ask('/health', { authorization: 'Bearer wrong' })).statusCode, 401);
    assert.equal((await ask('/health', { authorization: 'Basic k1' })).statusCode, 401);
    assert.equal((await ask('/health', { authorization: 'Bearer k1,k2' })).statusCode, 401);
  });

  test('both keys of a rotation are accepted', async () => {
    for (const key of ['k1', 'k2'])
      assert.equal((await ask('/health', { authorization: `Bearer ${key}` })).statusCode, 200);
  });

  test('a token among WebSocket subprotocols counts for upgrades only', async () => {
    const protocol = `bearer.${Buffer.from('k1').toString('base64url')}, platform-sync.v1`;
    assert.equal((await ask('/health', { 'sec-websocket-protocol': protocol })).statusCode, 401);
  });

  test('an operator kills and restarts actors', async () => {
    assert.equal((await ask(`/debug/actors/indexer/${AT}/kill`, BEARER, 'POST')).statusCode, 202);
    assert.equal((await ask(`/debug/actors/indexer/${AT}/restart`, BEARER, 'POST')).statusCode, 202);
    assert.equal((await ask(`/debug/actors/indexer/litecoin/regtest/kill`, BEARER, 'POST')).statusCode, 404);
    assert.deepEqual(acts, [`kill indexer/${AT}`, `restart indexer/${AT}`]);
  });

  test('halt/clear is 403 in server mode, after 400 for a bad dbType', async () => {
    assert.equal((await ask(`/halt/clear/indexer/${AT}`, BEARER, 'POST')).statusCode, 403);
    assert.equal((await ask(`/halt/clear/index/${AT}`, BEARER, 'POST')).statusCode, 400);
  });

  test('413 and 415 have the same body', async () => {
    const post = (type: string, payload: string) =>
      app.inject({
        method: 'POST',
        url: `/debug/actors/indexer/${AT}/kill`,
        headers: { ...BEARER, 'content-type': type },
        payload
      });
    for (const [answer, status] of [
      [await post('application/json', `"${'x'.repeat(20_000)}"`), 413],
      [await post('text/nonsense', 'x'), 415]
    ] as const) {
      assert.equal(answer.statusCode, status);
      assert.equal(typeof answer.json().error, 'string');
    }
  });

  test('404 as JSON for unknown paths', async () => {
    const answer = await ask('/nowhere', BEARER);
    assert.equal(answer.statusCode, 404);
    assert.deepEqual(answer.json(), { error: 'not found' });
  });

  test('a path that cannot be decoded is 401 without the key and 400 with it', async () => {
    assert.equal((await ask('/status/%zz')).statusCode, 401);
    const answer = await ask('/status/%zz', BEARER);
    assert.equal(answer.statusCode, 400);
    assert.deepEqual(Object.keys(answer.json()), ['error']);
  });
});

describe('without a key', async () => {
  const { app } = await openHouse({
    reports: [reportOf(INDEXER), reportOf(DECODER, { circuit: 'half-open' })],
    answers: {
      'schema.read': () => ({ body: '{"tables":{}}', fingerprint: 'f1' }),
      'transparency.roots': (body: { page: number; limit: number }) => ({ ...body, total: 0, results: [] }),
      'transparency.latest': () => ({ epoch: null, merkle_root: null }),
      'transparency.proof': ({ blockIndex }: { blockIndex: number }) => {
        if (blockIndex === 99) throw new PlatformError('LEAF_UNKNOWN', { reason: 'block 99 is not recorded' });
        return { error: 'epoch not yet committed' };
      }
    }
  });
  const get = async (url: string) => app.inject(url);

  test('all is open but what an operator may do', async () => {
    assert.equal((await get('/debug/actors')).statusCode, 200);
    for (const url of [
      `/debug/actors/indexer/${AT}/kill`,
      `/debug/actors/indexer/${AT}/restart`,
      `/halt/clear/indexer/${AT}`
    ])
      for (const headers of [{}, BEARER])
        assert.equal((await app.inject({ method: 'POST', url, headers })).statusCode, 401, url);
  });

  test('GET /health', async () => {
    const answer = await get('/health');
    assert.equal(answer.statusCode, 200);
    const { last_updated, ...rest } = answer.json();
    assert.ok(!Number.isNaN(Date.parse(last_updated)));
    assert.deepEqual(rest, {
      status: 'healthy',
      mode: 'server',
      databases: [
        { chain: 'bitcoin', network: 'regtest', dbType: 'indexer', circuit: 'closed' },
        { chain: 'bitcoin', network: 'regtest', dbType: 'decoder', circuit: 'half-open' }
      ]
    });
  });

  test('GET /status, all databases and one', async () => {
    const { last_updated, ...tree } = (await get('/status')).json();
    assert.ok(last_updated);
    const { last_updated: at, chain, network, dbType, ...one } = (await get(`/status/indexer/${AT}`)).json();
    assert.ok(at);
    assert.deepEqual({ chain, network, dbType }, INDEXER);
    assert.deepEqual(tree.bitcoin.regtest.indexer, one);
    assert.deepEqual(one, {
      block_height: 7,
      block_time: 1_700_000_000,
      ...INDEXER_HASHES,
      lag_blocks: 0,
      poll_error_count: 0,
      phase: 'polling.caughtUp',
      subscribers: []
    });
    const decoder = (await get(`/status/decoder/${AT}`)).json();
    assert.equal(decoder.block_hash, 'cc');
    assert.equal('ledger_hash' in decoder, false);
  });

  test('400 dbType before 404 combination, both with a JSON error', async () => {
    const bad = await get('/status/indexers/nochain/regtest');
    assert.equal(bad.statusCode, 400);
    assert.equal(bad.json().code, 'REQUEST_INVALID');
    const unknown = await get('/status/indexer/nochain/regtest');
    assert.equal(unknown.statusCode, 404);
    assert.deepEqual(unknown.json(), { error: 'chain/network not found', code: 'DATABASE_UNKNOWN' });
  });

  test('GET /schema passes the actor text on', async () => {
    const answer = await get(`/schema/indexer/${AT}`);
    assert.equal(answer.body, '{"tables":{}}');
    assert.match(String(answer.headers['content-type']), /^application\/json/);
  });

  test('transparency: exact texts without a code', async () => {
    for (const tail of ['roots', 'proof/5', 'root/latest']) {
      const answer = await get(`/transparency/decoder/${AT}/${tail}`);
      assert.equal(answer.statusCode, 400);
      assert.deepEqual(answer.json(), { error: INDEXER_ONLY });
      const unknown = await get(`/transparency/indexer/litecoin/main/${tail}`);
      assert.equal(unknown.statusCode, 404);
      assert.deepEqual(unknown.json(), { error: 'chain/network not found' });
    }
  });

  test('roots: default page, clamp, and nothing but integers', async () => {
    const roots = (query: string) => get(`/transparency/indexer/${AT}/roots${query}`);
    assert.deepEqual((await roots('')).json(), { page: 0, limit: 100, total: 0, results: [] });
    assert.equal((await roots('?limit=5000&page=3')).json().limit, 1000);
    for (const bad of ['?limit=0', '?limit=-1', '?limit=x', '?page=1.5', '?page=-1', '?page=1&page=2']) {
      const answer = await roots(bad);
      assert.equal(answer.statusCode, 400, bad);
      assert.deepEqual(Object.keys(answer.json()), ['error']);
    }
  });

  test('proof: 400, 404, and 200 with the error text of an open epoch', async () => {
    const proof = (index: string) => get(`/transparency/indexer/${AT}/proof/${index}`);
    for (const bad of ['0', '-1', 'x', '1.5', '99999999999999999999'])
      assert.equal((await proof(bad)).statusCode, 400, bad);
    const missing = await proof('99');
    assert.equal(missing.statusCode, 404);
    assert.deepEqual(missing.json(), { error: 'block 99 is not recorded' });
    assert.deepEqual((await proof('5')).json(), { error: 'epoch not yet committed' });
    assert.deepEqual((await get(`/transparency/indexer/${AT}/root/latest`)).json(), { epoch: null, merkle_root: null });
  });

  test('429 RATE_LIMITED: transparency, with the header fields', async () => {
    const remoteAddress = '192.0.2.9';
    const url = `/transparency/indexer/${AT}/root/latest`;
    for (let count = 0; count < 600; count++) assert.equal((await app.inject({ url, remoteAddress })).statusCode, 200);
    const refused = await app.inject({ url, remoteAddress: '::ffff:192.0.2.9' });
    assert.equal(refused.statusCode, 429);
    assert.ok(Number(refused.headers['retry-after']) > 0);
    assert.match(String(refused.headers['ratelimit-policy']), /^"transparency";q=600;w=60$/);
    assert.match(String(refused.headers['ratelimit']), /^"transparency";r=0;t=\d+$/);
    assert.deepEqual(Object.keys(refused.json()), ['error']);
    assert.equal((await app.inject({ url, remoteAddress: '192.0.2.10' })).statusCode, 200);
  });

  test('subscribe without an upgrade is 400, a wrong sync_mode too', async () => {
    assert.equal((await get(`/subscribe/indexer/${AT}`)).statusCode, 400);
    assert.equal((await get(`/subscribe/indexer/${AT}?sync_mode=some`)).statusCode, 400);
    assert.equal((await get(`/subscribe/decoder/${AT}?sync_mode=infra-only`)).statusCode, 400);
  });

  test('a request that is no HTTP gets a JSON 400', async () => {
    await app.listen({ host: '127.0.0.1', port: 0 });
    const socket = connect(Number((app.server.address() as { port: number }).port), '127.0.0.1');
    socket.write('NONSENSE\r\n\r\n');
    const answer = await text(socket);
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.deepEqual(JSON.parse(answer.split('\r\n\r\n')[1] ?? ''), { error: 'malformed HTTP request' });
  });
});

test('503 with Retry-After: before discovery, before the first report, behind an open circuit', async () => {
  const early = await openHouse({ reports: [], discovered: false });
  const silent = await openHouse({ reports: [], known: [INDEXER] });
  const open = await openHouse({ reports: [reportOf(INDEXER, { circuit: 'open' })] });
  for (const [house, url] of [
    [early, `/status/indexer/${AT}`],
    [silent, `/status/indexer/${AT}`],
    [open, `/schema/indexer/${AT}`],
    [open, `/snapshot/indexer/${AT}`],
    [open, `/transparency/indexer/${AT}/roots`]
  ] as const) {
    const answer = await house.app.inject(url);
    assert.equal(answer.statusCode, 503, url);
    assert.ok(Number(answer.headers['retry-after']) > 0);
  }
  const health = await open.app.inject('/health');
  assert.equal(health.statusCode, 503);
  assert.equal(health.json().status, 'degraded');
  assert.equal((await open.app.inject(`/status/indexer/${AT}`)).statusCode, 200);
  assert.equal((await silent.app.inject('/health')).json().databases[0].circuit, null);
});

test('500 INTERNAL says nothing of its reason', async () => {
  const { app } = await openHouse({
    answers: {
      'schema.read': () => {
        throw new Error('password of root@db7');
      }
    }
  });
  const answer = await app.inject(`/schema/indexer/${AT}`);
  assert.equal(answer.statusCode, 500);
  assert.doesNotMatch(answer.body, /root@db7/);
});

describe('client mode', async () => {
  const halt = { block_index: 5, reason: 'hash mismatch', mismatches: {}, sources: [], detected_at: '2026-01-02' };
  const report = reportOf(INDEXER, {
    mode: 'client',
    phase: 'halted',
    replica: {
      complete: true,
      percent: null,
      halt,
      verification: 'verified',
      verifiedHeight: 4,
      verifiedAt: '2026-01-02T03:04:05.000Z',
      repairs: 2,
      sources: [],
      reorgs: 0
    }
  });
  let was: unknown = halt;
  const { app } = await openHouse({
    config: { SYNC_MODE: 'client', SYNC_API_KEY: 'k1' },
    reports: [report],
    answers: { 'transparency.roots': (body: object) => ({ ...body, total: 0, results: [] }) },
    clearHalt: async () => ({ was })
  });
  const ask = async (url: string, method: InjectOptions['method'] = 'GET') =>
    app.inject({ method, url, headers: BEARER });

  test('403 WRONG_MODE for what only a server has, after 400 and before 404', async () => {
    for (const path of [
      `/schema/indexer/${AT}`,
      `/snapshot/indexer/${AT}`,
      `/snapshot/indexer/${AT}/since/5`,
      `/subscribe/indexer/${AT}`,
      '/snapshot/indexer/no/where'
    ])
      assert.equal((await ask(path)).statusCode, 403, path);
    assert.equal((await ask(`/schema/nonsense/${AT}`)).statusCode, 400);
    for (const tail of ['proof/1', 'root/latest']) {
      const answer = await ask(`/transparency/indexer/${AT}/${tail}`);
      assert.equal(answer.statusCode, 403);
      assert.deepEqual(answer.json(), { error: 'transparency log only available in server mode' });
      assert.deepEqual((await ask(`/transparency/decoder/${AT}/${tail}`)).json(), { error: INDEXER_ONLY });
    }
    assert.equal((await ask(`/transparency/indexer/${AT}/roots`)).statusCode, 200);
  });

  test('status shows the state of the replica', async () => {
    const { last_updated, ...status } = (await ask(`/status/indexer/${AT}`)).json();
    assert.ok(last_updated);
    assert.deepEqual(status, {
      ...INDEXER,
      block_height: 7,
      block_time: 1_700_000_000,
      ...INDEXER_HASHES,
      lag_blocks: 0,
      poll_error_count: 0,
      phase: 'halted',
      percent: null,
      halted: true,
      reason: 'hash mismatch',
      verification: 'verified',
      verified_height: 4,
      verified_at: '2026-01-02T03:04:05.000Z',
      repairs: 2
    });
    assert.equal((await ask('/health')).statusCode, 200);
  });

  test('POST /halt/clear', async () => {
    const cleared = await ask(`/halt/clear/indexer/${AT}`, 'POST');
    assert.deepEqual(cleared.json(), {
      ok: true,
      cleared: true,
      was: halt,
      note: 'restart the service for a clean catch-up'
    });
    was = null;
    const again = await ask(`/halt/clear/indexer/${AT}`, 'POST');
    assert.equal(again.json().halted, false);
    assert.equal((await ask(`/halt/clear/decoder/${AT}`, 'POST')).statusCode, 404);
    assert.equal((await app.inject({ method: 'POST', url: `/halt/clear/indexer/${AT}` })).statusCode, 401);
  });
});
