import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findCrowded, hasDescendants, readFamily } from '../../../src/encoder/coins/mempool-room.ts';
import { hasCode } from '../../../src/errors.ts';

const id = (number: number) => number.toString(16).padStart(64, '0');
const coin = (number: number, vout = 0) => ({ txid: id(number), vout });
const entry = (descendantcount: number, descendantsize = 1_000, vsize = 200) => ({
  vsize,
  descendantcount,
  descendantsize
});
/** A transaction below so many others, each of which has so many below itself. */
const family = (txid: number, ancestors: number, descendants: number) => {
  const above = Object.fromEntries(
    Array.from({ length: ancestors }, (_, at) => [id(1_000 * txid + at), entry(descendants)])
  );
  return [id(txid), readFamily(id(txid), entry(1), above)] as const;
};
const one = { count: 1, sizeBytes: 200 };

test('a coin may be spent when at most 25 transactions hang together, the new ones included', () => {
  const crowded = (ancestors: number, descendants: number, added = one) =>
    findCrowded([coin(1)], new Map([family(1, ancestors, descendants)]), added).length > 0;
  assert.equal(crowded(23, 2), false);
  assert.equal(crowded(24, 2), true);
  assert.equal(crowded(22, 2, { ...one, count: 2 }), false);
  assert.equal(crowded(23, 2, { ...one, count: 2 }), true, 'a second transaction hangs below the first');
  assert.equal(crowded(1, 24), false);
  assert.equal(crowded(1, 25), true);
  assert.equal(crowded(1, 24, { ...one, count: 2 }), true);
});

test('the virtual bytes that hang together are bounded too', () => {
  const crowded = (descendantBytes: number, sizeBytes: number) => {
    const read = readFamily(id(1), entry(1, descendantBytes, 50_000), {});
    return findCrowded([coin(1)], new Map([[id(1), read]]), { count: 1, sizeBytes }).length > 0;
  };
  assert.equal(crowded(60_000, 41_000), false);
  assert.equal(crowded(60_000, 41_001), true);
  assert.equal(crowded(1_000, 51_001), true);
});

test('coins of several transactions are counted together; two of one transaction count once', () => {
  const families = new Map([family(1, 11, 2), family(2, 11, 2)]);
  assert.deepEqual(findCrowded([coin(1), coin(1, 1), coin(2)], families, one), []);
  assert.deepEqual(findCrowded([coin(1), coin(2), coin(1, 1)], families, { ...one, count: 2 }), [coin(2)]);
});

test('a transaction that the node has dropped has nothing above it', () => {
  assert.equal(readFamily(id(1), null, {}).size, 0);
  // One that lists ancestors without their ids.
  for (const above of [null, [], [entry(1)]]) assert.equal(readFamily(id(1), entry(1), above).size, 1);
});

test('a transaction with a child is told from one without, also by a node that does not count the transaction itself', () => {
  const core = (count: number) => ({ ...entry(count), ancestorsize: 200 });
  const bcoin = (count: number) => ({ ...entry(count), ancestorsize: 0 });
  assert.deepEqual([1, 2].map(core).map(hasDescendants), [false, true]);
  assert.deepEqual([0, 1].map(bcoin).map(hasDescendants), [false, true]);
  assert.deepEqual([hasDescendants(entry(1)), hasDescendants(null)], [false, null]);
  assert.throws(() => hasDescendants({ vsize: 1 }), { code: 'NODE_REFUSED' });
  const crowded = (own: object) =>
    findCrowded([coin(1)], new Map([[id(1), readFamily(id(1), own, {})]]), one).length > 0;
  assert.deepEqual([crowded(core(24)), crowded(bcoin(23)), crowded(bcoin(24))], [false, false, true]);
});

test('NODE_REFUSED: an answer of another form is not taken for one that it does not know', () => {
  for (const answer of [{}, 'x', { vsize: 1, descendantcount: -1, descendantsize: 1 }])
    assert.throws(() => readFamily(id(1), answer, {}), { code: 'NODE_REFUSED' });
  assert.throws(() => readFamily(id(1), entry(1), { [id(2)]: {} }), { code: 'NODE_REFUSED' });
  const { vsize, ...sizeless } = entry(1);
  const failureOf = (method: string) => (error: unknown) =>
    hasCode(error, 'NODE_REFUSED') && error.detail['method'] === method;
  assert.throws(() => readFamily(id(1), sizeless, {}), failureOf('getmempoolentry'));
  assert.throws(() => readFamily(id(1), entry(1), { [id(2)]: sizeless }), failureOf('getmempoolancestors'));
  const named = readFamily(id(1), { ...sizeless, size: vsize }, {});
  assert.equal(named.get(id(1))?.sizeBytes, vsize, 'older nodes say size');
});
