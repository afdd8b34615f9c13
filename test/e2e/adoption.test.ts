import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { createDatabase } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { appendBlocks, createIndexer, reorg } from '../support/sync/generated-indexer.ts';
import { differences, type SyncPair, startPair } from '../support/sync/sync-pair.ts';
import { eventually, type SyncProcess } from '../support/sync/sync-process.ts';

const ADOPT = ['--adopt', 'indexer/litecoin/regtest'];

/** A replica as another client leaves it: the same tables, filled by plain SQL, without our marker. */
async function copy(from: DatabaseCoordinates, to: DatabaseCoordinates): Promise<void> {
  const tables = await sql(
    from,
    `SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()
     AND TABLE_NAME NOT IN ('icons', 'price_snapshots', 'pending_hub_pushes', 'mempool_transactions', 'sync_halt')`
  );
  const statements = tables.flatMap(({ name }) => [
    `CREATE TABLE ${to.name}.${name} LIKE ${from.name}.${name}`,
    name === 'contract_state'
      ? `INSERT INTO ${to.name}.${name} (id, contract_index, state_key, state_value, block_index, action_index) SELECT id, contract_index, state_key, state_value, block_index, action_index FROM ${name}`
      : `INSERT INTO ${to.name}.${name} SELECT * FROM ${name}`
  ]);
  await sql(from, `DROP DATABASE IF EXISTS ${to.name}`, `CREATE DATABASE ${to.name}`, ...statements);
}

async function prepare(): Promise<SyncPair> {
  const source = await createDatabase('adopted');
  await createIndexer(source, { seed: 'adopted', blocks: 40, rows: 2000 });
  return startPair('indexer', source);
}

async function isRefused(client: SyncProcess, reason: RegExp): Promise<void> {
  await eventually(`it is refused: ${reason}`, async () => reason.test(client.log()));
  await client.end();
}

const countBlocks = async (of: DatabaseCoordinates) =>
  Number((await sql(of, 'SELECT COUNT(*) AS n FROM blocks'))[0]!['n']);

test('a replica that another client made is refused without the flag and when it does not fit, and else followed on', async (t) => {
  const pair = await prepare();
  const { source, replica } = pair;
  let height = await appendBlocks(source, 1, 'first');
  await copy(source, replica);
  const untouched = async () => {
    assert.equal(await countBlocks(replica), 41);
    const marker = await sql(replica, "SHOW TABLES LIKE 'sync_state%'");
    assert.deepEqual(marker, []);
  };
  await t.test('REPLICA_FOREIGN: without the flag', async () => {
    await isRefused(await pair.startClient(), /REPLICA_FOREIGN/);
    await untouched();
  });
  await t.test('REPLICA_FOREIGN: with the flag for another database', async () => {
    await isRefused(await pair.startClient({}, ['--adopt', 'indexer/bitcoin/mainnet']), /REPLICA_FOREIGN/);
    await untouched();
  });
  await t.test('of another chain', async () => {
    const hashes = 'ledger_hash_id = ledger_hash_id + 1, actions_hash_id = actions_hash_id + 1';
    await sql(replica, `UPDATE blocks SET ${hashes}, contract_hash_id = contract_hash_id + 1`);
    await isRefused(
      await pair.startClient({}, ADOPT),
      /none of its blocks from 100 to 140 could be found in its source's/
    );
    await untouched();
    await copy(source, replica);
  });
  await t.test('equal at the tip, without an index and a column', async () => {
    await sql(replica, 'ALTER TABLE tokens DROP COLUMN description', 'ALTER TABLE credits DROP KEY action_index');
    const client = await pair.startClient({}, ADOPT);
    const verdict = await pair.settle(client, height);
    assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
    assert.match(client.log(), /adopting a replica/);
    assert.doesNotMatch(client.log(), /snapshot download begins/);
    await client.end();
  });
  await t.test('behind, and its last blocks of a branch that the source has left', async () => {
    await copy(source, replica);
    await reorg(source, 6, 7, 'left');
    height = await appendBlocks(source, 5, 'ahead');
    const client = await pair.startClient({}, ['--adopt', 'all']);
    const verdict = await pair.settle(client, height);
    assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
    assert.match(client.log(), /adopting a replica/);
    assert.doesNotMatch(client.log(), /snapshot download begins/);
    await client.end();
  });
  await t.test('not compared yet when its source leaves its branch: it is cut back again', async () => {
    // As a client leaves it that is killed right after it took the replica over.
    const marker = "UPDATE sync_state SET phase = 'adopting', complete = 0, verified_height = NULL, compared = NULL";
    await sql(replica, marker, 'DELETE FROM sync_undo');
    await reorg(source, 6, 7, 'left again');
    height = await appendBlocks(source, 5, 'ahead again');
    const client = await pair.startClient();
    const verdict = await pair.settle(client, height);
    assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
    assert.match(client.log(), /it is cut back again/);
    assert.doesNotMatch(client.log(), /snapshot download begins/);
    await client.end();
  });
  await pair.server.end();
});
