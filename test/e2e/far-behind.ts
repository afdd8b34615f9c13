import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Connection, connect } from '../../src/db/connection.ts';
import type { DbType } from '../../src/wire/data/database.ts';
import { atEnd } from '../support/cleanup.ts';
import { createDatabase, startOwnServer } from '../support/mariadb.ts';
import { differences, startPair } from '../support/sync/sync-pair.ts';
import { eventually } from '../support/sync/sync-process.ts';
import { createLedger, openLedger } from '../support/tables-in-use/ledger.ts';

/** More than a client fetches at once. */
const FAR_BLOCKS = 6_000;
const HASHES = {
  indexer: ['ledger_hash_id', 'actions_hash_id', 'contract_hash_id', 'state_hash_id'],
  decoder: ['block_hash_id']
} as const satisfies Record<DbType, readonly string[]>;

/** Adds blocks without rows, at once. */
async function addEmptyBlocks(connection: Connection, dbType: DbType, count: number): Promise<void> {
  const [found] = (await connection.query('SELECT MAX(block_index) AS tip FROM blocks'))[0] as { tip: number }[];
  const [first, last] = [Number(found!.tip) + 1, Number(found!.tip) + count];
  await connection.query('START TRANSACTION');
  await connection.query(
    `INSERT INTO index_transactions (hash) SELECT SHA2(CONCAT('empty ', seq), 256) FROM seq_${first}_to_${last}`
  );
  const columns = HASHES[dbType];
  await connection.query(
    `INSERT INTO blocks (block_index, block_time, ${columns.join(', ')})
     SELECT seq, 1700000000 + seq, ${columns.map(() => 'h.id').join(', ')}
     FROM seq_${first}_to_${last} JOIN index_transactions h ON h.hash = SHA2(CONCAT('empty ', seq), 256)`
  );
  await connection.query('COMMIT');
}

/** A database of so many blocks, from 100 on. */
export async function createSource(dbType: DbType, blocks: number, isLogged = false) {
  const logged = isLogged ? await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW']) : null;
  const source = await createDatabase('far', logged?.root);
  const connection = await connect(source);
  atEnd(() => connection.end());
  const options = { dbType, seed: 'far' } as const;
  const ledger = await createLedger(connection, options);
  await ledger.writeBlocks(blocks, { actions: 6 });
  // A sync service's own, of which each makes its own kind.
  if (dbType === 'indexer') await connection.query('DROP TABLE sync_meta, merkle_epochs');
  return { source, connection, reopen: () => openLedger(connection, options) };
}

/** Test of a client that was away for more blocks than it fetches at once. */
export function farBehindTest(dbType: DbType, binlog: 'off' | 'required'): void {
  test(`${dbType}: a client ${FAR_BLOCKS} blocks behind catches up in ranges, and ends equal (binary log ${binlog})`, async () => {
    const { source, connection, reopen } = await createSource(dbType, 30, binlog === 'required');
    const pair = await startPair(dbType, source, { SYNC_BINLOG: binlog });
    let client = await pair.startClient();
    const before = await pair.settle(client, 129);
    assert.ok(before.equal, JSON.stringify(differences(before)));
    await client.end();
    for (let part = 0; part < 3; part++) {
      await addEmptyBlocks(connection, dbType, FAR_BLOCKS / 3);
      await (await reopen()).writeBlocks(4);
    }
    const { height } = await reopen();
    assert.ok(height > FAR_BLOCKS);
    await eventually('the server has seen them', async () => {
      return (await pair.status(pair.server))['block_height'] === height;
    });
    client = await pair.startClient();
    const verdict = await pair.settle(client, height);
    assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
    assert.doesNotMatch(client.log(), /bootstrapping .* again|is missing/);
    assert.match(client.log(), /"from":5130,"to":/);
    await client.end();
    await pair.server.end();
  });
}
