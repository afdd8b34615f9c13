import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rows } from '../../src/db/connection.ts';
import { differences, pause } from '../support/sync/sync-pair.ts';
import { eventually } from '../support/sync/sync-process.ts';
import { lateChangesTest, returns, startReplicated } from './away.ts';

/** A history for what happens near the tip alone. */
const SHORT_HISTORY = { blocks: 500, rows: 7_000 };

lateChangesTest('off');

test('a replica that was away during a reorg to the same hashes gets the other rows by its since-snapshot', async () => {
  const { connection, ledger, pair, client } = await startReplicated('same', 'small');
  const at = async (height: number) => {
    const [block] = await rows(
      connection,
      'SELECT block_time, ledger_hash_id, actions_hash_id, contract_hash_id, (SELECT COUNT(*) FROM actions a WHERE a.block_index = b.block_index) AS actions FROM blocks b WHERE block_index = ?',
      [height]
    );
    return { ...block, actions: Number(block!['actions']) };
  };
  // Some blocks have no actions on any branch: their hashes are the same there.
  let block: Awaited<ReturnType<typeof at>> & { readonly block_time?: unknown };
  do {
    const { height } = await ledger.writeBlock();
    block = await at(height);
  } while (block.actions > 0);
  const { height } = ledger;
  await pair.settle(client, height);
  await client.end();

  await ledger.undo(1);
  await ledger.writeBlocks(3);
  const { block_time, ...hashes }: typeof block = await at(height);
  assert.notEqual(block_time, block.block_time);
  assert.deepEqual({ ...hashes, block_time: block.block_time }, block);
  await returns(pair, ledger.height);
});

test('a replica that was away is live though its source has new blocks all the time', async () => {
  const { ledger, pair, client } = await startReplicated('growing', 'short', { BLOCK_POLL_INTERVAL: 25 });
  await pair.settle(client, ledger.height);
  await client.end();
  await ledger.writeBlocks(30);

  let isOver = false;
  const growing = (async () => {
    // Ten blocks a second: a database in memory would take more than a replica can.
    for (; !isOver; await pause(100)) await ledger.writeBlock({ actions: 1 });
  })();
  const returned = await pair.startClient();
  const isLive = async () => (await pair.status(returned))['phase'] === 'live';
  await eventually('live while the source grows', isLive).finally(() => (isOver = true));
  await growing;
  const verdict = await pair.settle(returned, ledger.height);
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
});

test('a replica that has rolled back is live when its source has blocks again, some seconds later', async () => {
  const { ledger, pair, client } = await startReplicated('rolled-back', SHORT_HISTORY);
  await ledger.writeBlocks(5);
  await pair.settle(client, ledger.height);
  await ledger.undo(4);
  const isReconciling = async () => (await pair.status(client))['phase'] === 'reconciling';
  await eventually('it has rolled back and waits for blocks', isReconciling);
  await pause(1_000);
  await ledger.writeBlocks(3);
  const verdict = await pair.settle(client, ledger.height, 60_000);
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
});
