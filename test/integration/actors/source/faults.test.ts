import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, statementTag } from '../../../../src/db/connection.ts';
import { inSnapshot } from '../../../../src/db/in-snapshot.ts';
import { readGroup } from '../../../../src/replication/source/reading/group-reader.ts';
import { memoryAtTip, resumeMemory } from '../../../../src/replication/source/reading/memory-start.ts';
import { readTip } from '../../../../src/replication/tables/block-hashes.ts';
import { readLayout } from '../../../../src/replication/tables/source-layout.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { addEmptyBlock, hadEnded, sql } from '../../../support/sql.ts';
import { appendBacklog, appendBlocks, createIndexer } from '../../../support/sync/generated-indexer.ts';
import { ReplicaWatch } from '../../../support/sync/replica-watch.ts';
import { TEST_KEY } from '../../../support/sync/source-thread.ts';
import { eventually } from '../../../support/sync/sync-process.ts';

/** Ends every connection to the database but our own, as a restart of MariaDB or a firewall would. */
async function cutConnections(database: DatabaseCoordinates): Promise<number> {
  const found = await sql(
    database,
    `SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '${database.name}' AND ID <> CONNECTION_ID()`
  );
  for (const row of found) await sql(database, `KILL CONNECTION ${Number(row['ID'])}`).catch(hadEnded);
  return found.length;
}

test('lost connections are replaced; nothing is lost or repeated', async (t) => {
  const database = await createDatabase('faults');
  await createIndexer(database, { seed: 'a', blocks: 20, rows: 600 });
  const { source, settle } = await ReplicaWatch.start(t, database, 'indexer');
  await settle(119);
  for (let round = 0; round < 6; round += 1) {
    const append = appendBacklog(database, 10, 'a').catch(() => null);
    await sleep(round * 15);
    // The writer's own connection may be hit too: then its blocks are not there, and the source must not miss them.
    await cutConnections(database);
    await append;
    const [tip] = await sql(database, 'SELECT MAX(block_index) AS height FROM blocks');
    await settle(Number(tip?.['height']));
  }
  await source.until(() => source.report?.pollErrorCount === 0, 'a good poll');
});

test('ten failed polls open the circuit, no statement is tried while it is open, and it closes by itself', async (t) => {
  const database = await createDatabase('faults');
  await createIndexer(database, { seed: 'a', blocks: 10, rows: 200 });
  const { source, settle } = await ReplicaWatch.start(t, database, 'indexer');
  await settle(109);
  await sql(database, 'RENAME TABLE index_transactions TO index_transactions_gone');
  await source.until(() => source.report?.circuit === 'open', 'an open circuit');
  assert.equal(source.report?.pollErrorCount, 10);
  assert.match(String(source.report?.lastError), /index_transactions/);
  const tag = statementTag(database.name, 1);
  const statements = () =>
    sql(database, `SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE '%${tag}%' AND ID <> CONNECTION_ID()`);
  // What was under way when the circuit opened may still come to its end; a trial is no breach of it.
  await eventually('no statement runs', async () => (await statements()).length === 0);
  for (let look = 0; look < 5; look += 1) {
    const found = await statements();
    if (found.length > 0)
      await source.until(() => source.states.includes('trial'), 'a trial, told after its statement');
  }
  await sql(database, 'RENAME TABLE index_transactions_gone TO index_transactions');
  await source.until(() => source.report?.circuit === 'closed', 'a closed circuit');
  assert.ok(source.states.includes('trial'));
  await settle(await appendBlocks(database, 2, 'a'));
});

