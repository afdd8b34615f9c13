import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { addEmptyBlock, sql } from '../../../support/sql.ts';
import { appendBacklog, appendBlocks, createIndexer, reorg } from '../../../support/sync/generated-indexer.ts';
import { plainRoots } from '../../../support/sync/plain-roots.ts';
import { SourceThread } from '../../../support/sync/source-thread.ts';

const isReady = (source: SourceThread) => () => source.report?.stateCommitment?.phase === 'ready';

/** The roots in the last message, which must be of this block. */
function lastRoots(source: SourceThread, height: number) {
  const message = source.messages.at(-1);
  assert.ok(message?.type === 'block' && message.block_index === height);
  const { balances_root, block_merkle_root } = message;
  return { height, balances_root, block_merkle_root };
}

async function assertRoots(source: SourceThread, database: DatabaseCoordinates, height: number): Promise<void> {
  await source.reaches(height);
  assert.deepEqual(lastRoots(source, height), await plainRoots(database));
}

test('the last block of each group carries the roots by their definition, across backlogs, reorgs and a successor', async (t) => {
  const database = await createDatabase('roots');
  await createIndexer(database, { seed: 'a', blocks: 30, rows: 1_000 });
  let source = SourceThread.start(t, database, 'indexer');
  await source.until(isReady(source), 'a balance tree');
  assert.equal(source.report?.stateCommitment?.reason, null);
  for (let block = 0; block < 4; block++)
    await assertRoots(source, database, await appendBlocks(database, 1, `s${block}`));

  const height = await appendBacklog(database, 8, 'backlog');
  await assertRoots(source, database, height);
  const inside = source.messages.slice(-8, -1);
  assert.ok(
    inside.every((message) => message.type === 'block' && message.balances_root === null),
    'within a group'
  );

  await assertRoots(source, database, await reorg(database, 3, 1, 'into the backlog'));
  await assertRoots(source, database, await reorg(database, 1, 2, 'of the tip'));
  assert.equal(source.report?.stateCommitment?.phase, 'ready', 'taken back, not made anew');

  const deep = await reorg(database, 20, 21, 'below the tree');
  await source.reaches(deep);
  await source.until(isReady(source), 'another tree');
  await assertRoots(source, database, await appendBlocks(database, 1, 'after'));

  const { resume } = source;
  await source.kill();
  await appendBlocks(database, 2, 'while down');
  source = new SourceThread(database, 'indexer', { resume });
  await source.until(isReady(source), "the successor's tree");
  await assertRoots(source, database, await appendBlocks(database, 1, 'again'));
});

test('a negative balance leaves null roots and its reason, and is no reason to stop', async (t) => {
  const database = await createDatabase('roots');
  await createIndexer(database, { seed: 'b', blocks: 5, rows: 100 });
  const source = SourceThread.start(t, database, 'indexer');
  await source.until(isReady(source), 'a balance tree');
  await sql(database, "UPDATE balances SET amount = '-1' ORDER BY id LIMIT 1");
  const height = await addEmptyBlock(database);
  await source.reaches(height);
  assert.equal(lastRoots(source, height).balances_root, null);
  await source.until(() => source.report?.stateCommitment?.phase === 'failed', 'the reason');
  assert.match(source.report?.stateCommitment?.reason ?? '', /a balance of -1 is not a plain decimal/);
  assert.equal(source.report?.pollErrorCount, 0);
});

test('roots that the tables carry are passed on as they are; without SYNC_STATE_ROOTS there are none', async (t) => {
  const database = await createDatabase('roots');
  await createIndexer(database, { seed: 'c', blocks: 5, rows: 100 });
  const plain = SourceThread.start(t, database, 'indexer', { stateDomain: null });
  await plain.reaches(104);
  const first = await addEmptyBlock(database);
  await plain.reaches(first);
  assert.deepEqual(lastRoots(plain, first), { height: first, balances_root: null, block_merkle_root: null });
  assert.equal(plain.report?.stateCommitment, undefined);

  await sql(database, 'ALTER TABLE blocks ADD balances_root CHAR(64) NULL, ADD state_root CHAR(64) NULL');
  const carrying = SourceThread.start(t, database, 'indexer');
  await carrying.until(() => carrying.report?.stateCommitment?.phase === 'off', 'no tree');
  await carrying.reaches(first);
  const own = 'ab'.repeat(32);
  await sql(
    database,
    `INSERT INTO blocks (block_index, block_time, ledger_hash_id, actions_hash_id, contract_hash_id, balances_root)
     SELECT block_index + 1, block_time, ledger_hash_id, actions_hash_id, contract_hash_id, '${own}' FROM blocks ORDER BY block_index DESC LIMIT 1`
  );
  await carrying.reaches(first + 1);
  const { block_merkle_root } = await plainRoots(database);
  assert.deepEqual(lastRoots(carrying, first + 1), { height: first + 1, balances_root: own, block_merkle_root });
});
