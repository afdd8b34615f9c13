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
  const height = await reorg(database, 10, 2, 'shorter');
  const isTip = ({ type, block_index }: { type: string; block_index: number }) =>
    type === 'block' && block_index === height;
  await source.until(() => source.messages.some(isTip), 'the branch');
  const forks = source.messages.filter(({ type }) => type === 'reorg').map(({ block_index }) => block_index);
  assert.equal(Math.min(...forks), 130);
});
