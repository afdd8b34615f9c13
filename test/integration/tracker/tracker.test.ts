import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { toBaseUnits } from '../../../src/coin/amount.ts';
import { hasCode } from '../../../src/errors.ts';
import { openTrackerStore } from '../../../src/tracker/store.ts';
import type { DatabaseCoordinates } from '../../../src/wire/database.ts';
import { query } from '../../support/decoder/loop.ts';
import { startTestLitecoind, type TestLitecoind } from '../../support/litecoin.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { startTracker } from '../../support/tracker/loop.ts';

let coin: TestLitecoind;
before(async () => {
  coin = await startTestLitecoind();
  await coin.node.fund(20);
});

const call = (method: string, ...params: unknown[]) => coin.node.rpc.call(method, params);
const tipHash = () => call('getbestblockhash');

/** Pays from coins that are new in the same block too, and leaves something unspendable. */
async function payAround(): Promise<void> {
  for (let payment = 0; payment < 3; payment++) await coin.node.pay({ action: `SEND|0|${payment}` });
  await call('sendtoaddress', await coin.node.newAddress(), 1.5);
  await call('sendtoaddress', await coin.node.newAddress(), 0.25);
}

/** The set as the node counts it: how many outputs and how much they are worth. */
async function assertLikeNode(database: DatabaseCoordinates, what: string): Promise<void> {
  const { txouts, total_amount } = (await call('gettxoutsetinfo')) as { txouts: number; total_amount: string };
  const [own] = await query(database, 'SELECT COUNT(*) AS n, CAST(SUM(value) AS CHAR) AS value FROM coins');
  assert.deepEqual(
    { txouts: Number(own?.['n']), total: String(own?.['value']) },
    { txouts: Number(txouts), total: String(toBaseUnits(String(total_amount))) },
    what
  );
}

/** Every row but the events. */
async function contentOf(database: DatabaseCoordinates) {
  const read = (table: string, order: string) => query(database, `SELECT * FROM ${table} ORDER BY ${order}`);
  return {
    coins: await read('coins', 'outpoint'),
    scripts: await read('scripts', 'script_hash'),
    blocks: await query(database, 'SELECT block_index, hash FROM blocks ORDER BY block_index')
  };
}

test('SVC-21: the unspent outputs are those of the node at twenty heights, through reorgs; a fresh tracker has the same', async () => {
  const database = await createDatabase('tracker');
  const tracker = startTracker(database, coin.node);
  for (let height = 0; height < 20; height++) {
    await payAround();
    if (height % 5 === 4) {
      await coin.node.mine(2);
      await tracker.reach(await tipHash());
      await coin.node.invalidate(2);
      await coin.node.mineEmpty();
      await coin.node.mine(2);
    } else await coin.node.mine(1);
    await tracker.reach(await tipHash());
    await assertLikeNode(database, `height ${await coin.node.height()}`);
  }
  assert.deepEqual(tracker.work.reorgs, { reorgs: 4, lastReorgDepth: 2 });
  await tracker.stop();
  await coin.node.mine(250);
  const fresh = await createDatabase('tracker_fresh');
  const again = startTracker(fresh, coin.node);
  await again.reach(await tipHash());
  await again.stop();
  assert.equal(Math.max(...again.groups), 200, 'LI-29: blocks of one transaction');
  const later = startTracker(database, coin.node);
  await later.reach(await tipHash());
  await later.stop();
  assert.deepEqual(await contentOf(database), await contentOf(fresh));
});

test('a block of which age has taken what a rollback needs is refused by name, and nothing of it is undone', async () => {
  const database = await createDatabase('tracker_old');
  const tracker = startTracker(database, coin.node);
  await tracker.reach(await tipHash());
  await tracker.stop();
  const before = await contentOf(database);
  for (const table of ['made', 'spent']) await query(database, `DELETE FROM ${table}`);
  const store = await openTrackerStore(database, { undoDepth: 126, nodeHeight: () => null });
  await assert.rejects(
    store.rollBackTip(),
    (fault) => hasCode(fault, 'DATABASE_UNUSABLE') && /anew/.test(fault.message)
  );
  await store.database.close();
  assert.deepEqual(await contentOf(database), before);
});
