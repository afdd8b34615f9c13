import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasCode } from '../../src/errors.ts';
import { compareDatabases } from '../../src/verify/compare.ts';
import type { DatabaseCoordinates, DbType } from '../../src/wire/database.ts';
import { CompatibleServer, type CompatibleServerOptions, UNSENT } from '../support/compatible-server.ts';
import * as decoder from '../support/generated-decoder.ts';
import * as indexer from '../support/generated-indexer.ts';
import { createDatabase, dropAfterwards } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { differences, REPLICA_PREFIX, startTestHub } from '../support/sync-pair.ts';
import { eventually, replicasAt, type SyncProcess, startSyncProcess } from '../support/sync-process.ts';

const SIZE = { seed: 'compatible', blocks: 30, rows: 1500 };
const GENERATORS = {
  indexer: { ...indexer, create: indexer.createIndexer },
  decoder: { ...decoder, create: decoder.createDecoder }
} as const;
const LIVE_DEADLINE_MS = 60_000;

/** A compatible server over a generated database, and a real client that follows it. */
async function follow(dbType: DbType, options: CompatibleServerOptions) {
  const source = await createDatabase('compatible');
  await GENERATORS[dbType].create(source, SIZE);
  const hub = await startTestHub([[dbType, source]]);
  const server = await CompatibleServer.start(dbType, source, options);
  const replica: DatabaseCoordinates = { ...source, name: `${REPLICA_PREFIX}${source.name}` };
  dropAfterwards(replica, replica.name);
  const startClient = (options: readonly string[] = []) =>
    startSyncProcess(
      {
        HUB_API_HOST: '127.0.0.1',
        HUB_PORT: hub,
        SYNC_MODE: 'client',
        SYNC_SOURCES: server.url,
        ...replicasAt(source),
        REPLICA_DB_PREFIX: REPLICA_PREFIX,
        CLIENT_RECONNECT_DELAY: 100,
        LOG_LEVEL: 'debug'
      },
      options
    );
  const local = [...UNSENT[dbType], 'sync_meta', 'merkle_epochs'];
  const settle = async (client: SyncProcess, height: number) => {
    let said: unknown;
    let verdict: Awaited<ReturnType<typeof compareDatabases>> | undefined;
    await eventually(`equal at block ${height}`, LIVE_DEADLINE_MS, async () => {
      const { body } = await client.get(`/status/${dbType}/litecoin/regtest`);
      said = body;
      if (body['block_height'] !== height || body['phase'] !== 'live') return false;
      // A replica that is just being made anew cannot be compared.
      verdict = await compareDatabases(source, replica, { local }).catch((fault: unknown) => {
        if (hasCode(fault, 'DATABASE_UNAVAILABLE')) return undefined;
        throw fault;
      });
      return verdict?.equal === true;
    }).catch((fault: Error) => {
      const found = verdict && JSON.stringify(differences(verdict));
      throw new Error(`${fault.message}; ${JSON.stringify(said)}; ${found}\n${client.log().slice(-5000)}`);
    });
    assert.ok(verdict!.tables.length >= (dbType === 'indexer' ? 30 : 6));
  };
  return { source, replica, server, startClient, settle };
}

for (const dbType of ['indexer', 'decoder'] as const) {
  const { appendBlocks, appendBacklog, reorg } = GENERATORS[dbType];
  for (const reorgMessages of [true, false]) {
    const how = reorgMessages ? 'reorgs announced' : 'reorgs not announced';
    test(`${dbType}, ${how}: a compatible server is followed, and what it sends ends equal`, async (t) => {
      const { source, server, startClient, settle } = await follow(dbType, { reorgMessages });
      let height = await appendBlocks(source, 1, 'first');
      let client = await startClient();
      await t.test('bootstrap', () => settle(client, height));
      await t.test('live', async () => {
        height = await appendBlocks(source, 25, 'live', 15);
        await settle(client, height);
      });
      await t.test('a backlog between two polls', async () => {
        height = await appendBacklog(source, 10, 'backlog');
        await settle(client, height);
      });
      await t.test('a reorg', async () => {
        height = await reorg(source, 5, 7, 'reorg');
        await settle(client, height);
      });
      await t.test('a reorg at equal height', async () => {
        height = await reorg(source, 2, 2, 'equal');
        await settle(client, height);
      });
      if (!reorgMessages) {
        await client.end();
        return server.end();
      }
      await t.test('a cut, and blocks meanwhile', async () => {
        server.cut();
        height = await appendBlocks(source, 6, 'cut', 5);
        await settle(client, height);
      });
      await t.test('catching up after a pause', async () => {
        await client.end();
        height = await appendBlocks(source, 20, 'away');
        client = await startClient();
        await settle(client, height);
      });
      await t.test('a reorg that was missed', async () => {
        await client.end();
        height = await reorg(source, 4, 9, 'missed');
        client = await startClient();
        await settle(client, height);
      });
      await t.test('a reorg to the same height that was missed', async () => {
        await client.end();
        height = await reorg(source, 3, 3, 'missed, equal');
        client = await startClient();
        await settle(client, height);
      });
      assert.equal(client.log().match(/bootstrapped anew/g), null);
      await client.end();
      await server.end();
    });
  }
}

