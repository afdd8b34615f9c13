import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Connection, connect, rows } from '../../../../src/db/connection.ts';
import { readReplicaState, writeReplicaState } from '../../../../src/replication/replica/database/state.ts';
import { sql } from '../../../support/sql.ts';
import { createComparedPair } from '../../../support/sync/compared-pair.ts';
import { apply, block, content } from '../../../support/sync/small-replica.ts';

test('rows that differ are found in tables with as many rows, and repaired within few requests', async () => {
  const { writer, compare, mend, asked } = await createComparedPair();
  assert.equal((await compare()).kind, 'equal');
  const before = await content(writer);
  await writer.query("UPDATE tokens SET supply = 7 WHERE tick = 'AAA'");
  await writer.query("UPDATE notes SET text = 'other' WHERE text = 'one'");
  await writer.query('UPDATE sends SET memo = NULL LIMIT 1');
  await writer.query("UPDATE index_names SET name = 'six' WHERE id = 5");
  const asks = asked();
  const found = await compare();
  assert.ok(found.kind === 'different');
  assert.deepEqual(found.tables.map(({ table }) => table).sort(), ['index_names', 'notes', 'sends', 'tokens']);
  for (const { surplus, missing } of found.tables) assert.deepEqual([surplus.length, missing.length], [1, 1]);
  assert.equal(asked() - asks, 2 + 2 * 4, 'the key, one for all tables, two for each that differs');
  await mend(writer, found);
  assert.deepEqual(await content(writer), before);
  assert.deepEqual([(await compare()).kind, (await readReplicaState(writer)).repairs], ['equal', 1]);
  writer.destroy();
});

test('a table that was made for rows of a source, and that this source does not name, is told; one of the operator is not', async () => {
  const { writer, compare } = await createComparedPair();
  await writer.query("CREATE TABLE stale (id INT PRIMARY KEY) COMMENT = 'replicated by platform-node'");
  await writer.query('CREATE TABLE of_the_operator (id INT PRIMARY KEY)');
  const found = await compare();
  assert.deepEqual(found.kind === 'equal' && found.unnamed, ['stale']);
  writer.destroy();
});

test('after a repair only what was repaired is read again, unless something else is wrong there', async () => {
  const { writer, compare, recheck, mend, asked } = await createComparedPair();
  await writer.query("UPDATE notes SET text = 'other' WHERE text = 'one'");
  await writer.query('UPDATE sends SET memo = NULL LIMIT 1');
  const found = await compare();
  const asks = asked();
  const unrepaired = await recheck(found);
  assert.ok(unrepaired.kind === 'different');
  assert.equal(unrepaired.tables.length, 2);
  await mend(writer, found);
  const before = asked();
  assert.ok(before - asks > 1, 'what is not repaired is compared anew');
  const repaired = await recheck(found);
  assert.ok(repaired.kind === 'equal');
  assert.equal(asked() - before, 1, 'whether the source still says the same');
  assert.equal((await compare()).kind, 'equal');
  await apply(writer, [block(2, {})]);
  assert.equal((await recheck(found)).kind, 'elsewhere', 'the replica is at another block by now');
  writer.destroy();
});

/** Tables as they are deployed: `block_index` may be NULL, and a row of `rewards` has a key besides its id. */
const DEPLOYED = [
  'CREATE TABLE blocks_log (id INT AUTO_INCREMENT PRIMARY KEY, block_index INT NULL, note VARCHAR(9) NULL, KEY (block_index))',
  'CREATE TABLE rewards (id INT AUTO_INCREMENT PRIMARY KEY, block_index INT NOT NULL, who INT NOT NULL, UNIQUE KEY (who))',
  "INSERT INTO blocks_log VALUES (1, 1, 'a'), (2, NULL, 'b'), (3, -4, 'c'), (4, 9, 'd')",
  'INSERT INTO rewards VALUES (5, 1, 1), (6, 1, 2)'
];
const idsOf = async (writer: Connection, table: string) =>
  (await rows(writer, `SELECT id FROM ${table} ORDER BY id`)).map(({ id }) => id);

