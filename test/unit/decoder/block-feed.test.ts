import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { scriptOf } from '../../../src/coin/script/address.ts';
import { markOf } from '../../../src/coin/script/script-marks.ts';
import { SortedMarks } from '../../../src/coin/script/sorted-marks.ts';
import { BlockFeed, type MarkedBlock, type WatchedRange } from '../../../src/decoder/block-feed.ts';
import { PlatformError } from '../../../src/errors.ts';
import { scanParallelism } from '../../../src/follower/range-feed.ts';

const { addresses } = chainNetwork('bitcoin', 'regtest');
const TILL = 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080';
const TILL_MARK = markOf(scriptOf(TILL, addresses)!);
const TILL_MARKS = new SortedMarks(Uint32Array.of(TILL_MARK));
const NO_MARKS = new SortedMarks();
const going = new AbortController().signal;

/** A block that opens a dispenser at the till, pays it, or does neither. */
function block(height: number, what: 'opens' | 'pays' | 'rests', hash = `hash ${height}`): MarkedBlock {
  const transaction = { hash: `${height}`, source: TILL, data: 'DISPENSER', rawData: null, pubkey: null, outputs: [] };
  const dispensers = {
    opened: [{ address: null, oracleAddress: null, expiration: null, least: 1n }],
    extendedTo: null
  };
  return {
    height,
    hash,
    time: height,
    previousHash: '',
    findings: [],
    transactions: what === 'opens' ? [{ ...transaction, dispensers }] : [],
    marks: Uint32Array.of(7, ...(what === 'pays' ? [TILL_MARK] : []))
  };
}

/** A feed of ten blocks, and what it asked for. */
function feedOf(whatOf: (height: number) => 'opens' | 'pays' | 'rests', hashOf = (height: number) => `hash ${height}`) {
  const asked: WatchedRange[] = [];
  const feed = new BlockFeed({
    versions: addresses,
    parallelism: 1,
    scan: async (range) => {
      asked.push(range);
      const blocks = Array.from({ length: range.count }, (_, index) => range.from + index);
      return { blocks: blocks.map((height) => block(height, whatOf(height), hashOf(height))), sizeBytes: range.count };
    }
  });
  return { feed, asked };
}

test('blocks from the first payment on to a dispenser that the same range opens are scanned again', async () => {
  const { feed, asked } = feedOf((height) => (height === 2 ? 'opens' : height === 5 ? 'pays' : 'rests'));
  const blocks = await feed.take(0, 10, NO_MARKS, going);
  assert.deepEqual(
    blocks.map(({ height }) => height),
    [0, 1, 2, 3, 4, 5, 6, 7]
  );
  const again = asked.filter(({ wanted }) => wanted.length > 0);
  assert.deepEqual(
    again.map(({ from, count, wanted }) => ({ from, count, wanted: [...wanted] })),
    [{ from: 5, count: 3, wanted: [TILL_MARK] }]
  );
});

test('a block that was scanned ahead of an opening is scanned again where it pays, and only there', async () => {
  const { feed, asked } = feedOf((height) => (height === 9 ? 'pays' : 'rests'));
  await feed.take(0, 11, NO_MARKS, going);
  const heights: number[] = [];
  for (const next of [9, 10, 11]) heights.push((await feed.take(next, 11, TILL_MARKS, going))[0]!.height);
  assert.deepEqual(heights, [9, 10, 11]);
  assert.deepEqual(
    asked.map(({ from, wanted }) => [from, wanted.length]),
    [
      [0, 0],
      [9, 0],
      [10, 1],
      [9, 1],
      [11, 1]
    ]
  );
});

test('a branch that changes between two scans ends the group before it', async () => {
  let scans = 0;
  const { feed } = feedOf(
    (height) => (height === 1 ? 'opens' : height === 2 ? 'pays' : 'rests'),
    (height) => (height === 4 && scans++ > 0 ? 'other' : `hash ${height}`)
  );
  const blocks = await feed.take(0, 10, NO_MARKS, going);
  assert.deepEqual(
    blocks.map(({ height }) => height),
    [0, 1, 2, 3]
  );
});

test('attempts at the next block count, whatever becomes of those behind it', async () => {
  const failing = new BlockFeed({
    versions: addresses,
    parallelism: 2,
    retries: 4,
    retryDelayMs: 0,
    scan: async ({ from }) => {
      if (from === 9) throw new PlatformError('NODE_UNREACHABLE', { reason: 'no answer' });
      return { blocks: [block(from, 'rests')], sizeBytes: 1 };
    }
  });
  for (let round = 1; round <= 3; round++) {
    await assert.rejects(failing.take(9, 11, NO_MARKS, going), { code: 'NODE_UNREACHABLE' });
    failing.clear();
    assert.equal(failing.failures, 5 * round);
  }
});

test('429 and 503 halve what is scanned at once; sixteen ranges that go well add one again', async () => {
  let [running, most] = [0, 0];
  let status: number | null = null;
  const feed = new BlockFeed({
    versions: addresses,
    parallelism: 8,
    retries: 0,
    scan: async ({ from, count }) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      if (status !== null && from === 0) throw new PlatformError('NODE_UNREACHABLE', { reason: 'busy', status });
      return { blocks: Array.from({ length: count }, (_, at) => block(from + at, 'rests')), sizeBytes: 5e6 * count };
    }
  });
  const mostAtOnce = async (from: number, takes: number) => {
    most = 0;
    let next = from;
    for (let take = 0; take < takes; take++) next += (await feed.take(next, 1_000, NO_MARKS, going)).length;
    feed.clear();
    return most;
  };
  assert.equal(await mostAtOnce(1, 3), 9);
  for (const [next, left] of [
    [429, 4],
    [503, 2]
  ] as const) {
    status = next;
    await assert.rejects(feed.take(0, 1_000, NO_MARKS, going));
    feed.clear();
    await new Promise((resolve) => setTimeout(resolve, 5));
    status = null;
    assert.equal(await mostAtOnce(1, 2), left + 1);
  }
  await mostAtOnce(1, 20);
  assert.ok((await mostAtOnce(1, 2)) > 3);
});

test('every attempt counts, until one goes well', async () => {
  let failing = true;
  const feed = new BlockFeed({
    versions: addresses,
    parallelism: 1,
    retries: 2,
    retryDelayMs: 0,
    scan: async ({ from }) => {
      if (failing) throw new PlatformError('NODE_UNREACHABLE', { reason: 'no answer' });
      return { blocks: [block(from, 'rests')], sizeBytes: 1 };
    }
  });
  await assert.rejects(feed.take(0, 0, NO_MARKS, going), { code: 'NODE_UNREACHABLE' });
  assert.deepEqual([feed.failures, feed.errorCount], [3, 3]);
  failing = false;
  feed.clear();
  await feed.take(0, 0, NO_MARKS, going);
  assert.deepEqual([feed.failures, feed.errorCount], [0, 3]);
});

test('two ranges are scanned at once on few cores, as many as a node has threads for on many', () => {
  assert.deepEqual([1, 2, 3, 4, 5, 64].map(scanParallelism), [2, 2, 2, 3, 4, 4]);
});
