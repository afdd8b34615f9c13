import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, rows } from '../../src/db/connection.ts';
import { atEnd } from '../support/cleanup.ts';
import { createDatabase, startOwnServer } from '../support/mariadb.ts';
import { differences, pause, type SyncPair, startPair } from '../support/sync/sync-pair.ts';
import { eventually } from '../support/sync/sync-process.ts';
import type { Size } from '../support/tables-in-use/history.ts';
import { LATE_KINDS } from '../support/tables-in-use/late-changes.ts';
import { createLedger } from '../support/tables-in-use/ledger.ts';

/** Deeper than a replica fetches blocks anew: the longest cooldown of a chain, and what is a little older than it looks. */
const DEPTHS = [1_100, 10_080];
/** A contract's cooldown is its own, and none is that long. */
const SHORT = 'contractRefund';

/** A history for what happens near the tip alone. */
const SHORT_HISTORY = { blocks: 500, rows: 7_000 };

async function startReplicated(
  seed: string,
  env: Readonly<Record<string, number>> = {},
  binlog: 'required' | 'off' = 'off',
  size: Size = 'small'
) {
  const logged = binlog === 'off' ? null : await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW']);
  const source = await createDatabase('away', logged?.root);
  const connection = await connect(source);
  atEnd(() => connection.end());
  const ledger = await createLedger(connection, { dbType: 'indexer', seed, size, chain: 'dogecoin' });
  await connection.query('DROP TABLE sync_meta, merkle_epochs'); // each sync service makes its own
  const pair = await startPair('indexer', source, { SYNC_BINLOG: binlog, ...env });
  const client = await pair.startClient();
  await pair.settle(client, ledger.height);
  return { connection, ledger, pair, client };
}

/** Starts the replica again. What it lacked must not be left to a comparison. */
async function returns(pair: SyncPair, height: number): Promise<void> {
  await eventually('the server has told it', 30_000, async () => {
    return (await pair.status(pair.server))['block_height'] === height;
  });
  const client = await pair.startClient();
  const verdict = await pair.settle(client, height);
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
  assert.match(client.log(), /caught up by snapshot/);
  const repaired = client
    .log()
    .split('\n')
    .filter((line) => line.includes('repaired'));
  assert.deepEqual(repaired, [], 'a comparison found nothing');
  await client.end();
  await pair.server.end();
}

for (const binlog of ['off', 'required'] as const)
  test(`a replica that was away gets every late change by its since-snapshot, however old the row is (binary log ${binlog})`, async () => {
    const { ledger, pair, client } = await startReplicated('away', {}, binlog);
    const first = await ledger.writeBlock({ actions: 3 });
    const before = await pair.settle(client, first.height);
    assert.ok(before.equal, JSON.stringify(differences(before)));
    await client.end();

    let height = 0;
    for (const depth of DEPTHS) {
      for (const kind of LATE_KINDS) {
        if (kind !== SHORT || depth <= 4_032)
          ({ height } = await ledger.writeBlock({ actions: 1, late: [{ kind, depth }] }));
      }
    }
    await returns(pair, height);
  });

test('a replica that was away during a reorg to the same hashes gets the other rows by its since-snapshot', async () => {
  const { connection, ledger, pair, client } = await startReplicated('same');
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
  const { ledger, pair, client } = await startReplicated('growing', { BLOCK_POLL_INTERVAL: 25 });
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
  await eventually('live while the source grows', 60_000, isLive).finally(() => (isOver = true));
  await growing;
  const verdict = await pair.settle(returned, ledger.height);
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
});

test('a replica that has rolled back is live when its source has blocks again, some seconds later', async () => {
  const { ledger, pair, client } = await startReplicated('rolled-back', {}, 'off', SHORT_HISTORY);
  await ledger.writeBlocks(5);
  await pair.settle(client, ledger.height);
  await ledger.undo(4);
  const isReconciling = async () => (await pair.status(client))['phase'] === 'reconciling';
  await eventually('it has rolled back and waits for blocks', 20_000, isReconciling);
  await pause(1_000);
  await ledger.writeBlocks(3);
  const verdict = await pair.settle(client, ledger.height, 20_000);
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
});
