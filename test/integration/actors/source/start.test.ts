import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../../../src/db/connection.ts';
import { inSnapshot } from '../../../../src/db/in-snapshot.ts';
import { memoryAtTip } from '../../../../src/replication/source/reading/memory-start.ts';
import { readBlockHeads } from '../../../../src/replication/tables/block-hashes.ts';
import { readLayout } from '../../../../src/replication/tables/source-layout.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { createIndexer, reorg } from '../../../support/sync/generated-indexer.ts';
import { TEST_KEY } from '../../../support/sync/source-thread.ts';

test('a source that starts at the tip finds the true fork below it, also when the new branch is still shorter', async () => {
  const database = await createDatabase('source');
  await createIndexer(database, { seed: 'a', blocks: 40, rows: 800 });
  const connection = await connect(database, { finderKey: TEST_KEY, several: true });
  const layout = await readLayout(connection, 'indexer', []);
  const [tip] = (await readBlockHeads(connection, layout.heads!, 139, 139)) ?? [];
  const memory = await inSnapshot(connection, () => memoryAtTip(connection, layout, tip!));
  const height = await reorg(database, 10, 2, 'shorter');
  const heads = await readBlockHeads(connection, layout.heads!, 0, 139);
  assert.equal(height, 131);
  assert.equal(memory.findFork(heads, height), 130);
  await connection.end();
});
