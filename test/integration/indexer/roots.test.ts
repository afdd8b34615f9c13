import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { BOB, blocksOf, startIndexer } from '../../support/indexer-service.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';
import { plainRoots } from '../../support/sync/plain-roots.ts';
import { differences, startPair } from '../../support/sync/sync-pair.ts';
import { eventually } from '../../support/sync/sync-process.ts';

type Commitment = { readonly phase: string; readonly height: number | null } | null;

test('an indexer writes the state roots of its blocks; a server passes them on and a replica verifies its rows with them', async () => {
  const databases = { decoder: await createDatabase('decoder'), indexer: await createDatabase('indexer') };
  const decoder = await openDecoderStore(databases.decoder);
  const rootsAt = async (height: number) => {
    const [row] = await sql(
      databases.indexer,
      `SELECT balances_root, block_merkle_root, state_root FROM state_tree_roots WHERE block_index = ${height}`
    );
    return row;
  };
  try {
    await decoder.writeBlocks(blocksOf(0, 'a', [[], ['ISSUE|0|TOKA|1000|0|2||100'], [`SEND|0|TOKA|30.5|${BOB}`]]));
    const indexer = await startIndexer(databases);
    const hasTree = ({ stateCommitment }: Record<string, unknown>) =>
      (stateCommitment as Commitment)?.phase === 'ready';
    await indexer.until((health) => health['lastIndexedBlock'] === 2 && hasTree(health));
    const pair = await startPair('indexer', databases.indexer);
    const client = await pair.startClient();
    await pair.settle(client, 2);
    const commitment = async (of: typeof client) => (await pair.status(of))['state_commitment'] as Commitment;
    await eventually("the replica's tree", async () => (await commitment(client))?.phase === 'ready');

    const isVerified = async (height: number) => {
      await indexer.until(({ lastIndexedBlock }) => lastIndexedBlock === height);
      const { balances_root, block_merkle_root } = await plainRoots(databases.indexer);
      const row = await rootsAt(height);
      assert.deepEqual({ ...row, state_root: '' }, { balances_root, block_merkle_root, state_root: '' });
      assert.match(String(row?.['state_root']), /^[0-9a-f]{64}$/);
      const verdict = await pair.settle(client, height);
      assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
      await eventually('the root is compared', async () => (await commitment(client))?.height === height);
    };
    await decoder.writeBlocks(blocksOf(3, 'a', [[`SEND|0|TOKA|1|${BOB}`, 'MINT|0|TOKA|5', 'ISSUE|0|tokb|50|0|0||9']]));
    await isVerified(3);
    await decoder.writeBlocks(blocksOf(4, 'a', [[`SEND|0|TOKA|68.5|${BOB}`]]));
    await isVerified(4);
    assert.equal((await commitment(pair.server))?.phase, 'off', 'the server keeps no tree of its own');

    await decoder.rollBackTip();
    await decoder.rollBackTip();
    await decoder.writeBlocks(blocksOf(3, 'b', [[`DESTROY|0|TOKA|9`]], 'a'));
    await eventually('the reorg is indexed', async () => {
      const [row] = await sql(databases.indexer, 'SELECT block_hash AS hash FROM chain_blocks WHERE block_index = 3');
      return String(row?.['hash']).endsWith('b3');
    });
    await isVerified(3);
    assert.equal(await rootsAt(4), undefined, 'roots of blocks that were taken back are gone');
    await decoder.writeBlocks(blocksOf(4, 'b', [[`SEND|0|TOKA|2|${BOB}`]]));
    await isVerified(4);
    assert.equal((await indexer.call('health'))['status'], 'healthy');
    indexer.child.kill('SIGTERM');
    assert.equal(await indexer.exited, 0, indexer.output());
  } finally {
    await decoder.database.close();
  }
});
