import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Connection, connect, rows } from '../../../../src/db/connection.ts';
import { PlatformError } from '../../../../src/errors.ts';
import { applyBlocks } from '../../../../src/replication/replica/apply/block-writer.ts';
import { planRollback, rollBack } from '../../../../src/replication/replica/apply/rollback.ts';
import type { SnapshotBatch } from '../../../../src/replication/replica/database/snapshot-batch.ts';
import { openReplicaState, readReplicaState } from '../../../../src/replication/replica/database/state.ts';
import { openWriter } from '../../../../src/replication/replica/database/writer-connection.ts';
import type { BlockMessage } from '../../../../src/wire/data/messages.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import {
  apply,
  applySnapshot,
  batch,
  block,
  content,
  context,
  createReplica,
  FIRST,
  laterSource,
  SECOND
} from '../../../support/sync/small-replica.ts';

test('ROW_CONTRADICTION: what is kept of a group does not fit the rows that are here; nothing is undone', async () => {
  const { to, writer } = await createReplica();
  await apply(writer, [FIRST]);
  await apply(writer, SECOND);
  await writer.query("INSERT INTO tokens (tick, supply) VALUES ('BBB', 7)"); // which another program wrote
  const plan = await planRollback(writer, 3, 1);
  const state = await readReplicaState(writer);
  await assert.rejects(rollBack(writer, await context(writer), state, plan!), { code: 'ROW_CONTRADICTION' });
  const look = await connect(to);
  assert.equal((await readReplicaState(look)).height, 3);
  await look.end();
});

/** Checks that a message is refused, and leaves the replica as it was. */
async function refused(
  code: string,
  message: BlockMessage,
  prepare?: (writer: Connection) => Promise<void>
): Promise<void> {
  const { to, writer } = await createReplica();
  await apply(writer, [FIRST]);
  const before = await content(writer);
  await prepare?.(writer);
  await assert.rejects(apply(writer, [message]), { code });
  await assert.rejects(writer.query('SELECT 1'), 'the connection is used again');
  const again = await openWriter(to, { generation: 2 });
  assert.deepEqual(await content(again), before);
  await again.end();
}

test('ROW_CONTRADICTION: another value under a known lookup id', () =>
  refused('ROW_CONTRADICTION', block(2, { index_names: [{ id: 5, name: 'other' }] })));
test('ROW_CONTRADICTION: a known value under another lookup id', () =>
  refused('ROW_CONTRADICTION', block(2, { index_names: [{ id: 6, name: 'five' }] })));
test('SOURCE_INVALID: a row lacks a column', () =>
  refused('SOURCE_INVALID', block(2, { notes: [{ id: 1, block_index: 2 }] })));
test('SOURCE_INVALID: a row has an unknown column', () =>
  refused('SOURCE_INVALID', block(2, { notes: [{ id: 1, block_index: 2, text: 'a', more: 1 }] })));
for (const text of ['a text of more than twenty characters', null])
  test(`SOURCE_INVALID: a value that its column cannot hold: ${text}`, () =>
    refused('SOURCE_INVALID', block(2, { notes: [{ id: 1, block_index: 2, text }] })));
test('SOURCE_INVALID: rows of an unknown table', () => refused('SOURCE_INVALID', block(2, { strange: [{}] })));
test('SOURCE_INVALID: the block of the message is not among its rows', () =>
  refused('SOURCE_INVALID', block(2, { blocks: [] })));
test('SOURCE_INVALID: the message names another hash than its rows', () =>
  refused('SOURCE_INVALID', block(2, {}, { block_hash: 'other' })));

test('REPLICA_MOVED: the applied height is not where this writer left it', async () => {
  const { writer } = await createReplica();
  const state = await readReplicaState(writer);
  await apply(writer, [FIRST]);
  const target = {
    first: 1,
    last: 1,
    hashes: { block_hash: 'h1' },
    source: 'test',
    complete: true,
    phase: 'following'
  } as const;
  await assert.rejects(applyBlocks(writer, await context(writer), state, [{ target, messages: [FIRST] }]), {
    code: 'REPLICA_MOVED'
  });
});

test('REPLICA_LOCKED: a second writer is refused and told who holds the replica; the first one goes on', async () => {
  const { to, writer } = await createReplica();
  await assert.rejects(
    openWriter(to, { generation: 2, lockPatienceS: 0 }),
    (fault: Error & { code?: string }) =>
      fault.code === 'REPLICA_LOCKED' && fault.message.includes(`connection ${writer.threadId}`)
  );
  await apply(writer, [FIRST]);
  writer.destroy();
  const successor = await openWriter(to, { generation: 3, lockPatienceS: 10 });
  assert.equal((await readReplicaState(successor)).height, 1);
  await successor.end();
});

test('REPLICA_FOREIGN: a database with tables but without the marker is not touched, whatever its tables are called', async () => {
  for (const create of ['CREATE TABLE precious (a INT)', 'CREATE TABLE sync_state (id INT PRIMARY KEY, height INT)']) {
    const to = await createDatabase('foreign');
    const writer = await openWriter(to, { generation: 1 });
    await writer.query(create);
    const tables = () =>
      rows(writer, 'SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()');
    const before = await tables();
    await assert.rejects(openReplicaState(writer, 'decoder'), { code: 'REPLICA_FOREIGN' });
    assert.deepEqual(await tables(), before);
    await writer.end();
  }
});

test('ROW_CONTRADICTION: a since-snapshot of another branch leaves the replica as it was', async () => {
  const { to, writer } = await createReplica();
  await apply(writer, [FIRST]);
  const before = await content(writer);
  async function* other(): AsyncGenerator<SnapshotBatch> {
    const hashes = ['of another branch', 'h2', 'h3'];
    yield batch(
      'blocks',
      hashes.map((block_hash, index) => ({ block_index: index + 1, block_hash }))
    );
  }
  await assert.rejects(applySnapshot(writer, 3, other()), ({ code, detail }: PlatformError) => {
    return code === 'ROW_CONTRADICTION' && detail['forked'] === true;
  });
  const again = await openWriter(to, { generation: 2 });
  assert.deepEqual(await content(again), before);
  await again.end();
});

test('SOURCE_TRUNCATED: a since-snapshot that breaks leaves the replica as it was', async () => {
  const { to, writer } = await createReplica();
  await apply(writer, [FIRST]);
  const before = await content(writer);
  async function* broken(): AsyncGenerator<SnapshotBatch> {
    let left = 5;
    for await (const each of laterSource()) {
      if (left-- === 0) throw new PlatformError('SOURCE_TRUNCATED');
      yield each;
    }
  }
  await assert.rejects(applySnapshot(writer, 3, broken()), { code: 'SOURCE_TRUNCATED' });
  const again = await openWriter(to, { generation: 2 });
  assert.deepEqual(await content(again), before);
  assert.equal((await readReplicaState(again)).height, 1);
  await again.end();
});
