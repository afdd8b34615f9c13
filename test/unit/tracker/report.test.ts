import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quiescenceOf, type TrackerReport, trackerStatusOf } from '../../../src/tracker/report.ts';

const NOW = 100_000;
const MEMPOOL = { knownAt: NOW - 1_000, patienceMs: 5_000, size: 3, oddCount: 0, isTooLarge: false };
const REPORT: TrackerReport = {
  state: 'parsing.caughtUp',
  isDatabaseReachable: true,
  lastProcessedBlock: 9,
  nodeHeight: 9,
  nodePolledAt: NOW,
  progressAt: NOW,
  failures: 0,
  rpcErrors: 0,
  haltReason: null,
  mempool: MEMPOOL,
  reorgs: 0,
  lastReorgDepth: 0,
  firstSync: null
};
const viewOf = (changes: Partial<TrackerReport>) => ({ report: { ...REPORT, ...changes }, crash: null });

test('a tracker without a block is not healthy, though its database answers', () => {
  const { status, db, committed_height } = trackerStatusOf(viewOf({ lastProcessedBlock: null }), NOW);
  assert.deepEqual([status, db, committed_height], ['unhealthy', true, null]);
  assert.equal(trackerStatusOf({ report: null, crash: null }, NOW).status, 'unhealthy');
  assert.equal(trackerStatusOf(viewOf({}), NOW).status, 'healthy');
});

test('the whole mempool has an age: looks that keep failing end it, whatever the node answers', () => {
  const readyAfter = (ageMs: number | null) => {
    const knownAt = ageMs === null ? null : NOW - ageMs;
    return quiescenceOf(viewOf({ mempool: { ...MEMPOOL, knownAt } }), NOW).ready;
  };
  assert.deepEqual([0, 5_000, 5_001, null].map(readyAfter), [true, true, false, false]);
  const late = trackerStatusOf(viewOf({ mempool: { ...MEMPOOL, knownAt: NOW - 61_000 } }), NOW);
  assert.deepEqual([late.mempool_ready, late.mempool_age_s, late.mempool_size], [false, 61, 3]);
});

test('a mempool that does not fit is told as such, and not as a failed reading', () => {
  const { mempool_ready, mempool_too_large } = trackerStatusOf(
    viewOf({ mempool: { ...MEMPOOL, knownAt: null, isTooLarge: true } }),
    NOW
  );
  assert.deepEqual([mempool_ready, mempool_too_large], [false, true]);
  assert.equal(trackerStatusOf(viewOf({}), NOW).mempool_too_large, undefined);
});

test('beside a stale tip no lag is known: it is neither synced nor quiescent', () => {
  const { lag, synced, node_height_stale, node_age_s } = trackerStatusOf(viewOf({}), NOW + 9_000);
  assert.deepEqual([lag, synced, node_height_stale, node_age_s], [null, false, true, 9]);
  assert.equal(quiescenceOf(viewOf({}), NOW + 9_000).ready, false);
});

test('a statement that MariaDB refuses, or ends at its limit, makes a tracker unhealthy', () => {
  const statusAt = (code: string) =>
    trackerStatusOf(viewOf({ alarm: { code, reason: 'r', remedy: 'm', since: NOW - 1_000 } }), NOW).status;
  assert.deepEqual(['ROWS_REFUSED', 'STATEMENT_TOO_SLOW', 'NODE_BEHIND'].map(statusAt), [
    'unhealthy',
    'unhealthy',
    'healthy'
  ]);
});

test('a tracker whose database does not answer has not all blocks, for all that anybody can read of it', () => {
  assert.equal(trackerStatusOf(viewOf({}), NOW).synced, true);
  const { status, synced } = trackerStatusOf(viewOf({ isDatabaseReachable: false }), NOW);
  assert.deepEqual([status, synced], ['unhealthy', false]);
});

test('beside a node that is gone, of another network, or lower than the database nothing is synced, whatever the lag', () => {
  const toldAt = (code: string, nodeHeight: number) => {
    const alarm = { code, reason: 'r', remedy: 'm', since: NOW - 1_000 };
    const { synced, lag, mempool_ready } = trackerStatusOf(viewOf({ alarm, nodeHeight }), NOW);
    return [synced, lag, mempool_ready];
  };
  for (const code of ['NODE_MISMATCH', 'NODE_UNREACHABLE', 'NODE_REFUSED', 'NODE_BEHIND'])
    assert.deepEqual(toldAt(code, 0), [false, 0, false], code);
  assert.deepEqual(toldAt('BLOCKS_DELAYED', 10), [true, 1, true]);
});
