import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createDatabase } from '../../../support/mariadb.ts';
import { addEmptyBlock, sql } from '../../../support/sql.ts';
import { appendBacklog, appendBlocks, createIndexer, reorg } from '../../../support/sync/generated-indexer.ts';
import { ReplicaWatch } from '../../../support/sync/replica-watch.ts';

/** An indexer of so many blocks, from 100 on, and a replica that has them. */
async function startWatched(t: TestContext, blocks: number, rows: number) {
  const database = await createDatabase('source');
  await createIndexer(database, { seed: 'a', blocks, rows });
  const watch = await ReplicaWatch.start(t, database, 'indexer');
  await watch.settle(99 + blocks);
  return { database, watch };
}

test('a successor continues after the last broadcast: no height twice, no change lost', async (t) => {
  const { database, watch } = await startWatched(t, 60, 2_000);
  await watch.settle(await appendBlocks(database, 2, 'a'));
  await watch.kill();
  await appendBacklog(database, 3, 'a');
  await sql(
    database,
    "UPDATE sends SET amount = '8' ORDER BY action_index LIMIT 1",
    'DELETE FROM credits ORDER BY action_index DESC LIMIT 1',
    'DELETE FROM balances ORDER BY address_id LIMIT 2',
    "UPDATE tokens SET description = 'changed' ORDER BY tick_id LIMIT 1",
    "INSERT INTO validator_rewards (block_index, source_id, signing_pubkey_id, reward_type, amount) VALUES (101, 1, 1, 'late', '5')"
  );
  watch.resume();
  await watch.settle(164);
  await watch.settle(await addEmptyBlock(database));
});

test('a successor to which nothing happened says nothing', async (t) => {
  const { database, watch } = await startWatched(t, 60, 2_000);
  await watch.settle(await appendBlocks(database, 2, 'a'));
  await watch.kill();
  watch.resume();
  await watch.settle(161);
  assert.equal(watch.source.messages.length, 0);
  await watch.settle(await addEmptyBlock(database));
  const [message] = watch.source.messages;
  assert.ok(message?.type === 'block');
  assert.deepEqual([message.updated_rows, message.ranges], [{}, undefined]);
});

test('changes without a new block wait for the successor to the successor', async (t) => {
  const { database, watch } = await startWatched(t, 30, 1_000);
  await watch.kill();
  await sql(
    database,
    "UPDATE tokens SET description = 'changed' ORDER BY tick_id LIMIT 1",
    "UPDATE sends SET amount = '8' ORDER BY action_index LIMIT 1"
  );
  watch.resume();
  await watch.source.reaches(129);
  await watch.kill();
  watch.resume();
  await watch.source.reaches(129);
  await watch.settle(await addEmptyBlock(database));
});

test('a reorg while the actor was down is found and broadcast first', async (t) => {
  const { database, watch } = await startWatched(t, 40, 1_000);
  for (let block = 0; block < 6; block += 1) await watch.settle(await appendBlocks(database, 1, 'a'));
  await watch.kill();
  const height = await reorg(database, 4, 5, 'b');
  watch.resume();
  await watch.settle(height);
  assert.deepEqual(watch.source.messages[0], {
    type: 'reorg',
    chain: 'litecoin',
    network: 'regtest',
    dbType: 'indexer',
    block_index: 142
  });
});

test('a reorg deeper than anything known starts from the oldest known block', async (t) => {
  const { database, watch } = await startWatched(t, 20, 300);
  await watch.settle(await appendBlocks(database, 2, 'a'));
  const height = await reorg(database, 10, 12, 'b');
  await watch.source.reaches(height);
  const forks = watch.source.messages.filter(({ type }) => type === 'reorg').map(({ block_index }) => block_index);
  assert.ok(Math.min(...forks) <= 119, `forks at ${forks.join(', ')}`);
});

const TELLERS = ['the actor that told it', 'a successor', 'a successor for whom it was too much to list'] as const;
for (const who of TELLERS) {
  test(`changes of an older block are sent again when a reorg cuts their group: by ${who}`, async (t) => {
    const { database, watch } = await startWatched(t, 40, 1_000);
    await sql(database, "UPDATE sends SET amount = '8' ORDER BY action_index LIMIT 1");
    await watch.settle(await appendBacklog(database, 4, 'a'));
    const last = watch.source.messages.at(-1);
    assert.ok(last?.type === 'block' && last.group?.first === 140 && last.ranges?.['sends']?.spans.length === 1);
    const { recent } = watch.source.resume!;
    assert.ok(recent.at(-1)?.older?.spans['sends']);
    if (who === TELLERS[2]) {
      const unlisted = recent.map((block) => (block.older ? { ...block, older: null } : block));
      watch.source.resume = { ...watch.source.resume!, recent: unlisted };
    }
    const isDown = who !== TELLERS[0];
    if (isDown) await watch.kill();
    const height = await reorg(database, 2, 3, 'b');
    if (isDown) watch.resume();
    await watch.settle(height);
  });
}
