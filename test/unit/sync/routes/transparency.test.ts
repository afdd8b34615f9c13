import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PlatformError } from '../../../../src/errors.ts';
import { INDEXER, openFrontDoor, reportOf } from '../../../support/sync/front-door.ts';

const INDEXER_ONLY = 'transparency log is indexer-only; the decoder database has no synthetic chain-of-state hashes';
const AT = 'bitcoin/regtest';
const TAILS = ['roots', 'epochs', 'proof/5', 'root/latest'];

const EPOCH = {
  id: 1,
  epoch: 1,
  start_block: 1,
  end_block: 100,
  merkle_root: 'ab',
  leaf_count: 100,
  created_at: '2026-01-02T03:04:05.000Z'
};
const PROOF = {
  blockIndex: 7,
  epoch: 1,
  leaf: 'aa',
  merkleRoot: 'ab',
  proof: [{ hash: 'cd', position: 'left' }],
  verified: true
};

describe('server mode', async () => {
  let latest: object = EPOCH;
  const { app } = await openFrontDoor({
    answers: {
      'transparency.roots': (body: { page: number; limit: number }) => ({ ...body, total: 0, results: [] }),
      'transparency.epochs': (body: { page: number; limit: number }) => ({ ...body, total: 9, results: [EPOCH] }),
      'transparency.latest': () => latest,
      'transparency.proof': ({ blockIndex }: { blockIndex: number }) => {
        if (blockIndex === 99) throw new PlatformError('LEAF_UNKNOWN', { reason: 'block 99 is not recorded' });
        return blockIndex === 7 ? PROOF : { error: 'epoch not yet committed' };
      }
    }
  });
  const get = async (tail: string) => app.inject(`/transparency/indexer/${AT}/${tail}`);

  test('400 for a decoder and 404 for an unknown chain: the exact texts, without a code', async () => {
    for (const tail of TAILS) {
      const decoder = await app.inject(`/transparency/decoder/${AT}/${tail}`);
      assert.equal(decoder.statusCode, 400);
      assert.deepEqual(decoder.json(), { error: INDEXER_ONLY });
      const unknown = await app.inject(`/transparency/indexer/litecoin/main/${tail}`);
      assert.equal(unknown.statusCode, 404);
      assert.deepEqual(unknown.json(), { error: 'chain/network not found' });
    }
  });

  test('200 roots: first page, 100 rows by default, 1000 at most', async () => {
    assert.deepEqual((await get('roots')).json(), { page: 0, limit: 100, total: 0, results: [] });
    assert.equal((await get('roots?limit=5000&page=3')).json().limit, 1000);
    assert.equal((await get('roots?limit=7&page=3')).json().page, 3);
  });

  test('400 roots: nothing but whole numbers, and no limit of 0', async () => {
    for (const bad of [
      'limit=0',
      'limit=-1',
      'limit=x',
      'limit=',
      'page=1.5',
      'page=-1',
      'page=1&page=2',
      'page=1e3'
    ]) {
      const answer = await get(`roots?${bad}`);
      assert.equal(answer.statusCode, 400, bad);
      assert.deepEqual(Object.keys(answer.json()), ['error']);
    }
    assert.match((await get('roots?limit=x')).json().error, /^limit must be a whole number of at least 1/);
  });

  test('200 proof: whole, and with the error text of an open epoch', async () => {
    assert.deepEqual((await get('proof/7')).json(), PROOF);
    const open = await get('proof/5');
    assert.equal(open.statusCode, 200);
    assert.deepEqual(open.json(), { error: 'epoch not yet committed' });
  });

  test('400 proof of no positive integer, 404 of a block that is not recorded', async () => {
    for (const bad of ['0', '-1', 'x', '1.5', '99999999999999999999']) {
      const answer = await get(`proof/${bad}`);
      assert.equal(answer.statusCode, 400, bad);
      assert.deepEqual(answer.json(), { error: 'block_index must be a whole number of at least 1' });
    }
    const missing = await get('proof/99');
    assert.equal(missing.statusCode, 404);
    assert.deepEqual(missing.json(), { error: 'block 99 is not recorded' });
  });

  test('200 epochs: a page of the committed epochs', async () => {
    assert.deepEqual((await get('epochs')).json(), { page: 0, limit: 100, total: 9, results: [EPOCH] });
    assert.equal((await get('epochs?limit=5000&page=3')).json().limit, 1000);
    assert.equal((await get('epochs?page=-1')).statusCode, 400);
  });

  test('200 root/latest: the epoch, and nulls before the first', async () => {
    assert.deepEqual((await get('root/latest')).json(), EPOCH);
    latest = { epoch: null, merkle_root: null };
    assert.deepEqual((await get('root/latest')).json(), { epoch: null, merkle_root: null });
  });

  test('429 for what is too much of a burst, though all of it was asked before the first answer', async () => {
    const request = { url: `/transparency/indexer/${AT}/root/latest`, remoteAddress: '192.0.2.8' };
    const answers = await Promise.all(Array.from({ length: 620 }, () => app.inject(request)));
    const refused = answers.filter(({ statusCode }) => statusCode === 429);
    assert.equal(refused.length, 20);
    assert.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 600);
    for (const answer of refused) {
      assert.deepEqual(Object.keys(answer.json()), ['error']);
      assert.ok(Number(answer.headers['retry-after']) > 0);
    }
  });

  test('429 after 600 in a minute per address, with the header fields, which 200 has too; 400 does not count', async () => {
    const remoteAddress = '192.0.2.9';
    const url = `/transparency/indexer/${AT}/root/latest`;
    const bad = { url: `/transparency/indexer/${AT}/proof/0`, remoteAddress };
    for (let count = 0; count < 10; count++) assert.equal((await app.inject(bad)).statusCode, 400);
    const first = await app.inject({ url, remoteAddress });
    assert.match(String(first.headers['ratelimit']), /^"transparency";r=599;t=60$/);
    for (let count = 1; count < 600; count++) assert.equal((await app.inject({ url, remoteAddress })).statusCode, 200);
    const refused = await app.inject({
      url,
      remoteAddress: '::ffff:192.0.2.9',
      headers: { 'x-forwarded-for': '1.2.3.4' }
    });
    assert.equal(refused.statusCode, 429);
    assert.ok(Number(refused.headers['retry-after']) > 0);
    assert.equal(refused.headers['ratelimit-policy'], '"transparency";q=600;w=60');
    assert.match(String(refused.headers['ratelimit']), /^"transparency";r=0;t=\d+$/);
    assert.deepEqual(Object.keys(refused.json()), ['error']);
    assert.equal((await app.inject(bad)).statusCode, 400, '400 comes before 429');
    assert.equal((await app.inject({ url, remoteAddress: '192.0.2.10' })).statusCode, 200);
  });
});

