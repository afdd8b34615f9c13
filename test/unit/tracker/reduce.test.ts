import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { MADE, places, SCRIPT, SPENT, sortRecords } from '../../../src/tracker/coins/records.ts';
import { amountAt, type ReducedChanges, reduceChanges, scriptsOf } from '../../../src/tracker/coins/reduce.ts';
import { partByShards, shardsFor } from '../../../src/tracker/first-sync/shards.ts';
import fc from '../../support/fast-check.ts';

/** One step of a chain: the coin of this number is made anew, or spent where it is there. */
interface Step {
  readonly coin: number;
  readonly script: number;
  readonly value: bigint;
}

/** Coins below are rewards with the ids of older ones: made again and again, and not spent. */
const REWARDS = 3;

const steps = fc.array(
  fc.record({
    coin: fc.nat({ max: 12 }),
    script: fc.nat({ max: 4 }),
    value: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
  }),
  { maxLength: 60 }
);

/** Half of the coins differ in nothing but the last bytes of their outpoints. */
function outpointOf(coin: number): Buffer {
  const seed = coin % 2 ? coin : 0;
  const outpoint = Buffer.alloc(36);
  createHash('sha256').update(`coin ${seed}`).digest().copy(outpoint);
  outpoint.writeUInt32LE(coin, 32);
  return outpoint;
}
const hashOf = (script: number) => createHash('sha256').update(`script ${script}`).digest();

interface Coin {
  readonly script: number;
  readonly value: bigint;
  readonly height: number;
}

/** The blocks of the steps, one a block, and what they leave by a plain map: a coin that is there is spent, one that is not is made. */
function blocksOf(list: readonly Step[]) {
  const coins = new Map<number, Coin>();
  const scripts = new Map<number, { first: number; received: bigint }>();
  const blocks = list.map(({ coin, script, value }, height): ReducedChanges => {
    if (coins.has(coin) && coin >= REWARDS) {
      coins.delete(coin);
      const spent = Buffer.alloc(SPENT.sizeBytes);
      outpointOf(coin).copy(spent);
      spent.writeUInt32LE(height, SPENT.heightAt);
      return { made: Buffer.alloc(0), spent, scripts: Buffer.alloc(0) };
    }
    coins.set(coin, { script, value, height });
    const known = scripts.get(script);
    scripts.set(script, { first: known?.first ?? height, received: (known?.received ?? 0n) + value });
    const made = Buffer.alloc(MADE.sizeBytes);
    outpointOf(coin).copy(made);
    hashOf(script).copy(made, MADE.hashAt);
    made.writeBigUInt64LE(value, MADE.valueAt);
    made.writeUInt32LE(height, MADE.heightAt);
    return { made, spent: Buffer.alloc(0), scripts: scriptsOf(made) };
  });
  return { blocks, coins, scripts };
}

const together = (list: readonly ReducedChanges[]): ReducedChanges => ({
  made: Buffer.concat(list.map(({ made }) => made)),
  spent: Buffer.concat(list.map(({ spent }) => spent)),
  scripts: Buffer.concat(list.map(({ scripts }) => scripts))
});

function assertLeft({ made, spent, scripts }: ReducedChanges, expected: ReturnType<typeof blocksOf>): void {
  assert.equal(spent.length, 0);
  assert.deepEqual(
    Array.from(places(MADE, made), (at) => ({
      outpoint: made.toString('hex', at, at + MADE.key),
      script: made.toString('hex', at + MADE.hashAt, at + MADE.valueAt),
      value: made.readBigUInt64LE(at + MADE.valueAt),
      height: made.readUInt32LE(at + MADE.heightAt)
    })),
    [...expected.coins]
      .map(([coin, { script, value, height }]) => ({
        outpoint: outpointOf(coin).toString('hex'),
        script: hashOf(script).toString('hex'),
        value,
        height
      }))
      .sort((a, b) => (a.outpoint < b.outpoint ? -1 : 1))
  );
  assert.deepEqual(
    Array.from(places(SCRIPT, scripts), (at) => ({
      hash: scripts.toString('hex', at, at + SCRIPT.key),
      first: scripts.readUInt32LE(at + SCRIPT.heightAt),
      received: amountAt(scripts, at)
    })),
    [...expected.scripts]
      .map(([script, sums]) => ({ hash: hashOf(script).toString('hex'), ...sums }))
      .sort((a, b) => (a.hash < b.hash ? -1 : 1))
  );
}

test('the net change of blocks is the same as by a plain map, however they are put into groups and shards', () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 20 }), (list, size) => {
      const expected = blocksOf(list);
      const groups = Array.from({ length: Math.ceil(list.length / size) }, (_, group) =>
        reduceChanges(together(expected.blocks.slice(group * size, (group + 1) * size)))
      );
      const parts = groups.flatMap((group) => [...partByShards(group, 16)]);
      const shards = Array.from({ length: 16 }, (_, shard) =>
        reduceChanges(together(parts.filter((part) => part.shard === shard)))
      );
      assertLeft(together(shards), expected);
    })
  );
});

test('a coin that no block made is left among the spent ones', () => {
  const { blocks } = blocksOf([
    { coin: 7, script: 1, value: 5n },
    { coin: 7, script: 1, value: 5n }
  ]);
  const { made, spent } = reduceChanges(blocks[1]!);
  assert.equal(made.length, 0);
  assert.equal(spent.toString('hex', 0, SPENT.key), outpointOf(7).toString('hex'));
});

test('records of one key keep their order among ten thousand whose first bytes are equal', () => {
  const records = Buffer.alloc(10_000 * SPENT.sizeBytes);
  for (const at of places(SPENT, records)) {
    const number = at / SPENT.sizeBytes;
    records.writeUInt32LE(number % 3_000, at + 32);
    records.writeUInt32LE(number, at + SPENT.heightAt);
  }
  const sorted = sortRecords(SPENT, records);
  for (const at of places(SPENT, sorted.subarray(SPENT.sizeBytes))) {
    const next = at + SPENT.sizeBytes;
    const order = sorted.compare(sorted, next, next + SPENT.key, at, at + SPENT.key);
    assert.ok(order < 0 || (order === 0 && sorted.readUInt32LE(at + 36) < sorted.readUInt32LE(next + 36)));
  }
});

test('a shard is some hundred blocks, and the records of one are in pieces that a server takes', () => {
  assert.deepEqual([1, 5_000, 100_000, 3_000_000].map(shardsFor), [16, 32, 512, 4_096]);
  const made = Buffer.alloc(20_000 * MADE.sizeBytes, 7);
  const parts = [...partByShards({ made, spent: Buffer.alloc(0), scripts: Buffer.alloc(0) }, 16)];
  assert.deepEqual(
    parts.map(({ shard, part }) => [shard, part]),
    [0, 1, 2, 3].map((part) => [0, part])
  );
  assert.ok(parts.every((part) => part.made.length <= 512 * 1024));
  assert.deepEqual(Buffer.concat(parts.map((part) => part.made)), made);
});