test('a table and a column that appear at a compatible server appear at the replica with the first rows that name them', async () => {
  const { source, replica, server, startClient, settle } = await follow('indexer', { reorgMessages: true });
  const client = await startClient();
  let height = await indexer.appendBlocks(source, 2, 'before');
  await settle(client, height);
  await sql(
    source,
    'ALTER TABLE sends ADD COLUMN extra VARCHAR(20) COLLATE utf8mb4_bin NULL, ADD KEY extra (extra(5))',
    'CREATE TABLE late (block_index BIGINT UNSIGNED NOT NULL PRIMARY KEY, doc JSON NULL, big BIGINT UNSIGNED NOT NULL) ENGINE=InnoDB',
    `INSERT INTO late VALUES (${height + 1}, '{"a":[1,{"b":null}]}', 18446744073709551615)`
  );
  height = await indexer.appendBlocks(source, 3, 'after', 20);
  await settle(client, height);
  const [row] = await sql(replica, 'SELECT * FROM late');
  assert.deepEqual({ ...row }, { block_index: height - 2, doc: '{"a":[1,{"b":null}]}', big: '18446744073709551615' });
  await client.end();
  await server.end();
});

test('rows of a table that a compatible server does not describe are refused by its name, and nothing of the block is applied', async () => {
  const { source, replica, server, startClient, settle } = await follow('decoder', {
    reorgMessages: true,
    hidden: 'late'
  });
  const client = await startClient();
  const height = await decoder.appendBlocks(source, 2, 'before');
  await settle(client, height);
  await sql(
    source,
    'CREATE TABLE late (block_index BIGINT UNSIGNED NOT NULL PRIMARY KEY) ENGINE=InnoDB',
    `INSERT INTO late VALUES (${height + 1})`
  );
  await decoder.appendBlocks(source, 1, 'after');
  await eventually('it is refused by name', LIVE_DEADLINE_MS, async () => /unknown table late/.test(client.log()));
  const [tip] = await sql(replica, 'SELECT MAX(block_index) AS h FROM blocks');
  assert.equal(Number(tip!['h']), height);
  await client.end();
  await server.end();
});

test('a replica that another client made is taken over from a compatible server, if its tip is in the chain', async () => {
  const { source, replica, server, startClient, settle } = await follow('decoder', { reorgMessages: true });
  await sql(source, `CREATE DATABASE ${replica.name}`);
  const tables = await sql(source, 'SHOW TABLES');
  for (const row of tables) {
    const name = String(Object.values(row)[0]);
    await sql(
      source,
      `CREATE TABLE ${replica.name}.${name} LIKE ${name}`,
      `INSERT INTO ${replica.name}.${name} SELECT * FROM ${name}`
    );
  }
  let height = await decoder.reorg(source, 2, 4, 'left');
  const refused = await startClient(['--adopt', 'all']);
  await eventually('it is refused', LIVE_DEADLINE_MS, async () => /block 128 is of another branch/.test(refused.log()));
  await refused.end();
  const [tip] = await sql(replica, 'SELECT MAX(block_index) AS h FROM blocks');
  assert.equal(Number(tip!['h']), 129);
  for (const row of tables) {
    const name = String(Object.values(row)[0]);
    await sql(
      source,
      `DELETE FROM ${replica.name}.${name}`,
      `INSERT INTO ${replica.name}.${name} SELECT * FROM ${name}`
    );
  }
  height = await decoder.appendBlocks(source, 3, 'ahead');
  const client = await startClient(['--adopt', 'decoder/litecoin/regtest']);
  await settle(client, height);
  assert.match(client.log(), /taken over/);
  assert.doesNotMatch(client.log(), /snapshot download begins/);
  await client.end();
  await server.end();
});
