import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { connect, rows } from '../../../src/db/connection.ts';
import type { BlockRows } from '../../../src/decoder/block-rows.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { hasCode } from '../../../src/errors.ts';
import { DecoderSource } from '../../../src/indexer/loop/decoder-source.ts';
import { IndexerWork } from '../../../src/indexer/loop/work.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import { recordTimeout } from '../../../src/indexer/store/timeouts.ts';
import { silentLogger } from '../../../src/log.ts';
import { dumpIndexer } from '../../support/indexer-database.ts';
import { TEST_RULES } from '../../support/indexer-ledger.ts';
import { createDatabase } from '../../support/mariadb.ts';

const network = chainNetwork('bitcoin', 'regtest');
const hashOf = (height: number, branch: string) =>
  height === 0 ? network.genesisHash : `${branch}${height}`.padStart(64, '0');

/** @param action  its text, one in each block */
function blocks(from: number, to: number, branch: string, below = branch, action?: string): BlockRows[] {
  const transactionOf = (height: number, data: string) => ({
    hash: `${branch}${height}`.padStart(64, 'e'),
    source: 'A',
    data,
    rawData: null,
    pubkey: null,
    outputs: [],
    dispensers: { opened: [], extendedTo: null }
  });
  return Array.from({ length: to - from + 1 }, (_, place) => ({
    height: from + place,
    time: 1_700_000_000,
    hash: hashOf(from + place, branch),
    previousHash: from + place === 0 ? '' : hashOf(from + place - 1, place === 0 ? below : branch),
    transactions: action === undefined ? [] : [transactionOf(from + place, action)],
    findings: []
  }));
}

test('ROLLBACK_TOO_DEEP: a reorg is located to the block; a halt is cleared for one rollback', async () => {
  const [decoderDatabase, indexerDatabase] = [await createDatabase('decoder'), await createDatabase('indexer')];
  const decoder = await openDecoderStore(decoderDatabase);
  const work = new IndexerWork({
    openSource: () => DecoderSource.open(decoderDatabase, network, 30),
    openStore: () => IndexerStore.open(indexerDatabase, TEST_RULES, 30),
    maxRollbackDepth: 3,
    pollIntervalMs: 10,
    log: silentLogger
  });
  try {
    await decoder.writeBlocks(blocks(0, 9, 'a'));
    await work.openStore();
    await work.openSource();
    while ((await work.inspect()) === 'blocks') {
      assert.equal(await work.read(), 'blocks');
      await work.write();
    }
    assert.equal(work.facts.lastIndexedBlock, 9);
    for (let undone = 0; undone < 5; undone++) {
      await decoder.rollBackTip();
      assert.equal(await work.inspect(), 'behind', 'a decoder that only lacks blocks is waited for, one block as many');
    }
    assert.match(work.facts.waitReason ?? '', /the decoder is at block 4, .* below its newest block, 9/);
    await decoder.writeBlocks(blocks(5, 7, 'b', 'a'));
    const located = { height: 5, depth: 5 };
    assert.deepEqual(await work.inspect(), { ...located, isAllowed: false });
    assert.equal(work.facts.waitReason, null);
    await work.refuse({ code: 'ROLLBACK_TOO_DEEP', reason: 'deep' });
    assert.deepEqual(await work.readHalt(), { isHalted: true });
    work.drop('indexer');
    const operator = await IndexerStore.open(indexerDatabase, TEST_RULES, 30);
    await operator.halts.clear();
    operator.close();
    await work.openStore();
    assert.deepEqual(await work.inspect(), { ...located, isAllowed: true });
    await work.rollBack(5);
    assert.equal(work.facts.lastIndexedBlock, 4);
    assert.equal(await work.inspect(), 'blocks');
  } finally {
    work.close();
    await decoder.database.close();
  }
});

test('a group that was prepared on a chain that the decoder has left is not written, nor remembered', async () => {
  const decoderDatabase = await createDatabase('decoder');
  const [followed, fresh] = [await createDatabase('indexer'), await createDatabase('indexer')];
  const decoder = await openDecoderStore(decoderDatabase);
  const workOn = (database: typeof followed) =>
    new IndexerWork({
      openSource: () => DecoderSource.open(decoderDatabase, network, 30),
      openStore: () => IndexerStore.open(database, TEST_RULES, 30),
      maxRollbackDepth: 3,
      pollIntervalMs: 10,
      log: silentLogger
    });
  const step = async (work: IndexerWork) => {
    assert.equal(await work.inspect(), 'blocks');
    assert.equal(await work.read(), 'blocks');
    await work.write();
  };
  const finish = async (work: IndexerWork) => {
    while (work.facts.lastIndexedBlock !== 420) await step(work);
    assert.equal(await work.inspect(), 'tip');
    work.close();
  };
  try {
    await decoder.writeBlocks([
      ...blocks(0, 0, 'a', 'a', 'ISSUE|0|TOKA|0|0|0||1000'),
      ...blocks(1, 410, 'a', 'a', 'SEND|0|TOKA|1|B')
    ]);
    const [work, other] = [workOn(followed), workOn(fresh)];
    for (const each of [work, other]) {
      await each.openStore();
      await each.openSource();
    }
    await step(work);
    assert.equal(work.facts.lastIndexedBlock, 199, 'blocks 200 to 399 are prepared');
    work.drop('decoder');
    await work.openSource();
    for (let undone = 0; undone < 20; undone++) await decoder.rollBackTip();
    await decoder.writeBlocks(blocks(391, 420, 'b', 'a', 'SEND|0|TOKA|2|C'));
    await finish(work);
    await finish(other);
    assert.deepEqual(await dumpIndexer(followed), await dumpIndexer(fresh));
    const connection = await connect(followed);
    assert.deepEqual(
      await rows(connection, "SELECT * FROM events WHERE code = 'REORG'"),
      [],
      'nothing was rolled back'
    );
    await connection.end();
  } finally {
    await decoder.database.close();
  }
});

