import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readBlockHeads } from '../../src/db/block-hashes.ts';
import { inSnapshot } from '../../src/db/block-reader.ts';
import { connect } from '../../src/db/connection.ts';
import { SourceMemory } from '../../src/db/source/source-memory.ts';
import { readLayout } from '../../src/db/source-layout.ts';
import { createIndexer, reorg } from '../support/generated-indexer.ts';
import { createDatabase } from '../support/mariadb.ts';
import { TEST_KEY } from '../support/source-thread.ts';

test('a source that starts at the tip finds the true fork below it, also when the new branch is still shorter', async () => {
  const database = await createDatabase('source');
  await createIndexer(database, { seed: 'a', blocks: 40, rows: 800 });
  const connection = await connect(database, { finderKey: TEST_KEY });
  const layout = await readLayout(connection, 'indexer', []);
  const [tip] = (await readBlockHeads(connection, layout.heads!, 139, 139)) ?? [];
  const memory = await inSnapshot(connection, () => SourceMemory.atTip(connection, layout, tip!));
  const height = await reorg(database, 10, 2, 'shorter');
  const heads = await readBlockHeads(connection, layout.heads!, 0, 139);
  assert.equal(height, 131);
  assert.equal(memory.findFork(heads, height), 130);
  await connection.end();
});
