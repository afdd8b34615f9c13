import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DECODER, INDEXER, openFrontDoor, reportOf } from '../../../support/sync/front-door.ts';

test('200 while no circuit is open: closed, half-open, and null while the actor is down', async () => {
  const { app } = await openFrontDoor({
    reports: [reportOf(INDEXER), reportOf(DECODER, { circuit: 'half-open' })],
    known: [INDEXER, DECODER, { ...INDEXER, chain: 'litecoin' }]
  });
  const answer = await app.inject('/health');
  assert.equal(answer.statusCode, 200);
  const { last_updated, ...rest } = answer.json();
  assert.ok(Math.abs(Date.parse(last_updated) - Date.now()) < 5_000);
  assert.deepEqual(rest, {
    status: 'healthy',
    mode: 'server',
    databases: [
      { chain: 'bitcoin', network: 'regtest', dbType: 'indexer', circuit: 'closed' },
      { chain: 'bitcoin', network: 'regtest', dbType: 'decoder', circuit: 'half-open' },
      { chain: 'litecoin', network: 'regtest', dbType: 'indexer', circuit: null }
    ]
  });
});

test('503 and degraded with the same body when any circuit is open', async () => {
  const { app } = await openFrontDoor({ reports: [reportOf(INDEXER, { circuit: 'open' }), reportOf(DECODER)] });
  const answer = await app.inject('/health');
  assert.equal(answer.statusCode, 503);
  const { status, databases } = answer.json();
  assert.equal(status, 'degraded');
  assert.deepEqual(
    databases.map(({ circuit }: { circuit: string }) => circuit),
    ['open', 'closed']
  );
  assert.equal((await app.inject('/status/indexer/bitcoin/regtest')).statusCode, 200, 'the status is still told');
});

test('200 for a client that is halted, and before anything is discovered', async () => {
  const client = await openFrontDoor({
    config: { SYNC_MODE: 'client' },
    reports: [reportOf(INDEXER, { phase: 'halted' })]
  });
  const answer = await client.app.inject('/health');
  assert.equal(answer.statusCode, 200);
  assert.equal(answer.json().mode, 'client');
  const early = await openFrontDoor({ reports: [], discovered: false });
  assert.deepEqual((await early.app.inject('/health')).json().databases, []);
});
