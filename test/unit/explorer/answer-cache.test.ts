import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import type { Coin } from '../../../src/explorer/coins.ts';
import type { Question, Reply } from '../../../src/explorer/question.ts';
import type { ExplorerReport } from '../../../src/explorer/report.ts';
import { AnswerCache } from '../../../src/explorer/routes/answer-cache.ts';

const QUESTION: Question = { method: 'blocks', parameters: {}, page: 1, limit: 10, order: 'desc', format: 'json' };
const KEPT_BYTES = 10_000;

let reported: string | null;
let written: string;
let reads: number;
let coin: Coin;
beforeEach(() => {
  reported = written = 'first';
  reads = 0;
  const report = (): ExplorerReport => ({
    state: 'available',
    circuit: 'closed',
    height: 1,
    decoderTip: 1,
    mark: reported,
    lastError: null,
    upstream: null
  });
  const read = async (): Promise<Reply> => {
    reads++;
    return { body: 'x'.repeat(100), height: 1, mark: written, isSettled: false, isProvisional: false, next: null };
  };
  const askIndexer = () => Promise.reject(new Error('no caller asks'));
  coin = { network: chainNetwork('litecoin', 'regtest'), report, read, askIndexer, gone: new AbortController().signal };
});

test('an answer is read once until the next block is reported', async () => {
  const cache = new AnswerCache(coin, KEPT_BYTES);
  for (let time = 0; time < 3; time++) assert.equal((await cache.read(QUESTION, 'a')).mark, 'first');
  assert.equal(reads, 1);
  reported = written = 'second';
  assert.equal((await cache.read(QUESTION, 'a')).mark, 'second');
  await cache.read(QUESTION, 'a');
  assert.equal(reads, 2);
});

test('after an answer of a newer block no older one is given, before it is reported', async () => {
  const cache = new AnswerCache(coin, KEPT_BYTES);
  await cache.read(QUESTION, 'a');
  written = 'second';
  assert.equal((await cache.read(QUESTION, 'b')).mark, 'second');
  assert.equal(cache.mark, null);
  assert.equal((await cache.read(QUESTION, 'a')).mark, 'second');
  reported = 'second';
  assert.equal(cache.mark, 'second');
});

test('no older answer is given after one of a newer block, however long that is not reported', async (t) => {
  let now = performance.now();
  t.mock.method(performance, 'now', () => now);
  const cache = new AnswerCache(coin, KEPT_BYTES);
  await cache.read(QUESTION, 'a');
  written = 'second';
  for (let time = 0; time < 4; time++) {
    assert.equal((await cache.read(QUESTION, `new ${time}`)).mark, 'second');
    assert.equal(cache.mark, null);
    assert.equal(cache.kept('a'), null);
    now += 5_000;
  }
});

test('kept answers are bounded, and none is kept while no block is known', async () => {
  const cache = new AnswerCache(coin, KEPT_BYTES);
  for (let at = 0; at < 100; at++) await cache.read(QUESTION, `key ${at}`);
  await cache.read(QUESTION, 'key 0');
  assert.equal(reads, 101);
  reported = null;
  await cache.read(QUESTION, 'key 0');
  assert.equal(reads, 102);
  const none = new AnswerCache(coin, 0);
  for (let time = 0; time < 2; time++) await none.read(QUESTION, 'a');
  assert.equal(reads, 104);
});
