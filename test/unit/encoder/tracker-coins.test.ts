import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { sentKeyOf } from '../../../src/config/service-url.ts';
import { encoderVariables } from '../../../src/config/services/encoder.ts';
import { explorerVariables } from '../../../src/config/services/explorer.ts';
import { readTrackedCoins } from '../../../src/encoder/tracker/tracker-coins.ts';
import { readTrackerHealth } from '../../../src/encoder/tracker/tracker-health.ts';
import { type ErrorCode, PlatformError } from '../../../src/errors.ts';
import { publicFailure } from '../../../src/service/errors.ts';

const COIN = { txid: 'ab'.repeat(32), vout: 1, value: '5', height: 7 };
const SYNC = { synced: true, lag: 0, committed_height: 9 };
const HASH = 'ef'.repeat(32);
/** The encoder's node. */
const NODE = { height: 9, hashAt: async () => HASH };
const page = (sync: object) => JSON.stringify({ utxos: [COIN], sync: { ...SYNC, ...sync } });

let answer: readonly [status: number, body: string] = [200, page({})];
/** Keys that were sent to the tracker. */
const keys: unknown[] = [];
const server = createServer(({ headers }, response) => {
  keys.push(headers['x-api-key']);
  response.writeHead(answer[0], answer[0] < 400 ? { location: '/other' } : {}).end(answer[1]);
});
let url = '';
before(async () => {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => server.close());

const CAUSE = 'one of the two nodes is stuck, or they are of different chains';

/** Returns the code and the text that a caller reads. */
async function failureFor(given: typeof answer, at = url): Promise<readonly [ErrorCode, string]> {
  answer = given;
  const fault = await readTrackedCoins({ url: at }, '51', NODE).then(
    () => assert.fail('it told coins'),
    (caught: PlatformError) => caught
  );
  const shown = publicFailure(fault);
  assert.ok(!shown.includes('127.0.0.1'), shown);
  return [fault.code, shown];
}

test('a tracker that has every block tells coins', async () => {
  answer = [200, page({})];
  assert.deepEqual((await readTrackedCoins({ url }, '51', NODE)).coins, [
    { txid: COIN.txid, vout: 1, amount: 5n, transaction: null, height: 7 }
  ]);
  for (const mempool_ready of [true, false]) {
    answer = [200, page({ mempool_ready })];
    assert.equal((await readTrackedCoins({ url }, '51', NODE)).lacksMempool, !mempool_ready);
  }
});

test('a tracker with blocks that the node has got since its height was asked tells coins; with others it does not', async () => {
  const tracked = { committed_height: 14, committed_hash: HASH };
  answer = [200, page(tracked)];
  assert.equal((await readTrackedCoins({ url }, '51', NODE)).coins.length, 1);
  const hashAt = async (height: number) => {
    if (height > NODE.height) throw new PlatformError('NODE_REFUSED', { reason: 'Block height out of range' });
    return HASH;
  };
  await assert.rejects(readTrackedCoins({ url }, '51', { ...NODE, hashAt }), { code: 'TRACKER_NOT_READY' });
  answer = [200, page({ ...tracked, committed_hash: 'aa'.repeat(32) })];
  await assert.rejects(readTrackedCoins({ url }, '51', NODE), { code: 'TRACKER_NOT_READY' });
});

test('TRACKER_BEHIND, TRACKER_HALTED, TRACKER_NOT_READY: each says why, and names no host', async () => {
  for (const [given, code, says] of [
    [[200, page({ lag: 5 })], 'TRACKER_BEHIND', 'is 5 blocks behind its node'],
    [[200, page({ committed_height: 4 })], 'TRACKER_BEHIND', `lacks 5 blocks that the encoder's node has: ${CAUSE}`],
    [[200, page({ committed_height: 14 })], 'TRACKER_NOT_READY', `has 5 blocks more than the encoder's node: ${CAUSE}`],
    [
      [200, page({ committed_hash: 'aa'.repeat(32) })],
      'TRACKER_NOT_READY',
      "has another block 9 than the encoder's node: they are of different chains"
    ],
    [[200, page({ synced: false, halted: true })], 'TRACKER_HALTED', 'is halted until its operator acts'],
    [[200, page({ lag: null })], 'TRACKER_NOT_READY', 'does not know yet how far it is behind its node'],
    [[503, '{"error":"x","code":"COINS_INCOMPLETE"}'], 'TRACKER_NOT_READY', 'has not finished its first sync']
  ] as const)
    assert.deepEqual(await failureFor(given), [code, `the UTXO tracker ${says}`]);
});

test('ANSWERS_WAITING: the tracker answers others first, or has had enough questions; it is there', async () => {
  for (const given of [
    [429, '{"error":"x","code":"RATE_LIMITED"}'],
    [503, '{"error":"x","code":"ANSWERS_WAITING"}']
  ] as const)
    assert.equal((await failureFor(given))[0], 'ANSWERS_WAITING');
});

test('TRACKER_UNAVAILABLE: errors, answers of others, and none', async () => {
  for (const [given, says] of [
    [[503, '{"error":"x","code":"ACTOR_BUSY"}'], 'answers 503 (ACTOR_BUSY)'],
    [[502, '<html>'], 'answers 502'],
    [[200, '{"utxos":'], 'gives an answer that is not a page of coins'],
    [[200, '{"utxos":[]}'], 'gives an answer that is not a page of coins']
  ] as const)
    assert.deepEqual(await failureFor(given), ['TRACKER_UNAVAILABLE', `the UTXO tracker ${says}`]);
  assert.deepEqual(await failureFor([200, ''], 'http://127.0.0.1:1'), [
    'TRACKER_UNAVAILABLE',
    'the UTXO tracker does not answer'
  ]);
});

test('the largest coin is found whatever page it is on', async () => {
  const many = Array.from({ length: 10_000 }, (_, vout) => ({ ...COIN, vout }));
  const pages = Array.from({ length: 12 }, (_, at) => {
    const last = at === 11 ? { utxos: [{ ...COIN, value: '900', txid: 'ff'.repeat(32) }] } : { utxos: many };
    return JSON.stringify({ ...last, ...(at < 11 && { nextCursor: (16 + at).toString(16).repeat(36) }), sync: SYNC });
  });
  let asked = 0;
  const paged = createServer((_, response) => response.end(pages[asked++]));
  await new Promise<void>((resolve) => void paged.listen(0, '127.0.0.1', resolve));
  const at = `http://127.0.0.1:${(paged.address() as AddressInfo).port}`;
  const { coins } = await readTrackedCoins({ url: at }, '51', NODE);
  paged.close();
  assert.deepEqual([asked, coins[0]!.amount], [12, 900n]);
  assert.ok(coins.length < 60_000, 'what no transaction takes is not kept');
});

test('health and calls have one rule: what refuses calls is told, and makes the encoder not ready', async () => {
  for (const [sync, fault] of [
    [{ committed_hash: HASH }, undefined],
    [{ synced: false }, 'the UTXO tracker waits for its node or database'],
    [
      { synced: false, alarm: { code: 'DATABASE_UNAVAILABLE', reason: 'r', remedy: 'r', for_s: 3 } },
      'the UTXO tracker waits, and says why in its /status: DATABASE_UNAVAILABLE'
    ],
    [{ committed_height: 4 }, `the UTXO tracker lacks 5 blocks that the encoder's node has: ${CAUSE}`],
    [
      { committed_hash: 'aa'.repeat(32) },
      "the UTXO tracker has another block 9 than the encoder's node: they are of different chains"
    ]
  ] as const) {
    const result = { ...SYNC, mempool_ready: true, ...sync };
    answer = [200, JSON.stringify({ jsonrpc: '2.0', id: 1, result })];
    const { tracker_synced, tracker_fault } = await readTrackerHealth({ url }, NODE);
    assert.deepEqual([tracker_synced, tracker_fault], [fault === undefined, fault]);
  }
});

test('a tracker is sent its key where one is set here, with each question, and no place that it points to or that the hub names', async () => {
  keys.length = 0;
  answer = [200, page({})];
  await readTrackedCoins({ url, apiKey: 'k' }, '51', NODE);
  await readTrackerHealth({ url, apiKey: 'k' }, NODE);
  await readTrackedCoins({ url }, '51', NODE);
  assert.deepEqual(keys, ['k', 'k', undefined]);
  answer = [302, ''];
  await assert.rejects(readTrackedCoins({ url, apiKey: 'k' }, '51', NODE), { code: 'TRACKER_UNAVAILABLE' });
  assert.equal(keys.length, 4);
  for (const [prefix, key] of [
    ['UTXO_TRACKER', encoderVariables.UTXO_TRACKER_API_KEY],
    ['INDEXER', explorerVariables.INDEXER_API_KEY]
  ] as const) {
    assert.equal(key.parse('old,new'), 'old');
    assert.equal(sentKeyOf(prefix, 'k', { env: { [`${prefix}_URL`]: 'here' } }), 'k');
    assert.equal(sentKeyOf(prefix, 'k', { env: { [`${prefix}_API_PORT`]: '3' } }), 'k');
    assert.equal(sentKeyOf(prefix, 'k', { env: {} }), undefined);
  }
});

test('TRACKER_UNAVAILABLE: pages whose cursor does not advance are not asked for again and again', async () => {
  const before = keys.length;
  const endless = JSON.stringify({ utxos: [], nextCursor: '07'.repeat(36), sync: SYNC });
  const [code, message] = await failureFor([200, endless]);
  assert.equal(code, 'TRACKER_UNAVAILABLE');
  assert.match(message, /the UTXO tracker gives pages that come to no end/);
  assert.equal(keys.length - before, 2);
});

test('pages of two states of the chain are not put together, and no coin is told twice', async () => {
  const other = { ...COIN, vout: 2, value: '7' };
  const at = (committed_hash: string) => ({ ...SYNC, committed_hash });
  const pages = [
    { utxos: [COIN], nextCursor: '0a'.repeat(36), sync: at('aa'.repeat(32)) },
    { utxos: [other], sync: at(HASH) },
    { utxos: [COIN, other], nextCursor: '0b'.repeat(36), sync: at(HASH) },
    { utxos: [other], sync: at(HASH) }
  ];
  let asked = 0;
  const paged = createServer((_, response) => response.end(JSON.stringify(pages[asked++])));
  await new Promise<void>((resolve) => void paged.listen(0, '127.0.0.1', resolve));
  const node = { height: 9, hashAt: async () => pages[asked - 1]!.sync.committed_hash };
  const { coins } = await readTrackedCoins(
    { url: `http://127.0.0.1:${(paged.address() as AddressInfo).port}` },
    '51',
    node
  );
  paged.close();
  assert.deepEqual([asked, coins.map(({ amount }) => amount)], [4, [7n, 5n]]);
});
