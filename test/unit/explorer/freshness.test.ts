import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fastify } from 'fastify';
import { chainNetwork } from '../../../src/coin/chains.ts';
import type { Coin } from '../../../src/explorer/coins.ts';
import { questionKey, tellFreshness } from '../../../src/explorer/routes/freshness.ts';

test('another release, and another newest block, has another ETag for the same answer: its form may be another one', async () => {
  const coin = { network: chainNetwork('bitcoin', 'regtest'), report: () => null } as unknown as Coin;
  const entry = { key: 'blocks', coin, height: 7, mark: 'a'.repeat(16), isSettled: true, isProvisional: false };
  const app = fastify();
  app.get<{ Params: { version: string } }>('/:version', async (request, reply) =>
    tellFreshness(request, reply, { ...entry, version: request.params.version }) ? reply.code(304).send() : 'answer'
  );
  const ask = async (version: string, known?: string) =>
    await app.inject({ url: `/${version}`, headers: known === undefined ? {} : { 'if-none-match': known } });
  const { etag, 'cache-control': kept } = (await ask('1.0.0')).headers;
  assert.equal(kept, 'public, max-age=86400, immutable', 'a day and not a year');
  assert.equal((await ask('1.0.0', String(etag))).statusCode, 304);
  assert.equal((await ask('1.0.1', String(etag))).statusCode, 200);
  entry.mark = 'b'.repeat(16);
  assert.equal((await ask('1.0.0', String(etag))).statusCode, 200, 'another block is the newest, whatever it has');
});

test('an answer names its lag if the decoder knows its block, and only then', async () => {
  let tips: { height: number; decoderTip: number | null } | null = null;
  const coin = { network: chainNetwork('bitcoin', 'regtest'), report: () => tips } as unknown as Coin;
  const entry = { key: 'blocks', coin, height: 7, mark: 'a'.repeat(16), isSettled: true, isProvisional: false };
  const app = fastify();
  app.get('/', async (request, reply) => (tellFreshness(request, reply, { ...entry, version: '1' }) ? '' : 'answer'));
  const lag = async (height: number, decoderTip: number | null) => {
    tips = { height, decoderTip };
    return (await app.inject('/')).headers['x-lag-blocks'];
  };
  assert.equal(await lag(7, 9), '2');
  assert.equal(await lag(7, 5), undefined, 'the decoder reads its chain again');
  assert.equal(await lag(7, null), undefined);
  assert.equal(await lag(6, 6), '0', 'the block came after the last look at the tips');
});

test('answers with rows that a hub or validators feed between blocks have no ETag and are not kept', () => {
  const keyOf = (method: string) => {
    const question = { method, parameters: {}, page: 1, limit: 1, order: 'desc', format: 'json' } as const;
    return questionKey(question);
  };
  for (const method of ['price_snapshots', 'oracle_prices', 'cross_chain_matches', 'anchor_reward_attestations'])
    assert.equal(keyOf(method), null, method);
  for (const method of ['network', 'checkpoint', 'checkpoints', 'mempool']) assert.equal(keyOf(method), null, method);
  for (const method of ['blocks', 'balances', 'token']) assert.notEqual(keyOf(method), null, method);
});
