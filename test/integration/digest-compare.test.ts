import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SourceDigests } from '../../actors/source-digests.ts';
import { type Connection, connect } from '../../src/db/connection.ts';
import { type Comparison, DigestComparison, type DigestSource } from '../../src/db/digest-compare.ts';
import { repair } from '../../src/db/repair.ts';
import { readReplicaState, writeReplicaState } from '../../src/db/replica-state.ts';
import { readTopology } from '../../src/db/topology.ts';
import type { DatabaseCoordinates } from '../../src/wire/database.ts';
import type { DigestQuery } from '../../src/wire/digest.ts';
import { createDatabase } from '../support/mariadb.ts';
import { apply, block, content, context, createReplica, FIRST } from '../support/small-replica.ts';
import { sql } from '../support/sql.ts';

/** A source's answers, read from its database as its actor does, and how many were given. */
function digestsOf(database: DatabaseCoordinates) {
  const id = { dbType: 'decoder', chain: 'litecoin', network: 'regtest' } as const;
  const digests = new SourceDigests({ id, localTables: [] }, () => connect(database), {
    reorgs: () => 0,
    isSettled: async () => true
  });
  let asked = 0;
  /** What happens at the source before it is asked for rows. */
  let beforeRows = async () => undefined as unknown;
  const ask = async (query: Partial<DigestQuery>) => {
    asked += 1;
    return JSON.parse(await digests.read({ table: null, range: null, rows: false, ...query }));
  };
  const source: DigestSource = {
    digest: () => ask({}),
    digestRanges: (table, range) => ask({ table, range }),
    digestRows: async (table, range) => {
      await beforeRows();
      return ask({ table, range, rows: true });
    }
  };
  const meanwhile = (work: () => Promise<unknown>) => {
    beforeRows = work;
  };
  return { source, asked: () => asked, meanwhile };
}

/** A replica at block 1 and a source that is equal to it. */
async function createPair() {
  const { to, writer } = await createReplica();
  await apply(writer, [FIRST]);
  const database = await createDatabase('compared');
  const names = Object.keys(await content(writer));
  await sql(
    database,
    'SET foreign_key_checks = 0',
    ...names.flatMap((name) => [
      `CREATE TABLE ${name} LIKE ${to.name}.${name}`,
      `INSERT INTO ${name} SELECT * FROM ${to.name}.${name}`
    ])
  );
  const look = await connect(database);
  await writeReplicaState(writer, { schemaFingerprint: (await readTopology(look)).fingerprint });
  await look.end();
  const { source, asked, meanwhile } = digestsOf(database);
  const { schema, epochSize } = await context(writer);
  const compare = async () => {
    const reader = await connect(to);
    const found = await new DigestComparison(reader, schema, source).compare();
    await reader.end();
    return found;
  };
  const mend = (at: Connection, found: Comparison, height = found.height) =>
    repair(at, { schema, epochSize }, height, found.kind === 'different' ? found.tables : []);
  return { to, writer, database, compare, mend, asked, meanwhile };
}

test('rows that differ are found in tables with as many rows, and repaired within few requests', async () => {
  const { writer, compare, mend, asked } = await createPair();
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
  assert.equal(asked() - asks, 1 + 2 * 4, 'one for all tables, two for each that differs');
  await mend(writer, found);
  assert.deepEqual(await content(writer), before);
  assert.deepEqual([(await compare()).kind, (await readReplicaState(writer)).repairs], ['equal', 1]);
  writer.destroy();
});

test('a comparison with a source at another block says nothing', async () => {
  const { writer, database, compare } = await createPair();
  await sql(database, "INSERT INTO blocks VALUES (2, 'h2')", 'DELETE FROM tokens');
  const { kind } = await compare();
  assert.equal(kind, 'elsewhere');
  writer.destroy();
});

test('rows that a source tells of at another block than its digests are no difference', async () => {
  const { writer, database, compare, meanwhile } = await createPair();
  await writer.query("UPDATE tokens SET supply = 7 WHERE tick = 'AAA'");
  // The next block of the source changes the row that the replica lacks.
  meanwhile(() =>
    sql(database, "INSERT INTO blocks VALUES (2, 'h2')", "UPDATE tokens SET supply = 8 WHERE tick = 'AAA'")
  );
  assert.deepEqual(await compare(), { kind: 'elsewhere', height: 1, sourceHeight: 2 });
  writer.destroy();
});

test('ROW_CONTRADICTION: a repair that fails in its last table changes nothing in the first', async () => {
  const { to, writer, compare, mend } = await createPair();
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
  const { to, writer, compare, mend } = await createPair();
  await writer.query("UPDATE notes SET text = 'other' WHERE text = 'one'");
  const found = await compare();
  await apply(writer, [block(2, {})]);
  const before = await content(writer);
  await assert.rejects(mend(writer, found), { code: 'REPLICA_MOVED' });
  const look = await connect(to);
  assert.deepEqual(await content(look), before);
  await look.end();
});