test('rows without a block, and those ahead of the tip, are compared and repaired', async () => {
  const { writer, database, compare, mend } = await createComparedPair(DEPLOYED);
  await sql(
    database,
    "INSERT INTO blocks_log VALUES (7, NULL, 'new')",
    "UPDATE blocks_log SET note = 'other' WHERE id IN (3, 4)",
    'DELETE FROM blocks_log WHERE id = 2',
    'INSERT INTO transactions VALUES (90, 5)',
    "INSERT INTO sends VALUES (90, 'ahead'), (91, 'without a parent')"
  );
  for (let found = await compare(), round = 0; found.kind === 'different' && round < 3; round++) {
    await mend(writer, found);
    found = await compare();
  }
  assert.equal((await compare()).kind, 'equal');
  assert.deepEqual(await idsOf(writer, 'blocks_log'), [1, 3, 4, 7]);
  assert.deepEqual((await content(writer))['sends']!.slice(2), [
    '{"tx_index":90,"memo":"ahead"}',
    '{"tx_index":91,"memo":"without a parent"}'
  ]);
  writer.destroy();
});

test('a row with another id than the source’s is repaired, and ids that were dealt otherwise trade places', async () => {
  const { writer, compare, mend } = await createComparedPair(DEPLOYED);
  await writer.query('UPDATE rewards SET id = 50 - id');
  await writer.query('UPDATE rewards SET id = 50 - id + IF(id = 45, 1, -1)');
  await writer.query('UPDATE blocks_log SET id = 8 WHERE id = 4');
  assert.deepEqual(await idsOf(writer, 'blocks_log'), [1, 2, 3, 8]);
  const found = await compare();
  assert.ok(found.kind === 'different');
  assert.deepEqual(found.tables.map(({ table }) => table).sort(), ['blocks_log', 'rewards']);
  await mend(writer, found);
  const after = await compare();
  assert.deepEqual([after.kind, after.kind === 'equal' && after.ownIds], ['equal', []]);
  assert.deepEqual(await idsOf(writer, 'blocks_log'), [1, 2, 3, 4]);
  assert.deepEqual(await rows(writer, 'SELECT id, who FROM rewards ORDER BY id'), [
    { id: 5, who: 1 },
    { id: 6, who: 2 }
  ]);
  writer.destroy();
});

test('a replica with the ids of another source keeps them where a key of its own names the rows, and there alone', async () => {
  const { writer, database, compare, mend, attest } = await createComparedPair(DEPLOYED);
  await writeReplicaState(writer, { ids: { source: 'the first', own: [] } });
  await sql(database, 'UPDATE rewards SET id = id + 40', 'UPDATE blocks_log SET id = id + 40');
  const options = { source: 'another' };
  const attested = await attest();
  assert.deepEqual(
    attested.kind === 'told' && attested.different,
    [],
    'a source that is not followed has ids of its own'
  );
  const found = await compare(options);
  assert.ok(found.kind === 'different');
  assert.deepEqual(
    found.tables.map(({ table }) => table),
    ['blocks_log'],
    'its rows have no other name'
  );
  assert.deepEqual(found.ownIds, ['rewards']);
  await mend(writer, found);
  const after = await compare(options);
  assert.deepEqual([after.kind, after.kind === 'equal' && after.ownIds], ['equal', ['rewards']]);
  assert.deepEqual(
    [await idsOf(writer, 'rewards'), await idsOf(writer, 'blocks_log')],
    [
      [5, 6],
      [41, 42, 43, 44]
    ]
  );
  assert.equal((await compare({ ...options, allIds: true })).kind, 'different');

  await writeReplicaState(writer, { ids: { source: 'another', own: ['rewards'] } });
  await sql(database, 'UPDATE rewards SET block_index = 0 WHERE who = 2', 'INSERT INTO rewards VALUES (44, 1, 3)');
  const changed = await compare(options);
  assert.ok(changed.kind === 'different');
  await mend(writer, changed);
  assert.equal((await compare(options)).kind, 'equal');
  assert.deepEqual(
    await idsOf(writer, 'rewards'),
    [5, 6, 44],
    'a row that changed keeps its id, a new one has its source’s'
  );
  await sql(database, 'UPDATE rewards SET id = id - 40 WHERE id <> 44', "INSERT INTO blocks VALUES (2, 'h2')");
  await apply(writer, [block(2, {})]);
  const again = await compare(options);
  assert.deepEqual(
    [again.kind, again.kind === 'equal' && again.ownIds],
    ['equal', []],
    'the ids are the source’s again'
  );
  writer.destroy();
});

