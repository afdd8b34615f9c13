import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openFrontDoor } from '../../../support/sync/front-door.ts';

test('200 in both modes, with the fields of the record and no others; 401 without the key', async () => {
  const entry = {
    coin: 'bitcoin',
    network: 'regtest',
    dbType: 'indexer' as const,
    db_name: 'x',
    block_height: 7,
    table_count: 2,
    data_bytes: 10,
    index_bytes: 5,
    total_bytes: 15,
    row_estimate: 40
  };
  for (const SYNC_MODE of ['server', 'client'] as const) {
    const { app } = await openFrontDoor({
      config: { SYNC_MODE, SYNC_API_KEY: 'k1' },
      catalog: { generated_at: '2026-01-02T03:04:05.000Z', databases: [{ ...entry, pass: 'secret' } as typeof entry] }
    });
    assert.equal((await app.inject('/catalog')).statusCode, 401);
    const answer = await app.inject({ url: '/catalog', headers: { authorization: 'Bearer k1' } });
    assert.equal(answer.statusCode, 200);
    assert.deepEqual(answer.json(), { generated_at: '2026-01-02T03:04:05.000Z', databases: [entry] });
  }
});
