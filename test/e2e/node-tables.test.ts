import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Connection, connect, quoteName } from '../../src/db/connection.ts';
import { compareDatabases } from '../../src/verify/compare.ts';
import type { DatabaseCoordinates, DbType } from '../../src/wire/data/database.ts';
import { atEnd } from '../support/cleanup.ts';
import { createDatabase } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { differences, type SyncPair, startPair } from '../support/sync/sync-pair.ts';
import { eventually, type SyncProcess } from '../support/sync/sync-process.ts';
import type { Setting } from '../support/tables-in-use/block-context.ts';
import { definitionsOf } from '../support/tables-in-use/create-tables.ts';
import { createLedger, type Ledger } from '../support/tables-in-use/ledger.ts';
import { writeNodeRows } from '../support/tables-in-use/node-rows.ts';
import { NODE_TABLES } from '../support/tables-in-use/tables.ts';

const EPOCH = 5;
const FIRST_BLOCKS = 12;

const OWN_TABLES: Readonly<Record<DbType, readonly string[]>> = {
  indexer: NODE_TABLES,
  decoder: ['mempool_transactions', 'schema_migrations', 'dispenser_extension_undo']
};
/** Changes by hand that need a repair. */
const BY_HAND: Readonly<Record<DbType, string>> = {
  indexer: 'DELETE FROM credits ORDER BY action_index LIMIT 3',
  decoder: 'DELETE FROM transaction_outputs ORDER BY tx_index LIMIT 3'
};

/** Gives a host its own tables, as the services beside the replica make them, before there is a replica. */
async function makeOwnTables(host: DatabaseCoordinates, source: DatabaseCoordinates, tables: readonly string[]) {
  await sql({ ...source }, `CREATE DATABASE ${quoteName(host.name)}`);
  for (const table of tables)
    await sql(host, `CREATE TABLE ${quoteName(table)} LIKE ${quoteName(source.name)}.${quoteName(table)}`);
}

async function open(to: DatabaseCoordinates): Promise<Connection> {
  const connection = await connect(to);
  atEnd(() => connection.end());
  return connection;
}

const contentOf = async (host: DatabaseCoordinates, tables: readonly string[]) =>
  Object.fromEntries(
    await Promise.all(
      tables.map(async (table) => {
        const found = await sql(host, `SELECT * FROM ${quoteName(table)}`);
        return [table, found.map((row) => JSON.stringify(row)).sort()] as const;
      })
    )
  );

/** Writes blocks up to the end of an epoch, and waits until the replica is compared there. */
async function endEpoch(pair: SyncPair, ledger: Ledger, client: SyncProcess): Promise<Record<string, unknown>> {
  await ledger.writeBlocks(EPOCH - (ledger.height % EPOCH), { actions: 6 });
  await ledger.writeNodeRows();
  let status: Record<string, unknown> = {};
  await eventually(`verified at ${ledger.height}`, async () => {
    status = await pair.status(client);
    return status['phase'] === 'live' && status['verified_height'] === ledger.height;
  }).catch((fault: Error) => assert.fail(`${fault.message}: ${JSON.stringify(status)}\n${client.log().slice(-3000)}`));
  return status;
}

for (const dbType of ['indexer', 'decoder'] as const) {
  test(`${dbType}: what the replica's host writes into tables of one node stays, whatever the replica goes through`, async (t) => {
    const tables = OWN_TABLES[dbType];
    const source = await createDatabase('node_tables');
    const ledger = await createLedger(await open(source), { dbType, seed: 'source' });
    await ledger.writeBlocks(FIRST_BLOCKS, { actions: 6 });
    await ledger.writeNodeRows();
    const pair = await startPair(dbType, source, { MERKLE_EPOCH_SIZE: EPOCH });
    await makeOwnTables(pair.replica, source, tables);
    const setting: Setting = {
      connection: await open(pair.replica),
      tables: definitionsOf({ dbType }),
      seed: 'host',
      chain: 'bitcoin',
      isOld: false
    };
    const write = () => writeNodeRows(setting, dbType, ledger.height);
    if (dbType === 'decoder')
      await sql(pair.replica, "SET SESSION sql_mode = ''", 'INSERT INTO dispenser_extension_undo () VALUES ()');
    await write();
    let own = await contentOf(pair.replica, tables);
    const assertKept = async (what: string) => {
      // The replica makes its own control tables, of its own definition.
      const verdict = await compareDatabases(source, pair.replica, { local: ['sync_meta', 'merkle_epochs'] });
      assert.ok(verdict.equal, `${what}: ${JSON.stringify(differences(verdict))}`);
      assert.deepEqual(await contentOf(pair.replica, tables), own, what);
      await write();
      own = await contentOf(pair.replica, tables);
    };
    let client = await pair.startClient({ MERKLE_EPOCH_SIZE: EPOCH });
    await t.test('bootstrap, blocks and the comparison at the end of an epoch', async () => {
      const status = await endEpoch(pair, ledger, client);
      await assertKept('after the bootstrap');
      assert.equal(status['repairs'], 0);
      assert.equal((await endEpoch(pair, ledger, client))['repairs'], 0, 'own rows are no difference');
      await assertKept('after an epoch');
    });
    await t.test('a repair', async () => {
      await sql(pair.replica, 'SET foreign_key_checks = 0', BY_HAND[dbType]);
      assert.ok(Number((await endEpoch(pair, ledger, client))['repairs']) > 0);
      await assertKept('after a repair');
    });
    await t.test('a reorg', async () => {
      await ledger.reorg(3);
      await endEpoch(pair, ledger, client);
      await assertKept('after a reorg');
    });
    await t.test('a catch-up', async () => {
      await client.end();
      await ledger.writeBlocks(2 * EPOCH, { actions: 6 });
      await ledger.writeNodeRows();
      client = await pair.startClient({ MERKLE_EPOCH_SIZE: EPOCH });
      await endEpoch(pair, ledger, client);
      await assertKept('after a catch-up');
    });
    await t.test('another bootstrap', async () => {
      await client.end();
      await sql(pair.replica, "UPDATE sync_state SET complete = 0, phase = 'bootstrapping'");
      client = await pair.startClient({ MERKLE_EPOCH_SIZE: EPOCH });
      await endEpoch(pair, ledger, client);
      assert.match(client.log(), /bootstrap of \S+ is complete/);
      await assertKept('after another bootstrap');
    });
    await client.end();
    await pair.server.end();
  });
}
