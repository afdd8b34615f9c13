import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../support/sql.ts';
import { differences, startPair } from '../support/sync/sync-pair.ts';
import { createSource, farBehindTest } from './far-behind.ts';

farBehindTest('indexer', 'required');
farBehindTest('decoder', 'off');

for (const dbType of ['indexer', 'decoder'] as const)
  test(`${dbType}: SYNC_BOOTSTRAP_DEPTH_* gives a replica its newest blocks and no others, and they go on`, async () => {
    const { source, reopen } = await createSource(dbType, 80);
    const pair = await startPair(dbType, source);
    const settings = { SYNC_BOOTSTRAP_DEPTH_LITECOIN_REGTEST: 25, VERIFY_STATE_COMMITMENT: 'false' };
    const client = await pair.startClient(settings);
    const first = await pair.settle(client, 179);
    assert.ok(first.equal, JSON.stringify(differences(first)));
    const [blocks] = await sql(pair.replica, 'SELECT MIN(block_index) AS low, COUNT(*) AS n FROM blocks');
    assert.deepEqual({ ...blocks }, { low: 155, n: 25 });
    const ledger = await reopen();
    await ledger.writeBlocks(5);
    const verdict = await pair.settle(client, ledger.height);
    assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
    await client.end();
    await pair.server.end();
  });
