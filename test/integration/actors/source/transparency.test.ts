import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { epochRoot, leafHash, verifyProof } from '../../../../src/consensus/epoch-tree.ts';
import { connect } from '../../../../src/db/connection.ts';
import { SerialConnection } from '../../../../src/db/serial-connection.ts';
import { hasCode } from '../../../../src/errors.ts';
import { SourceTransparency } from '../../../../src/replication/source/feed/transparency.ts';
import { type BlockHead, readBlockHeads } from '../../../../src/replication/tables/block-hashes.ts';
import { createControlTables } from '../../../../src/replication/tables/control-tables.ts';
import { readLayout } from '../../../../src/replication/tables/source-layout.ts';
import type { LoggedBlock } from '../../../../src/replication/tables/transparency-log.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import { createDatabase, testServer } from '../../../support/mariadb.ts';
import { sql } from '../../../support/sql.ts';
import { appendBlocks, createIndexer, reorg } from '../../../support/sync/generated-indexer.ts';
import { SourceThread } from '../../../support/sync/source-thread.ts';

const COMPARED = 'block_index, block_time, ledger_hash, actions_hash, contract_hash';
const HASHES = `b.block_index, b.block_time, l.hash AS ledger_hash, a.hash AS actions_hash, c.hash AS contract_hash
  FROM blocks b JOIN index_transactions l ON l.id = b.ledger_hash_id JOIN index_transactions a ON a.id = b.actions_hash_id
  JOIN index_transactions c ON c.id = b.contract_hash_id`;

/** The log says what `blocks` says, and every full epoch's root is the one of its blocks. */
async function assertLog(database: DatabaseCoordinates): Promise<void> {
  const logged = await sql(database, `SELECT ${COMPARED} FROM sync_meta ORDER BY block_index`);
  assert.deepEqual(logged, await sql(database, `SELECT ${HASHES} ORDER BY b.block_index`));
  const epochs = await sql(
    database,
    'SELECT epoch, start_block, end_block, merkle_root, leaf_count FROM merkle_epochs'
  );
  const full = new Map<number, (typeof logged)[number][]>();
  const tip = Number(logged.at(-1)?.['block_index']);
  for (const row of logged) {
    const epoch = Math.ceil(Number(row['block_index']) / 10);
    if (epoch * 10 <= tip) full.set(epoch, [...(full.get(epoch) ?? []), row]);
  }
  const expected = [...full].map(([epoch, list]) => ({
    epoch,
    start_block: list[0]?.['block_index'],
    end_block: list.at(-1)?.['block_index'],
    merkle_root: epochRoot(list.map((row) => leafHash(row as never))),
    leaf_count: list.length
  }));
  assert.deepEqual(
    epochs.sort((a, b) => Number(a['epoch']) - Number(b['epoch'])),
    expected
  );
}

