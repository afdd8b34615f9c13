import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createIndexer, reorg } from '../support/generated-indexer.ts';
import { createDatabase } from '../support/mariadb.ts';
import { ReplicaWatch } from '../support/replica-watch.ts';

test('a source that has just started at the tip names the true fork of a branch that is still shorter', async (t) => {
  const database = await createDatabase('source');
  await createIndexer(database, { seed: 'a', blocks: 40, rows: 800 });
  const { source, settle } = await ReplicaWatch.start(t, database, 'indexer');
  await settle(139);
  await settle(await reorg(database, 10, 2, 'shorter'));
  const reorgs = source.messages.filter(({ type }) => type === 'reorg');
  assert.equal(Math.min(...reorgs.map(({ block_index }) => block_index)), 130);
});
