import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDatabase } from '../support/mariadb.ts';
import { addEmptyBlock, sql } from '../support/sql.ts';
import { appendBacklog, appendBlocks, createIndexer } from '../support/sync/generated-indexer.ts';
import { differences, startPair } from '../support/sync/sync-pair.ts';

const MAX_MESSAGE_BYTES = 65_536;

test('a block that is larger than a message may be, alone or last in a group, is caught up with by snapshot, to the row', async () => {
  const source = await createDatabase('large');
  await createIndexer(source, { seed: 'large', blocks: 5, rows: 100 });
  await sql(source, 'CREATE TABLE notes (block_index INT NOT NULL, said TEXT NOT NULL, KEY (block_index))');
  const pair = await startPair('indexer', source, { WS_MAX_MESSAGE_BYTES: MAX_MESSAGE_BYTES });
  const client = await pair.startClient({ CLIENT_RECONNECT_DELAY: 100 });
  const settle = async (height: number) => {
    const verdict = await pair.settle(client, height);
    assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
    assert.equal((await pair.status(client))['repairs'], 0);
  };
  const noteAt = (height: number) =>
    sql(source, `INSERT INTO notes SELECT ${height}, REPEAT('x', 1000) FROM seq_1_to_${MAX_MESSAGE_BYTES / 512}`);
  let height = await appendBlocks(source, 3, 'live');
  await settle(height);
  await noteAt(height + 1);
  height = await addEmptyBlock(source);
  await settle(height);
  height = await appendBlocks(source, 3, 'live');
  await settle(height);
  await noteAt(height + 5);
  height = await appendBacklog(source, 5, 'backlog');
  await settle(height);
  height = await appendBlocks(source, 2, 'live');
  await settle(height);
  assert.match(pair.server.log(), /the message is larger than clients take \(block \d+\): catch up by snapshot/);
});
