import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PlatformError } from '../../../../src/errors.ts';
import { openFrontDoor } from '../../../support/sync/front-door.ts';

const AT = 'bitcoin/regtest';
const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

describe('server mode', async () => {
  const asked: unknown[] = [];
  const { app } = await openFrontDoor({
    answers: {
      'lookups.page': (order: { table: string }) => {
        asked.push(order);
        if (order.table === 'sends') throw new PlatformError('REQUEST_INVALID', { reason: 'sends is no lookup table' });
        return { body: bytes({ table: order.table }), maxId: 9, hasMore: true };
      },
      'dispensers.read': () => ({ body: bytes({ rows: [] }), height: 7 })
    }
  });
  const rows = async (tail: string) => app.inject(`/snapshot-rows/decoder/${AT}/${tail}`);

  test("200 snapshot-rows: the actor's body and the two headers; 50000 rows by default, 100000 at most", async () => {
    const answer = await rows('index_addresses');
    assert.equal(answer.statusCode, 200);
    assert.deepEqual(answer.json(), { table: 'index_addresses' });
    assert.match(String(answer.headers['content-type']), /^application\/json/);
    assert.equal(answer.headers['x-max-id'], '9');
    assert.equal(answer.headers['x-has-more'], 'true');
    await rows('index_addresses?after_id=0&limit=7');
    await rows('index_addresses?after_id=12&limit=1000000');
    const order = { table: 'index_addresses', coding: null };
    assert.deepEqual(asked, [
      { ...order, afterId: null, limit: 50_000 },
      { ...order, afterId: '0', limit: 7 },
      { ...order, afterId: '12', limit: 100_000 }
    ]);
  });

  test('200 in the coding that the client names, as it is for one that names none', async () => {
    for (const [header, coding] of [
      ['gzip, zstd', 'gzip'],
      ['gzip;q=0.5, zstd', 'zstd'],
      ['*', 'gzip'],
      ['identity', undefined],
      ['gzip;q=0', undefined]
    ] as const)
      for (const path of [`/snapshot-rows/decoder/${AT}/pubkeys`, `/snapshot-dispensers/decoder/${AT}`]) {
        const { headers } = await app.inject({ url: path, headers: { 'accept-encoding': header } });
        assert.deepEqual([headers['content-encoding'], headers.vary], [coding, 'Accept-Encoding'], `${header} ${path}`);
      }
  });

  test('400 snapshot-rows: other tables, ill-formed names and numbers', async () => {
    const other = await rows('sends');
    assert.equal(other.statusCode, 400);
    assert.equal(other.json().error, 'sends is no lookup table');
    const before = asked.length;
    for (const bad of ['a-b', 'a%60b', 'x?after_id=-1', 'x?after_id=x', 'x?limit=0', 'x?limit=1.5'])
      assert.equal((await rows(bad)).statusCode, 400, bad);
    assert.equal(asked.length, before, 'nothing is asked');
  });

  test('200 snapshot-dispensers with the height that it was read at; 400 for an indexer', async () => {
    const answer = await app.inject(`/snapshot-dispensers/decoder/${AT}`);
    assert.deepEqual(answer.json(), { rows: [] });
    assert.equal(answer.headers['x-block-height'], '7');
    const indexer = await app.inject(`/snapshot-dispensers/indexer/${AT}`);
    assert.equal(indexer.statusCode, 400);
    assert.equal(indexer.json().error, 'dispensers are decoder-only');
  });

  test('404 for an unknown combination, 429 after 600 in a minute', async () => {
    assert.equal((await app.inject('/snapshot-rows/decoder/no/where/blocks')).statusCode, 404);
    assert.equal((await app.inject('/snapshot-dispensers/decoder/no/where')).statusCode, 404);
    const request = { url: `/snapshot-dispensers/decoder/${AT}`, remoteAddress: '192.0.2.7' };
    for (let count = 0; count < 600; count++) assert.equal((await app.inject(request)).statusCode, 200);
    const refused = await app.inject(request);
    assert.equal(refused.statusCode, 429);
    assert.equal(refused.headers['ratelimit-policy'], '"snapshot-rows";q=600;w=60');
  });
});

test('403 in client mode, after 400', async () => {
  const { app } = await openFrontDoor({ config: { SYNC_MODE: 'client' } });
  for (const [path, status] of [
    [`/snapshot-rows/decoder/${AT}/pubkeys`, 403],
    [`/snapshot-rows/x/${AT}/pubkeys`, 400],
    [`/snapshot-dispensers/decoder/${AT}`, 403],
    [`/snapshot-dispensers/indexer/${AT}`, 400]
  ] as const)
    assert.equal((await app.inject(path)).statusCode, status, path);
});
