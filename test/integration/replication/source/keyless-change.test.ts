import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../../../src/db/connection.ts';
import { inSnapshot } from '../../../../src/db/in-snapshot.ts';
import { readGroup } from '../../../../src/replication/source/reading/group-reader.ts';
import { memoryAtTip } from '../../../../src/replication/source/reading/memory-start.ts';
import { readTip } from '../../../../src/replication/tables/block-hashes.ts';
import { readLayout } from '../../../../src/replication/tables/source-layout.ts';
import { blockMessage, encodeMessage } from '../../../../src/wire/data/block.ts';
import { atEnd } from '../../../support/cleanup.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { addEmptyBlock, sql } from '../../../support/sql.ts';
import { createIndexer } from '../../../support/sync/generated-indexer.ts';
import { TEST_KEY } from '../../../support/sync/source-thread.ts';

test('one changed row of a large table without any key is a small message, and no gap', async () => {
  const source = await createDatabase('keyless');
  await createIndexer(source, { seed: 'keyless', blocks: 5, rows: 100 });
  await sql(source, 'CREATE TABLE notes (number INT NOT NULL, said TEXT NOT NULL)');
  await sql(source, 'INSERT INTO notes SELECT seq, REPEAT(CHAR(97 + seq % 26), 2000) FROM seq_1_to_30000');
  const connection = await connect(source, { finderKey: TEST_KEY, several: true });
  atEnd(() => connection.end());
  const layout = await readLayout(connection, 'indexer');
  const memory = await inSnapshot(connection, async () =>
    memoryAtTip(connection, layout, await readTip(connection, layout.heads!))
  );
  await sql(source, "UPDATE notes SET said = 'changed' WHERE number = 1000");
  await addEmptyBlock(source);
  let found = 0;
  for await (const read of readGroup(connection, 'indexer', [], memory)) {
    const bytes = encodeMessage(blockMessage({ dbType: 'indexer', chain: 'bitcoin', network: 'mainnet' }, read));
    assert.ok(bytes.byteLength < 2 ** 20, `${bytes.byteLength} bytes, of a table of 60 MB`);
    assert.deepEqual(read.changes?.gaps, []);
    assert.ok(Buffer.from(bytes).includes('"changed"'));
    found += 1;
    memory.accept(read);
  }
  assert.equal(found, 1);
});