test('429 counts the address that a proxy of TRUST_PROXY names, and X-Forwarded-For from nobody else', async () => {
  const { app } = await openFrontDoor({
    config: { TRUST_PROXY: ['192.0.2.1'] },
    answers: { 'transparency.latest': () => EPOCH }
  });
  const left = async (remoteAddress: string, forwarded: string) => {
    const headers = { 'x-forwarded-for': forwarded };
    const answer = await app.inject({ url: `/transparency/indexer/${AT}/root/latest`, remoteAddress, headers });
    return Number(/r=(\d+)/.exec(String(answer.headers['ratelimit']))?.[1]);
  };
  assert.equal(await left('192.0.2.1', '203.0.113.1'), 599);
  assert.equal(await left('192.0.2.1', '203.0.113.2'), 599);
  assert.equal(await left('192.0.2.1', '198.51.100.9, 203.0.113.1'), 598, 'what comes before is the caller to forge');
  assert.equal(await left('192.0.2.2', '203.0.113.3'), 599);
  assert.equal(await left('192.0.2.2', '203.0.113.4'), 598);
});

test('503 while its tables are missing from a read-only database, said without a code', async () => {
  const { app } = await openFrontDoor({
    answers: {
      'transparency.latest': () => {
        throw new PlatformError('DATABASE_UNUSABLE', { reason: 'missing sync_meta and merkle_epochs' });
      }
    }
  });
  const answer = await app.inject(`/transparency/indexer/${AT}/root/latest`);
  assert.equal(answer.statusCode, 503);
  assert.ok(Number(answer.headers['retry-after']) > 0);
  assert.deepEqual(Object.keys(answer.json()), ['error']);
});

test('client mode: 403 with the exact text for proof and root/latest, after 400; roots is answered', async () => {
  const { app } = await openFrontDoor({
    config: { SYNC_MODE: 'client' },
    reports: [reportOf(INDEXER)],
    answers: { 'transparency.roots': (body: object) => ({ ...body, total: 0, results: [] }) }
  });
  for (const tail of ['proof/1', 'proof/x', 'root/latest']) {
    const answer = await app.inject(`/transparency/indexer/no/where/${tail}`);
    assert.equal(answer.statusCode, 403);
    assert.deepEqual(answer.json(), { error: 'transparency log only available in server mode' });
    assert.deepEqual((await app.inject(`/transparency/decoder/${AT}/${tail}`)).json(), { error: INDEXER_ONLY });
  }
  assert.equal((await app.inject(`/transparency/indexer/${AT}/roots`)).statusCode, 200);
});
