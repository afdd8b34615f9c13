import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fastify } from 'fastify';
import { ERRORS } from '../../../src/errors.ts';
import { errorHandler } from '../../../src/service/errors.ts';
import { INDEXER, openFrontDoor, reportOf } from '../../support/sync/front-door.ts';

const BEARER = { authorization: 'Bearer k1' };
const AT = 'bitcoin/regtest';

test('400, 413 and 415 of a body have the JSON error body', async () => {
  const { app } = await openFrontDoor({ config: { SYNC_API_KEY: 'k1' } });
  for (const [type, payload, status] of [
    ['application/json', '{', 400],
    ['application/json', `"${'x'.repeat(20_000)}"`, 413],
    ['text/nonsense', 'x', 415]
  ] as const) {
    const answer = await app.inject({
      method: 'POST',
      url: `/debug/actors/indexer/${AT}/kill`,
      headers: { ...BEARER, 'content-type': type },
      payload
    });
    assert.equal(answer.statusCode, status);
    assert.match(String(answer.headers['content-type']), /^application\/json/);
    assert.equal(typeof answer.json().error, 'string');
  }
});

test('404 as JSON for unknown paths, methods, and the earlier paths without a database type', async () => {
  const { app } = await openFrontDoor();
  for (const [method, url] of [
    ['GET', '/nowhere'],
    ['POST', '/health'],
    ['GET', `/snapshot/${AT}`],
    ['GET', `/schema/${AT}`],
    ['GET', `/status/${AT}`],
    ['GET', `/subscribe/${AT}`],
    ['GET', `/transparency/${AT}/roots`]
  ] as const) {
    const answer = await app.inject({ method, url });
    assert.equal(answer.statusCode, 404, url);
    assert.deepEqual(answer.json(), { error: 'not found' }, url);
  }
});

test('400 dbType before 404 combination', async () => {
  const { app } = await openFrontDoor();
  for (const path of ['status', 'schema', 'snapshot', 'digest']) {
    const bad = await app.inject(`/${path}/indexers/nochain/regtest`);
    assert.equal(bad.statusCode, 400);
    assert.deepEqual(bad.json(), { error: 'dbType must be indexer or decoder', code: 'REQUEST_INVALID' });
    const unknown = await app.inject(`/${path}/indexer/nochain/regtest`);
    assert.equal(unknown.statusCode, 404);
    assert.deepEqual(unknown.json(), { error: 'chain/network not found', code: 'DATABASE_UNKNOWN' });
  }
});

test('400 for what is no HTTP', async () => {
  const { app } = await openFrontDoor();
  await app.listen({ host: '127.0.0.1', port: 0 });
  const socket = connect(Number((app.server.address() as { port: number }).port), '127.0.0.1');
  socket.write('NONSENSE\r\n\r\n');
  const answer = await text(socket);
  assert.match(answer, /^HTTP\/1\.1 400 /);
  assert.deepEqual(JSON.parse(answer.split('\r\n\r\n')[1] ?? ''), { error: 'malformed HTTP request' });
});

test('an error outside of the table has the code of its status in a service whose errors always have one', async () => {
  const app = fastify();
  app.setErrorHandler(errorHandler({ withCode: 'always' }));
  app.post('/', async () => 'taken');
  const headers = { 'content-type': 'application/json' };
  const answer = await app.inject({ method: 'POST', url: '/', headers, payload: '{' });
  assert.deepEqual([answer.statusCode, answer.json().code], [400, 'BAD_REQUEST']);
  const nonsense = await app.inject({
    method: 'POST',
    url: '/',
    headers: { 'content-type': 'text/nonsense' },
    payload: 'x'
  });
  assert.deepEqual([nonsense.statusCode, nonsense.json().code], [415, 'UNSUPPORTED_MEDIA_TYPE']);
});

test('503 with Retry-After: before discovery, before the first report, behind an open circuit', async () => {
  const early = await openFrontDoor({ reports: [], discovered: false });
  const silent = await openFrontDoor({ reports: [], known: [INDEXER] });
  const open = await openFrontDoor({ reports: [reportOf(INDEXER, { circuit: 'open' })] });
  for (const [frontDoor, url] of [
    [early, `/status/indexer/${AT}`],
    [silent, `/status/indexer/${AT}`],
    [open, `/schema/indexer/${AT}`],
    [open, `/snapshot/indexer/${AT}`],
    [open, `/digest/indexer/${AT}`],
    [open, `/transparency/indexer/${AT}/roots`]
  ] as const) {
    const answer = await frontDoor.app.inject(url);
    assert.equal(answer.statusCode, 503, url);
    assert.ok(Number(answer.headers['retry-after']) > 0);
  }
});

test('500 INTERNAL says nothing of its reason', async () => {
  const { app } = await openFrontDoor({
    answers: {
      'schema.read': () => {
        throw new Error('password of root@db7');
      }
    }
  });
  const answer = await app.inject(`/schema/indexer/${AT}`);
  assert.equal(answer.statusCode, 500);
  assert.deepEqual(answer.json(), { error: 'internal error', code: 'INTERNAL' });
});

test('the remedy of an error that any service may answer with names no variable of one of them', () => {
  for (const code of ['ANSWERS_WAITING', 'RATE_LIMITED', 'HOST_UNKNOWN', 'ORIGIN_REFUSED'] as const)
    assert.doesNotMatch(ERRORS[code].hint, /\b(?:SYNC|HUB|DECODER|INDEXER|EXPLORER|ENCODER|UTXO|MINER)_[A-Z]/, code);
});