/** Indexes one decoder's blocks, then offers the index another decoder's. @returns the work that is to open them */
async function offered(ownBlocks: readonly BlockRows[], otherBlocks: readonly BlockRows[], maxRollbackDepth: number) {
  const indexerDatabase = await createDatabase('indexer');
  const works = [];
  for (const rows of [ownBlocks, otherBlocks]) {
    const database = await createDatabase('decoder');
    const decoder = await openDecoderStore(database);
    await decoder.writeBlocks(rows);
    await decoder.database.close();
    const work = new IndexerWork({
      openSource: () => DecoderSource.open(database, network, 30),
      openStore: () => IndexerStore.open(indexerDatabase, TEST_RULES, 30),
      maxRollbackDepth,
      pollIntervalMs: 10,
      log: silentLogger
    });
    works.push(work);
  }
  const [work, other] = works as [IndexerWork, IndexerWork];
  await work.openStore();
  await work.openSource();
  while ((await work.inspect()) === 'blocks') {
    await work.read();
    await work.write();
  }
  work.close();
  await other.openStore();
  return other;
}

for (const [title, ownBlocks, otherBlocks, depth, reason] of [
  [
    'whose chain is another from the first block of the index on',
    blocks(5, 12, 'a'),
    blocks(5, 12, 'b'),
    3,
    /block 5 is 0+b5 in the decoder database and 0+a5 in the index: they belong to different chains/
  ],
  [
    'that begins with another block than the index',
    blocks(0, 3, 'a'),
    blocks(2, 3, 'a'),
    126,
    /decoder database begins with block 2, the index with block 0/
  ]
] as const)
  test(`DATABASE_UNUSABLE: a decoder database ${title}`, async () => {
    const other = await offered(ownBlocks, otherBlocks, depth);
    await assert.rejects(other.openSource(), (error) => {
      assert.ok(hasCode(error, 'DATABASE_UNUSABLE'));
      assert.match(error.message, reason);
      return true;
    });
    other.close();
  });

test('a group that took too long is tried as its first block alone, and that with twice the time after each attempt', async () => {
  const [decoderDatabase, indexerDatabase] = [await createDatabase('decoder'), await createDatabase('indexer')];
  const decoder = await openDecoderStore(decoderDatabase);
  const work = new IndexerWork({
    openSource: () => DecoderSource.open(decoderDatabase, network, 30),
    openStore: () => IndexerStore.open(indexerDatabase, TEST_RULES, 30),
    maxRollbackDepth: 3,
    pollIntervalMs: 10,
    log: silentLogger
  });
  const begin = async () => {
    await work.openStore();
    await work.openSource();
    await work.inspect();
    await work.read();
    const { inFlightBlock, inFlightBlocks } = work.facts;
    return [inFlightBlock, inFlightBlocks, work.doublings];
  };
  const late = async (count: number) => {
    const attempt = { block: 0, blocks: count, limitMs: 1_000, at: 'here' };
    await recordTimeout(indexerDatabase, attempt);
    work.drop('indexer');
  };
  try {
    await decoder.writeBlocks(blocks(0, 20, 'a'));
    assert.deepEqual(await begin(), [0, 21, 0]);
    await late(21);
    assert.deepEqual(await begin(), [0, 1, 0]);
    await late(1);
    assert.deepEqual(await begin(), [0, 1, 1]);
    await late(1);
    assert.deepEqual(await begin(), [0, 1, 2]);
    await work.write();
    await work.inspect();
    await work.read();
    assert.deepEqual([work.facts.inFlightBlock, work.facts.inFlightBlocks, work.doublings], [1, 20, 0]);
  } finally {
    work.close();
    await decoder.database.close();
  }
});

test('DATABASE_UNUSABLE: a decoder database of another chain', async () => {
  const database = await createDatabase('decoder');
  const decoder = await openDecoderStore(database);
  await decoder.writeBlocks(blocks(0, 0, 'a'));
  await decoder.database.close();
  await assert.rejects(DecoderSource.open(database, chainNetwork('litecoin', 'regtest'), 30), (error) =>
    hasCode(error, 'DATABASE_UNUSABLE')
  );
});
