import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../support/sql.ts';
import { follow } from '../support/sync/compatible-pair.ts';
import { eventually } from '../support/sync/sync-process.ts';
import { followedTest } from './stand-in-server.ts';

followedTest('indexer', true);
followedTest('decoder', true);
followedTest('decoder', false);

/** Changes by hand at the tip of a decoder's replica. */
const HANDS = {
  'names another hash': (height: number) =>
    `UPDATE blocks SET block_hash_id = (SELECT block_hash_id FROM (SELECT * FROM blocks) b WHERE block_index = ${height - 1}) WHERE block_index = ${height}`,
  'rewrites the hash': (height: number) =>
    `UPDATE index_transactions SET hash = REVERSE(hash) WHERE id = (SELECT block_hash_id FROM blocks WHERE block_index = ${height})`,
  'takes the row away': (height: number) => `DELETE FROM blocks WHERE block_index = ${height}`
} as const;

for (const [what, statement] of Object.entries(HANDS)) {
  test(`a hand ${what} of a decoder replica's tip: the next block is not applied on it, and a catch-up makes it equal`, async () => {
    const { owner, replica, peer, startClient, settle } = await follow('decoder', { reorgMessages: true });
    const client = await startClient();
    await settle(client);
    for (let block = 0; block < 3; block++) await owner.ledger.writeBlock();
    await settle(client);
    await sql(replica, statement(owner.ledger.height));
    const tampered = owner.ledger.height;
    await owner.ledger.writeBlock();
    await settle(client);
    assert.match(client.log(), new RegExp(`hash chain discontinuity at block ${tampered + 1}`));
    await client.end();
    await peer.server.end();
  });
}

test('a table and a column that appear at a compatible server appear at the replica with the first rows that name them', async () => {
  const { source, replica, owner, peer, startClient, settle } = await follow('indexer', { reorgMessages: true });
  const client = await startClient();
  await settle(client);
  const next = owner.ledger.height + 1;
  await sql(
    source,
    'ALTER TABLE sends ADD COLUMN extra VARCHAR(20) COLLATE utf8mb4_bin NULL, ADD KEY extra (extra(5))',
    'CREATE TABLE late (block_index BIGINT UNSIGNED NOT NULL PRIMARY KEY, doc JSON NULL, big BIGINT UNSIGNED NOT NULL) ENGINE=InnoDB',
    `INSERT INTO late VALUES (${next}, '{"a":[1,{"b":null}]}', 18446744073709551615)`
  );
  await owner.ledger.writeBlocks(3, { actions: 12 });
  await settle(client);
  const [row] = await sql(replica, 'SELECT * FROM late');
  assert.deepEqual({ ...row }, { block_index: next, doc: '{"a":[1,{"b":null}]}', big: '18446744073709551615' });
  await client.end();
  await peer.server.end();
});

test('rows of a table that a compatible server does not describe are refused by its name, and nothing of the block is applied', async () => {
  const options = { reorgMessages: true, hidden: 'late' };
  const { source, replica, owner, peer, startClient, settle } = await follow('decoder', options);
  const client = await startClient();
  await settle(client);
  const { height } = owner.ledger;
  await sql(
    source,
    'CREATE TABLE late (block_index BIGINT UNSIGNED NOT NULL PRIMARY KEY) ENGINE=InnoDB',
    `INSERT INTO late VALUES (${height + 1})`
  );
  await owner.ledger.writeBlock();
  await eventually('it is refused by name', async () => /unknown table late/.test(client.log()));
  const [tip] = await sql(replica, 'SELECT MAX(block_index) AS h FROM blocks');
  assert.equal(Number(tip!['h']), height);
  await client.end();
  await peer.server.end();
});

test('adopting a replica that another client made from a compatible server, if its tip is in the chain', async () => {
  const { source, replica, owner, peer, startClient, settle } = await follow('decoder', { reorgMessages: true });
  await sql(source, `CREATE DATABASE ${replica.name}`);
  const names = (await sql(source, 'SHOW TABLES')).map((row) => String(Object.values(row)[0]));
  const parentsFirst = names.sort((a, b) => Number(b.startsWith('index_')) - Number(a.startsWith('index_')));
  const copy = async () => {
    for (const name of parentsFirst.toReversed()) await sql(source, `DELETE FROM ${replica.name}.${name}`);
    for (const name of parentsFirst)
      await sql(source, `INSERT INTO ${replica.name}.${name} SELECT * FROM ${source.name}.${name}`);
  };
  for (const name of parentsFirst) await sql(source, `CREATE TABLE ${replica.name}.${name} LIKE ${name}`);
  await copy();
  const left = owner.ledger.height;
  await owner.ledger.reorg(2, { count: 4 });
  const refused = await startClient(['--adopt', 'all']);
  await eventually('it is refused', async () =>
    new RegExp(`block ${left - 1} is of another branch`).test(refused.log())
  );
  await refused.end();
  const [tip] = await sql(replica, 'SELECT MAX(block_index) AS h FROM blocks');
  assert.equal(Number(tip!['h']), left);
  await copy();
  await owner.ledger.writeBlocks(3);
  const client = await startClient(['--adopt', 'decoder/litecoin/regtest']);
  await settle(client);
  assert.match(client.log(), /adopting a replica/);
  assert.doesNotMatch(client.log(), /snapshot download begins/);
  await client.end();
  await peer.server.end();
});
