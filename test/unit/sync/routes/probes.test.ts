import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DatabaseReport } from '../../../../src/wire/state/report.ts';
import { DECODER, type FrontDoorOptions, INDEXER, openFrontDoor, reportOf } from '../../../support/sync/front-door.ts';

type Replica = NonNullable<DatabaseReport['replica']>;
const replica = (changes: Partial<Replica>): { replica: Replica } => ({
  replica: {
    complete: true,
    percent: null,
    rowsPerSecond: null,
    etaSeconds: null,
    halt: null,
    verification: 'pending',
    unconfirmed: [],
    verifiedHeight: null,
    verifiedAt: null,
    dispensers: null,
    repairs: 0,
    ids: {},
    floor: null,
    infraOnly: false,
    checkpointHeight: 50,
    indexMapMismatches: 2,
    sources: [],
    reorgs: 0,
    ...changes
  }
});
const HALT = { block_index: 5, reason: 'x', mismatches: {}, sources: [], detected_at: '2026-01-02' };

async function readyz(options: FrontDoorOptions) {
  const { app } = await openFrontDoor({ config: { SYNC_API_KEY: 'k1', ...options.config }, ...options });
  const answer = await app.inject('/readyz');
  return { status: answer.statusCode, body: answer.json(), retry: answer.headers['retry-after'] };
}

test('200 /livez without a key, whatever the databases do', async () => {
  const { app } = await openFrontDoor({ config: { SYNC_API_KEY: 'k1' }, reports: [], discovered: false });
  const answer = await app.inject('/livez');
  assert.equal(answer.statusCode, 200);
  assert.deepEqual(answer.json(), { status: 'live' });
});

test('200 /readyz without a key while every database is within READY_MAX_LAG', async () => {
  const found = await readyz({ reports: [reportOf(INDEXER, { lagBlocks: 3 }), reportOf(DECODER)] });
  assert.deepEqual(found, { status: 200, body: { status: 'ready' }, retry: undefined });
});

test('503 /readyz with one word for the worst of the databases', async () => {
  const behind = reportOf(INDEXER, { lagBlocks: 4 });
  const open = reportOf(DECODER, { circuit: 'open' });
  for (const [word, options] of [
    ['starting', { reports: [], discovered: false }],
    ['starting', { reports: [] }],
    ['starting', { reports: [behind, reportOf(DECODER, { lagBlocks: null })] }],
    ['starting', { reports: [reportOf(INDEXER, replica({ complete: false }))] }],
    ['unavailable', { reports: [reportOf(INDEXER)], known: [INDEXER, DECODER] }],
    ['unavailable', { reports: [behind, open] }],
    ['behind', { reports: [behind, reportOf(DECODER)] }],
    ['halted', { reports: [reportOf(INDEXER, replica({ halt: HALT })), open] }]
  ] as const) {
    const { status, body, retry } = await readyz(options);
    assert.equal(status, 503);
    assert.deepEqual(body, { status: word });
    assert.ok(Number(retry) > 0);
  }
});