test('a row of blocks far above the tip is told by its fault and is no outage; blocks go on when it is gone', async (t) => {
  const database = await createDatabase('faults');
  await createIndexer(database, { seed: 'a', blocks: 10, rows: 200 });
  const { source, settle } = await ReplicaWatch.start(t, database, 'indexer');
  await settle(109);
  await sql(
    database,
    `INSERT INTO blocks (block_index, block_time, ledger_hash_id, actions_hash_id, contract_hash_id)
     SELECT 99999, block_time, ledger_hash_id, actions_hash_id, contract_hash_id FROM blocks WHERE block_index = 109`
  );
  // More than open the circuit where the database is away.
  await source.until(() => (source.report?.pollErrorCount ?? 0) > 12, 'failed groups');
  assert.match(String(source.report?.lastError), /block 110 is missing, and the tip is 99999/);
  assert.equal(source.report?.circuit, 'closed');
  await sql(database, 'DELETE FROM blocks WHERE block_index = 99999');
  await settle(await appendBlocks(database, 2, 'a'));
});

test('a successor continues a group of which only a part was broadcast', async (t) => {
  const database = await createDatabase('faults');
  await createIndexer(database, { seed: 'a', blocks: 20, rows: 600 });
  const connection = await connect(database, { finderKey: TEST_KEY, several: true });
  t.after(() => connection.destroy());
  const memory = await inSnapshot(connection, async () => {
    const layout = await readLayout(connection, 'indexer');
    return memoryAtTip(connection, layout, layout.heads && (await readTip(connection, layout.heads)));
  });
  await appendBacklog(database, 4, 'a');
  for await (const block of readGroup(connection, 'indexer', [], memory)) {
    memory.accept(block);
    if (block.head.height === 121) break;
  }
  await connection.query('ROLLBACK');
  const point = memory.point();
  assert.deepEqual([point.height, point.openGroup], [121, 120]);
  await addEmptyBlock(database);
  const successor = await inSnapshot(connection, async () =>
    resumeMemory(connection, await readLayout(connection, 'indexer'), JSON.parse(JSON.stringify(point)), false)
  );
  const groups = [];
  for await (const block of readGroup(connection, 'indexer', [], successor)) {
    groups.push([block.head.height, block.group, block.changes === null]);
    assert.equal(
      block.changes?.tables.get('credits')?.ranges ?? null,
      null,
      'what was broadcast and did not change is known'
    );
    successor.accept(block);
  }
  const group = { first: 120, last: 124 };
  assert.deepEqual(groups, [
    [122, group, true],
    [123, group, true],
    [124, group, false]
  ]);
  assert.equal(successor.openGroup, null);
});

test('a successor that knows nothing sends everything once: after its first group every table is what was broadcast', async (t) => {
  const database = await createDatabase('faults');
  await createIndexer(database, { seed: 'a', blocks: 120, rows: 600 });
  const connection = await connect(database, { finderKey: TEST_KEY, several: true });
  t.after(() => connection.destroy());
  const layout = await inSnapshot(connection, () => readLayout(connection, 'indexer'));
  const memory = await inSnapshot(connection, async () =>
    memoryAtTip(connection, layout, layout.heads && (await readTip(connection, layout.heads)))
  );
  const point = JSON.parse(JSON.stringify(memory.point(true)));
  const successor = await inSnapshot(connection, () => resumeMemory(connection, layout, point, false));
  const unsettled = () =>
    inSnapshot(connection, async () => {
      const found: string[] = [];
      for (const plan of layout.plans) if (!(await successor.holds(connection, plan))) found.push(plan.name);
      return found;
    });
  const next = async () => {
    await addEmptyBlock(database);
    const blocks = await Array.fromAsync(readGroup(connection, 'indexer', [], successor), (block) => {
      successor.accept(block);
      return block;
    });
    return blocks.at(-1)!.changes!;
  };
  assert.ok((await unsettled()).length > 10, 'the test itself must make it forget');
  const first = await next();
  const rangesOf = ({ tables }: typeof first) => [...tables].filter(([, { ranges }]) => ranges !== null);
  assert.ok(rangesOf(first).length > 10);
  assert.deepEqual(await unsettled(), []);
  assert.deepEqual(rangesOf(await next()), [], 'said once');
});
