import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type { WebSocket } from 'ws';
import { isClaimSigned } from '../../../../src/consensus/source-signature.ts';
import { type DatabaseId, databaseKey } from '../../../../src/wire/data/database.ts';
import type { DatabaseReport } from '../../../../src/wire/state/report.ts';
import { DECODER, INDEXER, INDEXER_HASHES, openFrontDoor, reportOf } from '../../../support/sync/front-door.ts';

const AT = 'bitcoin/regtest';
const SOURCES = [{ url: 'http://one:3006', state: 'followed', height: 9, error: null, dissents: 1, digests: null }];
const REPLICA: NonNullable<DatabaseReport['replica']> = {
  complete: true,
  percent: 41,
  rowsPerSecond: 90_000,
  etaSeconds: 60,
  halt: null,
  verification: 'verified',
  unconfirmed: [],
  verifiedHeight: 4,
  verifiedAt: '2026-01-02T03:04:05.000Z',
  dispensers: null,
  repairs: 2,
  ids: { '*': 'source', tokens: 'own' },
  floor: 90,
  infraOnly: false,
  checkpointHeight: 50,
  indexMapMismatches: 2,
  sources: SOURCES,
  reorgs: 0
};

test('200: all databases nested by chain, network and type, and one', async () => {
  const { app } = await openFrontDoor();
  const { last_updated, ...tree } = (await app.inject('/status')).json();
  assert.ok(last_updated);
  const {
    last_updated: at,
    chain,
    network,
    dbType,
    index_map,
    ...one
  } = (await app.inject(`/status/indexer/${AT}`)).json();
  assert.ok(Math.abs(Date.parse(at) - Date.now()) < 5_000);
  assert.deepEqual({ chain, network, dbType, index_map }, { ...INDEXER, index_map: null });
  assert.deepEqual(tree.bitcoin.regtest.indexer, one);
  assert.deepEqual(one, {
    block_height: 7,
    block_time: 1_700_000_000,
    ...INDEXER_HASHES,
    lag_blocks: 0,
    poll_error_count: 0,
    database_silent_s: 0,
    phase: 'polling.caughtUp',
    waiting: null,
    settled_height: null,
    amendments: null,
    settling: null,
    last_error: null,
    subscribers: []
  });
  const decoder = (await app.inject(`/status/decoder/${AT}`)).json();
  assert.equal(decoder.block_hash, 'cc');
  assert.equal('ledger_hash' in decoder, false);
  assert.deepEqual(Object.keys(tree.bitcoin.regtest), ['indexer', 'decoder']);
});

test('200: a client shows the state of its replica', async () => {
  const halt = { block_index: 5, reason: 'hash mismatch', mismatches: {}, sources: [], detected_at: '2026-01-02' };
  const report = reportOf(INDEXER, {
    mode: 'client',
    phase: 'halted',
    replica: { ...REPLICA, halt }
  });
  const { app } = await openFrontDoor({ config: { SYNC_MODE: 'client' }, reports: [report] });
  const { last_updated, ...status } = (await app.inject(`/status/indexer/${AT}`)).json();
  assert.ok(last_updated);
  assert.deepEqual(status, {
    ...INDEXER,
    block_height: 7,
    block_time: 1_700_000_000,
    ...INDEXER_HASHES,
    lag_blocks: 0,
    poll_error_count: 0,
    database_silent_s: 0,
    source_silent_s: 0,
    phase: 'halted',
    waiting: null,
    percent: 41,
    rows_per_second: 90_000,
    eta_seconds: 60,
    settled_height: null,
    settling: false,
    last_error: null,
    halted: true,
    reason: 'hash mismatch',
    remedy: 'another program recorded this halt: find out why, then clear it',
    verification: 'verified',
    verification_reason: null,
    comparing: null,
    unconfirmed: [],
    verified_height: 4,
    verified_at: '2026-01-02T03:04:05.000Z',
    repairs: 2,
    ids: { '*': 'source', tokens: 'own' },
    floor: 90,
    sync_mode: 'full',
    checkpoint_height: 50,
    index_map_mismatches: 2,
    sources: SOURCES
  });
});

test('200: what a database waits for, apart from a halt', async () => {
  const waitsFor = ({ dbType }: DatabaseId) => (dbType === 'indexer' ? 'the circuit breaker' : null);
  const { app } = await openFrontDoor({ waitsFor });
  const tree = (await app.inject('/status')).json();
  assert.equal(tree.bitcoin.regtest.indexer.waiting, 'the circuit breaker');
  assert.equal(tree.bitcoin.regtest.decoder.waiting, null);
  assert.equal((await app.inject(`/status/indexer/${AT}`)).json().waiting, 'the circuit breaker');
});

