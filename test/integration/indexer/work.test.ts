import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import type { BlockRows } from '../../../src/decoder/block-rows.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { hasCode } from '../../../src/errors.ts';
import { DecoderSource } from '../../../src/indexer/loop/decoder-source.ts';
import { IndexerWork } from '../../../src/indexer/loop/work.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import { silentLogger } from '../../../src/log.ts';
import { TEST_RULES } from '../../support/indexer-ledger.ts';
import { createDatabase } from '../../support/mariadb.ts';

const network = chainNetwork('bitcoin', 'regtest');
const hashOf = (height: number, branch: string) =>
  height === 0 ? network.genesisHash : `${branch}${height}`.padStart(64, '0');

function blocks(from: number, to: number, branch: string, below = branch): BlockRows[] {
  return Array.from({ length: to - from + 1 }, (_, place) => ({
    height: from + place,
    time: 1_700_000_000,
    hash: hashOf(from + place, branch),
    previousHash: from + place === 0 ? '' : hashOf(from + place - 1, place === 0 ? below : branch),
    transactions: [],
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
    while ((await work.inspect()).type === 'blocks.found') {
      assert.equal((await work.read()).type, 'blocks.read');
      assert.equal((await work.write()).type, 'blocks.written');
    }
    assert.equal(work.facts.lastIndexedBlock, 9);
    for (let undone = 0; undone < 5; undone++) await decoder.rollBackTip();
    assert.deepEqual(await work.inspect(), { type: 'tip.reached' }, 'a decoder that starts over is waited for');
    await decoder.writeBlocks(blocks(5, 7, 'b', 'a'));
    const located = { type: 'fork.located', height: 5, depth: 5 } as const;
    assert.deepEqual(await work.inspect(), { ...located, isAllowed: false });
    await work.refuse({ code: 'ROLLBACK_TOO_DEEP', reason: 'deep' });
    assert.deepEqual(await work.readHalt(), { type: 'databases.opened', isHalted: true });
    work.drop('indexer');
    const operator = await IndexerStore.open(indexerDatabase, TEST_RULES, 30);
    await operator.clearHalt();
    operator.close();
    await work.openStore();
    assert.deepEqual(await work.inspect(), { ...located, isAllowed: true });
    assert.deepEqual(await work.rollBack(5), { type: 'rollback.finished' });
    assert.equal(work.facts.lastIndexedBlock, 4);
    assert.deepEqual(await work.inspect(), { type: 'blocks.found' });
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
