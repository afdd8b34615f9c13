import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DecoderReport, healthOf, latestBlockOf, liveOf, statusOf } from '../../../src/decoder/health.ts';
import { actorReportOf, readinessOf } from '../../../src/follower/report.ts';

const NOW = 1_800_000_000_000;
const LIMITS = { alertMs: 900_000, fetchAttempts: 20 };
const GOOD: DecoderReport = {
  state: 'parsing.caughtUp',
  isDatabaseReachable: true,
  lastProcessedBlock: 97,
  nodeHeight: 100,
  nodePolledAt: NOW - 1_000,
  progressAt: NOW - 1_000,
  failures: 0,
  rpcErrors: 4,
  parseErrors: 2,
  haltReason: null
};
const healthWith = (changes: Partial<DecoderReport>) => healthOf({ report: { ...GOOD, ...changes }, crash: null }, NOW);
const isStalled = (changes: Partial<DecoderReport>) =>
  liveOf({ report: { ...GOOD, ...changes }, crash: null }, LIMITS, NOW).stalled;

test('a running decoder reports every field of the specification', () => {
  assert.deepEqual(healthWith({}), {
    status: 'healthy',
    phase: 'running',
    synced: true,
    last_processed_block: 97,
    node_height: 100,
    lag: 3,
    lastProcessedBlock: 97,
    chainTipBlock: 100,
    blockLag: 3,
    lag_blocks: 3,
    rpc_errors: 4,
    parse_errors: 2,
    error: null
  });
  assert.deepEqual(latestBlockOf({ report: GOOD, crash: null }, NOW), {
    block_index: 97,
    node_block_index: 100,
    is_synced: true
  });
});

test('synced ends with the fourth block behind', () => {
  const { status, synced } = healthWith({ lastProcessedBlock: 96 });
  assert.deepEqual([status, synced], ['healthy', false]);
});

test('the lag is null while a height is unknown, and never negative', () => {
  assert.equal(healthWith({ nodeHeight: null }).lag_blocks, null);
  assert.equal(healthWith({ lastProcessedBlock: null }).lag, null);
  assert.equal(healthWith({ lastProcessedBlock: 105 }).lag, 0);
});

test('node_height_stale stands only beside a tip older than two refresh intervals', () => {
  assert.equal(healthWith({ nodePolledAt: NOW - 8_001 }).node_height_stale, true);
  assert.ok(!('node_height_stale' in healthWith({ nodePolledAt: NOW - 8_000 })));
  assert.ok(!('node_height_stale' in healthWith({ nodePolledAt: null })));
});

test('beside a stale tip no lag is known, and the age of the tip is told', () => {
  const stale = { nodePolledAt: NOW - 12_300, lastProcessedBlock: 100 };
  const { lag, blockLag, lag_blocks, synced, node_age_s } = healthWith(stale);
  assert.deepEqual([lag, blockLag, lag_blocks, synced, node_age_s], [null, null, null, false, 12]);
  const report = { ...GOOD, ...stale };
  assert.equal(readinessOf({ report, crash: null }, NOW), 'behind');
  const { lagBlocks, node, height } = actorReportOf(report, NOW);
  assert.deepEqual([lagBlocks, node, height], [null, { isHeard: false, ageS: 12 }, 100]);
  assert.equal(actorReportOf(GOOD, NOW).lagBlocks, 3);
});

test('phases: starting, running, db-unreachable', () => {
  const crash = 'Access denied';
  assert.equal(healthOf({ report: null, crash }, NOW).phase, 'db-unreachable');
  assert.equal(healthOf({ report: { ...GOOD, isDatabaseReachable: null }, crash }, NOW).phase, 'db-unreachable');
  assert.equal(healthOf({ report: GOOD, crash }, NOW).phase, 'running');
  assert.equal(healthOf({ report: null, crash: null }, NOW).phase, 'starting');
  assert.equal(healthWith({ isDatabaseReachable: null }).phase, 'starting');
  assert.equal(healthWith({}).phase, 'running');
  const { phase, status, synced } = healthWith({ isDatabaseReachable: false });
  assert.deepEqual([phase, status, synced], ['db-unreachable', 'unhealthy', false]);
});

test('a crash and a halt are unhealthy, and say why', () => {
  const crashed = { report: GOOD, crash: 'out of memory' };
  assert.deepEqual(statusOf(crashed, NOW), { status: 'unhealthy', db: false, running: false });
  const { status, synced, error, last_processed_block } = healthOf(crashed, NOW);
  assert.deepEqual([status, synced, error, last_processed_block], ['unhealthy', false, 'out of memory', 97]);
  const halted = healthWith({ haltReason: 'too deep' });
  assert.deepEqual([halted.status, halted.synced, halted.error], ['unhealthy', false, 'too deep']);
});

test('stalled: one height failed 20 times, or nothing advanced for 15 minutes, with the tip fresh and ahead', () => {
  assert.equal(isStalled({ failures: 19 }), false);
  assert.equal(isStalled({ failures: 20 }), true);
  assert.equal(isStalled({ progressAt: NOW - 899_999 }), false);
  assert.equal(isStalled({ progressAt: NOW - 900_000 }), true);
});

test('a frozen tip, an unknown one and one that is reached are not stalled', () => {
  const late = { failures: 99, progressAt: NOW - 9_000_000 };
  assert.equal(isStalled({ ...late, nodePolledAt: NOW - 8_001 }), false);
  assert.equal(isStalled({ ...late, nodeHeight: null, nodePolledAt: null }), false);
  assert.equal(isStalled({ ...late, nodeHeight: 97 }), false);
});
