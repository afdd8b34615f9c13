import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rows } from '../../../../src/db/connection.ts';
import { hasCode } from '../../../../src/errors.ts';
import { applyBlocks, applySince, type GroupTarget } from '../../../../src/replication/replica/apply/block-writer.ts';
import { planRollback, rollBack } from '../../../../src/replication/replica/apply/rollback.ts';
import { repair } from '../../../../src/replication/replica/compare/repair.ts';
import { canonicalRow, readReplicaSchema } from '../../../../src/replication/replica/database/schema.ts';
import type { SnapshotBatch } from '../../../../src/replication/replica/database/snapshot-batch.ts';
import {
  openReplicaState,
  readReplicaState,
  writeReplicaState
} from '../../../../src/replication/replica/database/state.ts';
import { openWriter } from '../../../../src/replication/replica/database/writer-connection.ts';
import type { WireRow } from '../../../../src/wire/data/messages.ts';
import { createDatabase } from '../../../support/mariadb.ts';
import { batch, block, ofBlocks } from '../../../support/sync/small-replica.ts';

const HASH = 'aa';

function row(height: number, time: number, hash = HASH): WireRow {
  return { block_index: height, block_time: time, ledger_hash: hash };
}

function target(height: number): GroupTarget {
  const hashes = { ledger_hash: HASH, actions_hash: null, contract_hash: null };
  return { first: height, last: height, hashes, source: 'test', complete: true, phase: 'following' };
}

async function openIndexer() {
  const writer = await openWriter(await createDatabase('logged'), { generation: 1 });
  await openReplicaState(writer, 'indexer');
  await writer.query(
    'CREATE TABLE blocks (block_index INT PRIMARY KEY, block_time INT NOT NULL, ledger_hash CHAR(2) NOT NULL)'
  );
  await writeReplicaState(writer, { complete: true, phase: 'following', height: 0 });
  const known = { schema: await readReplicaSchema(writer, 'indexer', []), maxRollbackDepth: 10, epochSize: 2 };
  return {
    writer,
    known,
    /** One block, and older rows of `blocks` with it. */
    async take(height: number, older: readonly WireRow[] = []): Promise<void> {
      const { block_hash: _, ...message } = block(height, {}, { dbType: 'indexer', ledger_hash: HASH });
      const heights = older.map((each) => Number(each['block_index']));
      const ranges = { blocks: ofBlocks(heights, [...older]) };
      const sent = { ...message, ranges, data: { blocks: [row(height, 10 * height)] } };
      await applyBlocks(writer, known, await readReplicaState(writer), [{ target: target(height), messages: [sent] }]);
    },
    /** Times of the log, which must say what `blocks` says, and the root of the first epoch. */
    async log() {
      const ofTable = (name: string) =>
        rows(writer, `SELECT block_index, block_time, ledger_hash FROM ${name} ORDER BY 1`);
      const logged = await ofTable('sync_meta');
      assert.deepEqual(logged, await ofTable('blocks'));
      const [epoch] = await rows(writer, 'SELECT merkle_root FROM merkle_epochs WHERE epoch = 1');
      return { times: logged.map(({ block_time }) => block_time), root: epoch?.['merkle_root'] };
    }
  };
}

test('ROW_CONTRADICTION: a since-snapshot that repeats the tip of the replica with other hashes is of another branch', async () => {
  const { writer, known, take } = await openIndexer();
  for (const height of [1, 2]) await take(height);
  async function* repeated(): AsyncGenerator<SnapshotBatch> {
    yield batch('blocks', [row(1, 10), row(2, 20, 'bb'), row(3, 30)]);
  }
  const content = { batches: repeated(), whole: new Set<string>(), from: 1 };
  const applied = applySince(writer, known, await readReplicaState(writer), target(3), content);
  await assert.rejects(applied, (error) => hasCode(error, 'ROW_CONTRADICTION') && error.detail['forked'] === true);
});

test('the log follows older rows of blocks: a message changes them, a since-snapshot repeats them, a rollback takes both back', async () => {
  const { writer, known, take, log } = await openIndexer();
  for (const height of [1, 2, 3]) await take(height);
  const { root } = await log();
  await take(4, [row(2, 22)]);
  assert.deepEqual(await log(), { times: [10, 22, 30, 40], root }, 'a time is no part of the leaf');

  async function* repeated(): AsyncGenerator<SnapshotBatch> {
    yield batch('blocks', [row(1, 11, 'bb'), row(2, 22), row(3, 33), row(4, 40), row(5, 50)]);
  }
  const content = { batches: repeated(), whole: new Set<string>(), from: 1 };
  await applySince(writer, known, await readReplicaState(writer), target(5), content);
  const after = await log();
  assert.deepEqual(after.times, [11, 22, 33, 40, 50]);
  assert.notEqual(after.root, root, 'the first epoch has another leaf');

  await rollBack(writer, known, await readReplicaState(writer), (await planRollback(writer, 5, 3))!);
  assert.deepEqual(await log(), { times: [10, 20, 30], root });

  const [surplus, missing] = [30, 39].map((time) => [canonicalRow(known.schema.byName.get('blocks')!, row(3, time))]);
  const sums = { rows: 0, digest: '0' };
  const found = { surplus: surplus!, missing: missing!, spans: [], claimed: sums, outside: sums, bytes: 0 };
  await repair(writer, known, 3, [{ table: 'blocks', withIds: true, ...found }]);
  assert.equal((await readReplicaState(writer)).blockTime, 39, 'of the block that the replica stands at');
  await writer.end();
});