test('200: nulls for a source without a block', async () => {
  const empty = { height: -1, blockTime: null, hashes: null, tip: null, lagBlocks: null };
  const { app } = await openFrontDoor({ reports: [reportOf(DECODER, empty)] });
  const { block_height, block_time, block_hash, lag_blocks } = (await app.inject(`/status/decoder/${AT}`)).json();
  assert.deepEqual([block_height, block_time, block_hash, lag_blocks], [null, null, null, null]);
});

test('200: a client of a decoder says as of when its dispensers are', async () => {
  const at = '2026-01-02T03:04:05.000Z';
  for (const [dispensers, expected] of [
    [
      { height: 5, at },
      { block_height: 5, as_of: at }
    ],
    [
      { height: null, at },
      { block_height: null, as_of: at }
    ],
    [null, null]
  ] as const) {
    const report = reportOf(DECODER, { mode: 'client', replica: { ...REPLICA, dispensers } });
    const { app } = await openFrontDoor({ config: { SYNC_MODE: 'client' }, reports: [report] });
    assert.deepEqual((await app.inject(`/status/decoder/${AT}`)).json().dispensers, expected);
  }
});

test('a server signs a challenge, with the database that it reads; a client, or one that has read nothing yet, does not', async () => {
  const challenge = 'ab'.repeat(32);
  const origin = 'cd'.repeat(32);
  const { app } = await openFrontDoor({ reports: [reportOf(INDEXER, { origin }), reportOf(DECODER)] });
  const { identity } = (await app.inject(`/status/indexer/${AT}?challenge=${challenge}`)).json();
  const claim = { database: databaseKey(INDEXER), challenge, origin };
  assert.equal(identity.origin, origin);
  assert.ok(isClaimSigned(claim, identity));
  assert.equal(isClaimSigned({ ...claim, challenge: origin }, identity), false, 'another challenge');
  assert.equal(isClaimSigned({ ...claim, database: databaseKey(DECODER) }, identity), false, 'another database');
  assert.equal(isClaimSigned({ ...claim, origin: null }, identity), false, 'another origin');
  assert.equal((await app.inject(`/status/indexer/${AT}`)).json().identity, undefined);
  assert.equal((await app.inject(`/status/decoder/${AT}?challenge=${challenge}`)).json().identity, undefined);
  assert.equal((await app.inject(`/status/indexer/${AT}?challenge=text`)).statusCode, 400);
  const client = await openFrontDoor({ config: { SYNC_MODE: 'client' } });
  assert.equal((await client.app.inject(`/status/indexer/${AT}?challenge=${challenge}`)).json().identity, undefined);
});

test('a long list of subscribers is written once for all who ask meanwhile; what replicas rely on is of the moment', async (t) => {
  const reports = [reportOf(INDEXER), reportOf(DECODER)];
  const { app, fanOut } = await openFrontDoor({ reports });
  t.after(() => fanOut.close()); // it pings them, which these sockets cannot bear
  const sendBuffer = () => ({ waitingBytes: 0, takenBytes: 0 });
  for (let n = 0; n < 1_500; n++) {
    const socket = Object.assign(new EventEmitter(), {
      OPEN: 1,
      readyState: 1,
      send: () => undefined,
      close: () => undefined
    });
    const place = { infraOnly: false, address: `192.0.2.${n % 200}`, sendBuffer };
    fanOut.subscribe(INDEXER, socket as unknown as WebSocket, place);
  }
  const listed = t.mock.method(fanOut, 'subscribers');
  for (const [path, of] of [
    ['/status', (tree: never) => (tree as { bitcoin: { regtest: { indexer: object } } }).bitcoin.regtest.indexer],
    [`/status/indexer/${AT}`, (status: never) => status]
  ] as const) {
    const before = listed.mock.callCount();
    const answers = await Promise.all(Array.from({ length: 20 }, () => app.inject(path)));
    for (const answer of answers) {
      assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8');
      const { subscribers, block_height } = of(answer.json() as never) as {
        subscribers: object[];
        block_height: number;
      };
      assert.deepEqual([subscribers.length, block_height], [1_500, 7]);
      assert.deepEqual(Object.keys(subscribers[0]!), ['id', 'lastSentBlock', 'appliedBlock', 'lag']);
    }
    assert.ok(listed.mock.callCount() - before <= 4, `${listed.mock.callCount() - before} looks for 20 callers`);
  }
  Object.assign(reports[0]!, { height: 8 });
  assert.equal((await app.inject(`/status/indexer/${AT}`)).json().block_height, 8);
});
