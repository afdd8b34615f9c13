import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SyncLane, syncPipeline } from '../../../../src/sync/http/pipeline.ts';
import type { DatabaseReport } from '../../../../src/wire/state/report.ts';
import { actorViewOf, INDEXER, openFrontDoor, reportOf } from '../../../support/sync/front-door.ts';

const lane = (report: DatabaseReport | null, subscribers: SyncLane['subscribers'] = []): SyncLane => ({
  ...actorViewOf(INDEXER),
  report,
  subscribers,
  subscriber_count: subscribers.length
});
const source = { url: 'http://a.example:3006', state: 'followed', height: 12, error: null, dissents: 0, digests: null };
const replica = {
  complete: true,
  percent: null,
  rowsPerSecond: null,
  etaSeconds: null,
  halt: null,
  verification: 'pending' as const,
  unconfirmed: [],
  verifiedHeight: null,
  verifiedAt: null,
  dispensers: null,
  repairs: 0,
  ids: {},
  floor: null,
  infraOnly: false,
  checkpointHeight: null,
  indexMapMismatches: null,
  reorgs: 0
};

/** A hub that answers. */
const HUB = { isKnown: true, isUp: true };

test('a server shows its database, what it sent, and the slowest of its subscribers', () => {
  const subscriber = {
    id: 'a',
    lastSentBlock: 7,
    appliedBlock: 5,
    lag: 2,
    state: 'draining',
    bufferedBytes: 0
  } as const;
  const { nodes, edges } = syncPipeline('server', [lane(reportOf(INDEXER, { tip: 9 }), [subscriber])], HUB);
  assert.deepEqual(
    nodes.map(({ role, state, height }) => [role, state, height]),
    [
      ['hub', 'well', null],
      ['database', 'well', 9],
      ['sync server', 'well', 7],
      ['subscribers', 'well', 5]
    ]
  );
  assert.deepEqual(
    edges.map(({ height, lag }) => [height, lag]),
    [
      [7, 2],
      [7, 2]
    ]
  );
});

test('an edge shows its stream in place of a database, the number of its subscribers, and no hub', () => {
  const known = lane(reportOf(INDEXER, { tip: 9, phase: 'live' }));
  const { nodes, edges } = syncPipeline('edge', [{ ...known, subscriber_count: 1_500 }], HUB);
  assert.deepEqual(
    nodes.map(({ role, state, height, count }) => [role, state, height, count]),
    [
      ['stream', 'well', 9, undefined],
      ['edge', 'well', 7, undefined],
      ['subscribers', 'well', null, 1_500]
    ]
  );
  assert.equal(edges[0]?.lag, 2);
  const waiting = { on: 'NATS cannot be reached', since: 0 };
  const [stream, edge] = syncPipeline('edge', [{ ...known, report: null, waiting }], HUB).nodes;
  assert.deepEqual([stream?.state, stream?.reason, edge?.state], ['waiting', 'NATS cannot be reached', 'unknown']);
});

test('a subscriber that is far behind does not keep up', () => {
  const late = { id: 'a', lastSentBlock: 7, appliedBlock: 0, lag: 7, state: 'draining', bufferedBytes: 0 } as const;
  const { nodes } = syncPipeline('server', [lane(reportOf(INDEXER, { tip: 9 }), [late])], HUB);
  assert.deepEqual([nodes.at(-1)?.state, nodes.at(-1)?.doing], ['working', 'the slowest is 7 blocks behind']);
});

test('a client shows every source: the one that blocks come from, one for hashes only, one that does not answer', () => {
  const sources = [
    source,
    { ...source, url: 'http://b.example:3006', state: 'heard' },
    { ...source, url: 'http://c.example:3006', state: 'failed', height: null, error: 'refused' }
  ];
  const report = reportOf(INDEXER, {
    mode: 'client',
    phase: 'catchingUp',
    height: 7,
    replica: { ...replica, sources }
  });
  const { nodes, edges } = syncPipeline('client', [lane(report)], HUB);
  assert.deepEqual(
    nodes.slice(1).map(({ name, state, reason }) => [name, state, reason]),
    [
      ['a.example:3006', 'well', null],
      ['b.example:3006', 'well', null],
      ['c.example:3006', 'failed', 'refused'],
      ['x', 'working', null]
    ]
  );
  assert.deepEqual(
    edges.map(({ height, lag, carries }) => [height, lag, carries]),
    [
      [7, 5, null],
      [null, null, 'hashes only'],
      [null, null, 'nothing']
    ]
  );
});

test('a paused replica shows who paused it, and knows neither its lag nor its sources', () => {
  const report = reportOf(INDEXER, {
    mode: 'client',
    phase: 'live',
    height: 12,
    tip: 12,
    replica: { ...replica, sources: [source] }
  });
  const reason = { name: 'PlatformError', code: 'ACTOR_PAUSED', message: 'an operator paused it', detail: {} };
  const { nodes, edges } = syncPipeline('client', [{ ...lane(report), state: 'paused', reason } as SyncLane], HUB);
  assert.deepEqual(
    nodes.slice(1).map(({ role, state, doing, reason: why }) => [role, state, doing, why]),
    [
      ['source', 'unknown', 'not heard', null],
      ['replica', 'waiting', 'paused', 'an operator paused it']
    ]
  );
  assert.deepEqual(
    edges.map(({ lag }) => lag),
    [null]
  );
});

test('a hub that has not answered, and an actor that has not reported, are shown as what is waited for', () => {
  const [hub] = syncPipeline('client', [], { isKnown: false, isUp: false }).nodes;
  assert.equal(hub?.state, 'waiting');
  assert.match(hub?.reason ?? '', /HUB_API_HOST/);
  const [silent] = syncPipeline('server', [], { isKnown: true, isUp: false }).nodes;
  assert.deepEqual([silent?.state, silent?.doing], ['failed', 'does not answer']);
  assert.equal(syncPipeline('client', [lane(null)], HUB).nodes.at(-1)?.state, 'unknown');
});

test('200: the pipeline comes with every look at the service', async () => {
  const { app } = await openFrontDoor();
  const { pipeline } = (await app.inject('/debug/live')).json();
  assert.equal(pipeline.nodes.length, 1 + 2 * 3);
  assert.equal(pipeline.edges.length, 2 * 2);
});