test('tables of one node are neither compared nor repaired, whatever a replica’s host writes into them', async () => {
  const { writer, compare, database } = await createComparedPair([
    'CREATE TABLE policy_snapshots (id INT AUTO_INCREMENT PRIMARY KEY, block_index INT NOT NULL, policy VARCHAR(9))',
    "INSERT INTO policy_snapshots VALUES (1, 1, 'both')"
  ]);
  await writer.query("INSERT INTO policy_snapshots VALUES (2, 1, 'the host')");
  await sql(database, "INSERT INTO policy_snapshots VALUES (2, 1, 'the node')");
  assert.equal((await compare()).kind, 'equal');
  await apply(writer, [block(2, { policy_snapshots: [{ id: 3, block_index: 2, policy: 'sent' }] })]);
  assert.deepEqual(await idsOf(writer, 'policy_snapshots'), [1, 2]);
  writer.destroy();
});

test('a comparison with a source at another block says nothing', async () => {
  const { writer, database, compare } = await createComparedPair();
  await sql(database, "INSERT INTO blocks VALUES (2, 'h2')", 'DELETE FROM tokens');
  const { kind } = await compare();
  assert.equal(kind, 'elsewhere');
  writer.destroy();
});

test('rows that a source tells of at another block than its digests are no difference', async () => {
  const { writer, database, compare, meanwhile, state } = await createComparedPair();
  await writer.query("UPDATE tokens SET supply = 7 WHERE tick = 'AAA'");
  const elsewhere = [{ block_height: 2 }, { block_hash: 'of another branch' }, { fingerprint: 'of another schema' }];
  for (const stated of elsewhere) {
    state(stated);
    const sourceHeight = stated.block_height ?? 1;
    const found = await compare();
    assert.deepEqual(
      found,
      { kind: 'elsewhere', height: 1, sourceHeight, unsettled: ['tokens'] },
      JSON.stringify(stated)
    );
  }
  state({});
  // The next block of the source changes the row that the replica lacks: what is compared is the block before it.
  meanwhile(() =>
    sql(database, "INSERT INTO blocks VALUES (2, 'h2')", "UPDATE tokens SET supply = 8 WHERE tick = 'AAA'")
  );
  const found = await compare();
  assert.ok(found.kind === 'different');
  const differing = found.tables.flatMap(({ surplus, missing }) => [...surplus, ...missing]);
  assert.ok(differing.length > 0 && !differing.flat().includes('8.00000000'), JSON.stringify(differing));
  writer.destroy();
});

test('ROW_CONTRADICTION: a repair that fails in its last table changes nothing in the first', async () => {
  const { to, writer, compare, mend } = await createComparedPair();
  await writer.query("UPDATE notes SET text = 'other' WHERE text = 'one'");
  await writer.query("UPDATE tokens SET tick = 'CCC', supply = 7 WHERE tick = 'AAA'");
  const found = await compare();
  // In the meantime a row comes under a key that no identity names.
  await writer.query('ALTER TABLE tokens ADD UNIQUE KEY by_supply (supply)');
  await writer.query("INSERT INTO tokens (tick, supply) VALUES ('DDD', 1)");
  const before = await content(writer);
  await assert.rejects(mend(writer, found), { code: 'ROW_CONTRADICTION' });
  await assert.rejects(writer.query('SELECT 1'), 'the connection is used again');
  const look = await connect(to);
  assert.deepEqual(await content(look), before);
  assert.equal((await readReplicaState(look)).repairs, 0);
  await look.end();
});

test('REPLICA_MOVED: what was found at one block is not repaired at another', async () => {
  const { to, writer, compare, mend } = await createComparedPair();
  await writer.query("UPDATE notes SET text = 'other' WHERE text = 'one'");
  const found = await compare();
  await apply(writer, [block(2, {})]);
  const before = await content(writer);
  await assert.rejects(mend(writer, found), { code: 'REPLICA_MOVED' });
  const look = await connect(to);
  assert.deepEqual(await content(look), before);
  await look.end();
});
