import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DecoderReport } from '../../../src/decoder/health.ts';
import { chainPipeline } from '../../../src/follower/pipeline.ts';

const ID = { kind: 'decoder', chain: 'litecoin', network: 'regtest' } as const;
const REPORT: DecoderReport = {
  state: 'parsing.catchingUp',
  isDatabaseReachable: true,
  lastProcessedBlock: 90,
  nodeHeight: 100,
  nodePolledAt: 0,
  progressAt: 0,
  failures: 0,
  rpcErrors: 0,
  parseErrors: 0,
  haltReason: null
};
const states = (report: Partial<DecoderReport> | null, crash: string | null = null, now = 0) =>
  chainPipeline(ID, { report: report && { ...REPORT, ...report }, crash }, now).nodes.map(({ state }) => state);

test('a decoder shows its coin node, itself and its database, with the blocks that are left to parse', () => {
  const { nodes, edges } = chainPipeline(ID, { report: REPORT, crash: null }, 0);
  assert.deepEqual(
    nodes.map(({ role, state, height }) => [role, state, height]),
    [
      ['coin node', 'well', 100],
      ['decoder', 'working', 90],
      ['database', 'well', 90]
    ]
  );
  assert.deepEqual(
    edges.map(({ lag }) => lag),
    [10, 0]
  );
});

test("a decoder's wait is shown: a silent node, a database that is away, an operator", () => {
  assert.deepEqual(states({ state: 'parsing.caughtUp', lastProcessedBlock: 100 }), ['well', 'well', 'well']);
  assert.deepEqual(states({ state: 'waitingForNode' }, null, 8_001), ['failed', 'waiting', 'well']);
  const silent = { state: 'parsing.caughtUp', lastProcessedBlock: 100 };
  const { nodes, edges } = chainPipeline(ID, { report: { ...REPORT, ...silent }, crash: null }, 8_001);
  assert.equal(edges[0]!.lag, null);
  assert.deepEqual(
    nodes.map(({ state, reason }) => [state, reason]),
    [
      ['failed', 'the coin node does not answer; check NODE_URL, NODE_PORT, NODE_USER, NODE_PASSWORD'],
      ['waiting', 'its coin node does not answer'],
      ['well', null]
    ]
  );
  assert.deepEqual(states({ state: 'connecting', isDatabaseReachable: false }), ['well', 'waiting', 'failed']);
  assert.deepEqual(states({ state: 'halted', haltReason: 'too deep' }), ['well', 'failed', 'well']);
  assert.deepEqual(states(null, 'it died'), ['unknown', 'failed', 'unknown']);
});
