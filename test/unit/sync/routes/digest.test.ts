import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PlatformError } from '../../../../src/errors.ts';
import type { DigestPart, DigestQuery } from '../../../../src/wire/data/digest.ts';
import { INDEXER, openFrontDoor, reportOf } from '../../../support/sync/front-door.ts';

const AT = 'bitcoin/regtest';
const URL = `/digest/indexer/${AT}`;
const KEY = 'ab'.repeat(16);

describe('server mode', async () => {
  const asked: DigestQuery[] = [];
  const { app } = await openFrontDoor({
    answers: {
      'digest.key': () => ({ body: '{"key":"k"}' }),
      'digest.challenge': ({ key }: { key: string }) => ({ body: JSON.stringify({ key }) }),
      'digest.read': ({ query }: { query: DigestQuery }) => {
        asked.push(query);
        if (query.table === 'large') throw new PlatformError('RANGE_TOO_LARGE', { reason: 'too many' });
        return { body: '{"tables":[]}' };
      }
    }
  });

  test("the actor's text is passed on, and the parameters are what it is asked", async () => {
    const range = { from: -1, to: 4_294_967_295, block: null };
    const expected: [string, DigestQuery][] = [
      ['', { table: null, range: null, rows: false }],
      [`?key=${KEY}`, { table: null, range: null, rows: false, key: KEY }],
      [`?table=sends&key=${KEY}`, { table: 'sends', range: null, rows: false, key: KEY }],
      [`?table=sends&from=-1&to=4294967295&key=${KEY}`, { table: 'sends', range, rows: false, key: KEY }],
      [
        `?table=sends&from=0&to=9&block=7&rows=1&key=${KEY}`,
        { table: 'sends', range: { from: 0, to: 9, block: 7 }, rows: true, key: KEY }
      ]
    ];
    for (const [parameters, query] of expected) {
      const answer = await app.inject(`${URL}${parameters}`);
      assert.equal(answer.statusCode, 200, answer.body);
      assert.equal(answer.body, '{"tables":[]}');
      assert.match(String(answer.headers['content-type']), /^application\/json/);
      assert.deepEqual(asked.at(-1), query);
    }
  });

  test('400 before anything is asked', async () => {
    const count = asked.length;
    for (const bad of [
      '?from=1&to=2',
      '?table=sends',
      `?table=sends&key=${KEY.toUpperCase()}`,
      '?key=ab',
      '?settled=1',
      '?table=sends&from=1&to=2&settled=1',
      '?table=sends&from=1',
      '?table=sends&to=1',
      '?table=sends&rows=1',
      '?table=a%60b',
      '?table=',
      '?table=sends&from=x&to=1',
      '?table=sends&from=-2&to=1',
      '?table=sends&from=1&to=9999999999999999',
      '?table=sends&from=1&to=2&rows=2',
      '?table=sends&from=1&to=2&block=-1',
      '?table=sends&table=credits',
      '?rows=1'
    ]) {
      const answer = await app.inject(`${URL}${bad}`);
      assert.equal(answer.statusCode, 400, `${bad}: ${answer.body}`);
      assert.equal(typeof answer.json().error, 'string');
    }
    assert.equal(asked.length, count);
  });

  test('400 dbType, 404 combination, 413 with its reason', async () => {
    assert.equal((await app.inject(`/digest/index/${AT}`)).statusCode, 400);
    assert.equal((await app.inject('/digest/indexer/no/where')).statusCode, 404);
    const large = await app.inject(`${URL}?table=large&key=${KEY}`);
    assert.deepEqual([large.statusCode, large.json()], [413, { error: 'too many', code: 'RANGE_TOO_LARGE' }]);
  });

  test('429 after 600 requests in a minute', async () => {
    const remoteAddress = '192.0.2.7';
    for (let count = 0; count < 600; count++) await app.inject({ url: URL, remoteAddress });
    const refused = await app.inject({ url: URL, remoteAddress });
    assert.equal(refused.statusCode, 429);
    assert.match(String(refused.headers['ratelimit-policy']), /^"digest";q=600;w=60$/);
  });
});