test('gaps are repaired at start, blocks are recorded, epochs are committed, and a reorg rewrites both', async (t) => {
  const database = await createDatabase('log');
  await createIndexer(database, { seed: 'a', blocks: 35, rows: 500 });
  const first = SourceThread.start(t, database, 'indexer');
  await first.reaches(134);
  await assertLog(database);
  await first.kill();
  await sql(
    database,
    'DELETE FROM sync_meta WHERE block_index IN (105, 117)',
    'DELETE FROM merkle_epochs WHERE epoch = 13',
    "UPDATE sync_meta SET ledger_hash = 'other' WHERE block_index = 122"
  );
  const source = SourceThread.start(t, database, 'indexer');
  await source.reaches(134);
  await assertLog(database);
  await source.reaches(await appendBlocks(database, 8, 'a'));
  await assertLog(database);
  await source.reaches(await reorg(database, 5, 7, 'b'));
  await assertLog(database);
  const audit = readFileSync(join(source.stateDirectory, 'epoch-rewrites.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map(
      (line) => JSON.parse(line) as { epoch: number; old_root: string; new_root: string | null; fork_height: number }
    );
  const rewritten = audit.filter(({ epoch, fork_height }) => epoch === 14 && fork_height === 138);
  assert.equal(rewritten.length, 2, 'once without a new root, once with it');
  assert.equal(rewritten[0]?.new_root, null);
  assert.notEqual(rewritten[1]?.new_root, rewritten[1]?.old_root);
});

test('STATE_UNWRITABLE: a rewritten epoch that cannot be noted is named, holds the reorg up, and is noted once it can be', async (t) => {
  const database = await createDatabase('log');
  await createIndexer(database, { seed: 'a', blocks: 35, rows: 500 });
  const source = SourceThread.start(t, database, 'indexer');
  await source.reaches(134);
  const path = join(source.stateDirectory, 'epoch-rewrites.jsonl');
  mkdirSync(path);
  const height = await reorg(database, 9, 10, 'b');
  await source.until(() => source.report?.lastError != null, 'the fault');
  assert.match(String(source.report?.lastError), /cannot be noted in .*epoch-rewrites\.jsonl: EISDIR/);
  assert.ok(!source.messages.some(({ type }) => type === 'reorg'));
  rmdirSync(path);
  await source.reaches(height);
  assert.match(readFileSync(path, 'utf8'), /"epoch":13,.*"fork_height":126/);
});

test("the size of the epochs is the log's: with another MERKLE_EPOCH_SIZE all proofs stay valid, and new epochs are of the old size", async (t) => {
  const database = await createDatabase('log');
  await createIndexer(database, { seed: 'a', blocks: 35, rows: 500 });
  const first = SourceThread.start(t, database, 'indexer');
  await first.reaches(134);
  await first.kill();
  const committed = () =>
    sql(database, 'SELECT epoch, merkle_root FROM merkle_epochs WHERE epoch <= 13 ORDER BY epoch');
  const before = await committed();
  for (const epochSize of [7, 40]) {
    const source = SourceThread.start(t, database, 'indexer', { epochSize });
    await source.reaches(await appendBlocks(database, 10, 'a'));
    await assertLog(database);
    assert.deepEqual(await committed(), before);
    for (const blockIndex of [101, 118, 130, 134]) {
      const proof = await source.handle.ask('transparency.proof', { blockIndex });
      assert.ok('verified' in proof && proof.verified, JSON.stringify(proof));
      assert.ok(verifyProof(proof.leaf, proof.proof, proof.merkleRoot));
      assert.equal(proof.epoch, Math.ceil(blockIndex / 10));
    }
    await source.kill();
  }
});

test('a log in which an earlier version mixed epochs of two sizes becomes one of the size that is set', async (t) => {
  const database = await createDatabase('log');
  await createIndexer(database, { seed: 'a', blocks: 35, rows: 500 });
  const first = SourceThread.start(t, database, 'indexer');
  await first.reaches(134);
  await first.kill();
  await sql(
    database,
    `INSERT INTO merkle_epochs (epoch, start_block, end_block, merkle_root, leaf_count, created_at)
     VALUES (27, 131, 135, '${'0'.repeat(64)}', 5, NOW()), (26, 126, 130, '${'1'.repeat(64)}', 5, NOW())`
  );
  const source = SourceThread.start(t, database, 'indexer');
  await source.reaches(await appendBlocks(database, 1, 'a'));
  await assertLog(database);
  const audit = readFileSync(join(source.stateDirectory, 'epoch-rewrites.jsonl'), 'utf8');
  assert.match(audit, /"epoch":27,.*"old_root":"0000/);
});

test('blocks that a failed attempt left in the log give way; broadcast ones that it took come back', async () => {
  const database = await createDatabase('log');
  await createIndexer(database, { seed: 'a', blocks: 30, rows: 300 });
  const line = new SerialConnection(() => connect(database));
  let isBusy = false;
  const transparency = new SourceTransparency({
    data: {
      id: { dbType: 'indexer', chain: 'litecoin', network: 'regtest' },
      coordinates: database,
      readOnly: false,
      epochSize: 10,
      stateDirectory: mkdtempSync(join(tmpdir(), 'log-')),
      localTables: []
    },
    log: { warn: () => undefined },
    logWriter: line,
    logReader: line,
    observe: () => undefined,
    computeRoots: async (epochs) => {
      if (isBusy) throw new Error('the pool is busy');
      return epochs.map(({ epoch, blocks }) => ({ epoch, root: epochRoot(blocks.map(leafHash)) }));
    }
  });
  await transparency.prepare();
  await transparency.backfill();
  const read = async (from: number, to: number) =>
    line.use(async (connection) => {
      const { heads } = await readLayout(connection, 'indexer');
      const found = await readBlockHeads(connection, heads!, from, to);
      return { heads: heads!, blocks: found as readonly (BlockHead & LoggedBlock)[] };
    });
  const record = async (from: number, to: number) => {
    const { heads, blocks } = await read(100, to);
    await transparency.record(
      blocks.filter(({ height }) => height >= from),
      blocks.filter(({ height }) => height < from),
      heads
    );
  };
  // Recorded with a full epoch, and then the chain left it before it was broadcast.
  await appendBlocks(database, 14, 'a');
  await record(130, 143);
  await reorg(database, 14, 14, 'b');
  await record(130, 143);
  await assertLog(database);
  // Pruned for a reorg that was never broadcast: the branch came back.
  await transparency.prune(138);
  await appendBlocks(database, 1, 'b');
  await record(144, 144);
  await assertLog(database);
  // Blocks go while the log is filled, after the tip was read, and come back.
  await sql(database, 'DELETE FROM sync_meta WHERE block_index > 135', 'DELETE FROM merkle_epochs WHERE epoch = 14');
  const { use } = line;
  let uses = 0;
  line.use = async (work) => {
    if (++uses === 3) await sql(database, 'UPDATE blocks SET block_index = block_index + 1000 WHERE block_index > 137');
    return use.call(line, work) as ReturnType<typeof work>;
  };
  await transparency.backfill();
  line.use = use;
  assert.deepEqual(await sql(database, 'SELECT * FROM merkle_epochs WHERE epoch = 14'), []);
  await sql(database, 'UPDATE blocks SET block_index = block_index - 1000 WHERE block_index > 1000');
  await record(138, 144);
  await assertLog(database);
  // Another branch came while nobody looked, and the look for it ended in its middle.
  await reorg(database, 14, 14, 'c');
  isBusy = true;
  await assert.rejects(transparency.backfill(), /busy/);
  isBusy = false;
  await transparency.backfill();
  await assertLog(database);
  // Where the chain has left what was broadcast, nothing is made up.
  const { heads, blocks } = await read(140, 144);
  await transparency.prune(142);
  const recent = blocks.slice(0, -1).map((block) => ({ ...block, hashes: { ...block.hashes, ledger_hash: 'gone' } }));
  await assert.rejects(transparency.record(blocks.slice(-1), recent, heads), { code: 'DATABASE_UNAVAILABLE' });
  line.destroy();
});

test('a block that has another time under the same hashes is told so, at the next group and at the start; its epoch stays', async (t) => {
  const database = await createDatabase('log');
  await createIndexer(database, { seed: 'a', blocks: 35, rows: 500 });
  const first = SourceThread.start(t, database, 'indexer');
  await first.reaches(134);
  const epochs = await sql(database, 'SELECT * FROM merkle_epochs');
  await sql(database, 'UPDATE blocks SET block_time = block_time + 7 WHERE block_index IN (115, 134)');
  await first.reaches(await appendBlocks(database, 1, 'a'));
  await assertLog(database);
  // As a group leaves it that was read while the block had this time, and failed.
  await sql(database, 'UPDATE sync_meta SET block_time = block_time + 5 WHERE block_index IN (116, 135)');
  await first.reaches(await appendBlocks(database, 1, 'a'));
  await assertLog(database);
  await first.kill();
  await sql(database, 'UPDATE blocks SET block_time = block_time + 3 WHERE block_index IN (101, 120)');
  const source = SourceThread.start(t, database, 'indexer');
  await source.reaches(136);
  await assertLog(database);
  assert.deepEqual(await sql(database, 'SELECT * FROM merkle_epochs'), epochs);
  for (const { stateDirectory } of [first, source])
    assert.ok(!existsSync(join(stateDirectory, 'epoch-rewrites.jsonl')), 'no root was given up');
});

test('roots, proofs and the latest epoch are answered', async (t) => {
  const database = await createDatabase('log');
  await createIndexer(database, { seed: 'a', blocks: 35, rows: 500 });
  const source = SourceThread.start(t, database, 'indexer');
  await source.reaches(134);
  const page = await source.handle.ask('transparency.roots', { page: 1, limit: 10 });
  assert.equal(page.total, 35);
  assert.equal(page.results[0]?.block_index, 124);
  assert.match(page.results[0]!.logged_at, /^\d{4}-\d\d-\d\dT[\d:]{8}(\.\d+)?Z$/);
  const latest = await source.handle.ask('transparency.latest', {});
  assert.equal(latest.epoch, 13);
  const epochs = await source.handle.ask('transparency.epochs', { page: 0, limit: 2 });
  assert.deepEqual(epochs.results[0], latest);
  assert.deepEqual(
    epochs.results.map(({ epoch }) => epoch),
    [13, 12]
  );
  assert.ok(epochs.total >= 2);
  const proof = await source.handle.ask('transparency.proof', { blockIndex: 127 });
  assert.ok('leaf' in proof && proof.verified);
  assert.equal(proof.merkleRoot, latest.merkle_root);
  assert.ok(verifyProof(proof.leaf, proof.proof, proof.merkleRoot));
  assert.deepEqual(await source.handle.ask('transparency.proof', { blockIndex: 134 }), {
    error: 'epoch not yet committed'
  });
  await assert.rejects(source.handle.ask('transparency.proof', { blockIndex: 999 }), (error) =>
    hasCode(error, 'LEAF_UNKNOWN')
  );
});

test('two servers on one database write one log', async (t) => {
  const database = await createDatabase('log');
  await createIndexer(database, { seed: 'a', blocks: 15, rows: 200 });
  const servers = [new SourceThread(database, 'indexer'), new SourceThread(database, 'indexer')];
  for (const server of servers) t.after(() => server.kill());
  const settle = async (height: number) => {
    for (const server of servers) await server.reaches(height);
    await assertLog(database);
  };
  await settle(114);
  await settle(await appendBlocks(database, 12, 'a'));
  await settle(await reorg(database, 9, 11, 'b'));
});

test('a read-only database is served without one writing statement', async (t) => {
  const database = await createDatabase('log');
  await createIndexer(database, { seed: 'a', blocks: 15, rows: 200 });
  await sql(database, 'DROP TABLE sync_meta', 'DROP TABLE merkle_epochs');
  const { host, port } = await testServer();
  const reader = { ...database, host, port, user: `r_${database.name.slice(-10)}`, pass: 'reader' };
  await sql(
    database,
    `CREATE USER '${reader.user}'@'127.0.0.1' IDENTIFIED BY '${reader.pass}'`,
    `GRANT SELECT ON \`${database.name}\`.* TO '${reader.user}'@'127.0.0.1'`
  );
  t.after(() => sql(database, `DROP USER '${reader.user}'@'127.0.0.1'`));
  const without = SourceThread.start(t, reader, 'indexer', { readOnly: true });
  await without.reaches(114);
  assert.match(String(without.report?.lastError), /sync_meta and merkle_epochs/);
  await assert.rejects(without.handle.ask('transparency.latest', {}), (error) => hasCode(error, 'DATABASE_UNUSABLE'));
  await without.kill();

  const connection = await connect(database);
  await createControlTables(connection);
  connection.destroy();
  const source = SourceThread.start(t, reader, 'indexer', { readOnly: true });
  await source.reaches(114);
  await source.reaches(await appendBlocks(database, 3, 'a'));
  await source.reaches(await reorg(database, 2, 3, 'b'));
  assert.deepEqual(await source.handle.ask('transparency.latest', {}), { epoch: null, merkle_root: null });
  assert.deepEqual(await sql(database, 'SELECT * FROM sync_meta'), []);
  assert.equal(source.report?.pollErrorCount, 0);
});
