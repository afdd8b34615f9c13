import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { INDEXER, openHouse, reportOf } from './http-house.ts';

const BEARER = { authorization: 'Bearer k1' };
const AT = 'bitcoin/regtest';

test('202: an operator kills and restarts actors; 404 for a database that is not there', async () => {
  const { app, acts } = await openHouse({ config: { SYNC_API_KEY: 'k1' } });
  const post = async (path: string) => app.inject({ method: 'POST', url: `/debug/actors/${path}`, headers: BEARER });
  assert.equal((await post(`indexer/${AT}/kill`)).statusCode, 202);
  assert.equal((await post(`indexer/${AT}/restart`)).statusCode, 202);
  assert.equal((await post(`indexer/litecoin/regtest/kill`)).statusCode, 404);
  assert.deepEqual(acts, [`kill indexer/${AT}`, `restart indexer/${AT}`]);
});

describe('POST /halt/clear', async () => {
  const halt = { block_index: 5, reason: 'hash mismatch', mismatches: {}, sources: [], detected_at: '2026-01-02' };
  let was: unknown = halt;
  const { app } = await openHouse({
    config: { SYNC_MODE: 'client', SYNC_API_KEY: 'k1' },
    reports: [reportOf(INDEXER)],
    clearHalt: async () => ({ was })
  });
  const clear = async (database: string, headers: object = BEARER) =>
    app.inject({ method: 'POST', url: `/halt/clear/${database}`, headers: { ...headers } });

  test('200 with what was cleared', async () => {
    assert.deepEqual((await clear(`indexer/${AT}`)).json(), {
      ok: true,
      cleared: true,
      was: halt,
      note: 'restart the service for a clean catch-up'
    });
  });

  test('200 and halted: false when it was not halted', async () => {
    was = null;
    assert.deepEqual((await clear(`indexer/${AT}`)).json(), {
      ok: true,
      halted: false,
      message: 'the replica was not halted'
    });
  });

  test('401 without the key, 400 dbType, 404 combination', async () => {
    assert.equal((await clear(`index/${AT}`, {})).statusCode, 401);
    assert.equal((await clear(`index/${AT}`)).statusCode, 400);
    assert.equal((await clear(`decoder/${AT}`)).statusCode, 404);
  });

  test('403 in server mode, after 400 and before 404', async () => {
    const server = await openHouse({ config: { SYNC_API_KEY: 'k1' } });
    const post = async (database: string) =>
      server.app.inject({ method: 'POST', url: `/halt/clear/${database}`, headers: BEARER });
    assert.equal((await post(`indexer/${AT}`)).statusCode, 403);
    assert.equal((await post(`indexer/no/where`)).statusCode, 403);
    assert.equal((await post(`index/${AT}`)).statusCode, 400);
  });
});