test('the key of the tip, or of a part of its tables; a challenge only for an operator', async () => {
  const answers = {
    'digest.key': ({ part }: { part: DigestPart }) => ({ body: JSON.stringify({ key: 'k', part }) }),
    'digest.challenge': ({ key }: { key: string }) => ({ body: JSON.stringify({ key }) })
  };
  const { app } = await openFrontDoor({ answers });
  const partOf = async (query: string) => (await app.inject(`${URL}/key${query}`)).json().part;
  assert.equal(await partOf(''), null);
  assert.deepEqual(await partOf('?only=sends'), { only: 'sends' });
  assert.deepEqual(await partOf('?without=sends,credits'), { without: ['sends', 'credits'] });
  for (const bad of ['?only=a%60b', '?without=', '?without=a,,b'])
    assert.equal((await app.inject(`${URL}/key${bad}`)).statusCode, 400, bad);
  assert.equal((await app.inject(`${URL}/challenge/${KEY}`)).statusCode, 401, 'no key is configured');
  const locked = await openFrontDoor({ answers, config: { SYNC_API_KEY: 'k1' } });
  const headers = { authorization: 'Bearer k1' };
  const answer = await locked.app.inject({ url: `${URL}/challenge/${KEY}`, headers });
  assert.deepEqual(answer.json(), { key: KEY });
  assert.equal((await locked.app.inject({ url: `${URL}/challenge/abc`, headers })).statusCode, 400);
  assert.equal((await locked.app.inject(`${URL}/challenge/${KEY}`)).statusCode, 401);
});

test('401 without the key; 403 in client mode, after 400 and before 404', async () => {
  const locked = await openFrontDoor({ config: { SYNC_API_KEY: 'k1' } });
  assert.equal((await locked.app.inject(URL)).statusCode, 401);
  const { app } = await openFrontDoor({
    config: { SYNC_MODE: 'client' },
    reports: [reportOf(INDEXER, { mode: 'client' })]
  });
  for (const url of [URL, '/digest/indexer/no/where']) assert.equal((await app.inject(url)).statusCode, 403, url);
  assert.equal((await app.inject(`/digest/index/${AT}`)).statusCode, 400);
});

test('three hundred keys and parts that one network names leave the mailbox of the actor to others', async () => {
  let [underWay, most] = [0, 0];
  const answer = async () => {
    most = Math.max(most, ++underWay);
    await new Promise((resolve) => setTimeout(resolve, 2));
    underWay--;
    return { body: '{}' };
  };
  const { app } = await openFrontDoor({ answers: { 'digest.key': answer, 'digest.read': answer } });
  const asked = Array.from({ length: 300 }, (_, n) => [
    `${URL}?key=${n.toString(16).padStart(32, '0')}`,
    `${URL}?table=t${n}&key=${KEY}`,
    `${URL}/key?only=t${n}`
  ]).flat();
  const answers = await Promise.all(
    asked.map((url, n) => app.inject({ url, remoteAddress: `2001:db8:7:${(n % 100).toString(16)}::1` }))
  );
  assert.ok(answers.every(({ statusCode }) => statusCode === 200));
  assert.ok(most <= 16, `${most} at once`);
});

test('a key that a crowd asked for before is told at the place of whoever else asks for it', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const key = async ({ part }: { part: DigestPart }) => {
    if (part !== null) await promise;
    return { body: '{"key":"k"}' };
  };
  const { app } = await openFrontDoor({ answers: { 'digest.key': key } });
  const ask = async (remoteAddress: string, query = '') =>
    (await app.inject({ url: `${URL}/key${query}`, remoteAddress })).statusCode;
  const crowd = Array.from({ length: 40 }, (_, n) => ask(`2001:db8:7:${n}::1`, `?only=t${n}`));
  crowd.push(ask('2001:db8:7:41::1'));
  await sleep(100); // all of them have come
  const late = sleep(2_000, 'it waits behind the crowd', { ref: false });
  assert.equal(await Promise.race([ask('198.51.100.1'), late]), 200);
  resolve();
  assert.ok((await Promise.all(crowd)).every((status) => status === 200));
});
