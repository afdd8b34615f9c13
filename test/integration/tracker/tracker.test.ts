import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { hasCode } from '../../../src/errors.ts';
import { openTrackerStore } from '../../../src/tracker/store.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { query } from '../../support/decoder/loop.ts';
import { startTestLitecoind, type TestLitecoind } from '../../support/litecoin.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { startTracker } from '../../support/tracker/loop.ts';
import { UnspentSet } from '../../support/tracker/unspent-set.ts';

let coin: TestLitecoind;
before(async () => {
  coin = await startTestLitecoind();
  await coin.node.fund(20);
});

const call = (method: string, ...params: unknown[]) => coin.node.rpc.call(method, params);
const tipHash = () => call('getbestblockhash');

const [KEY, OTHER] = ['02', '03'].map(
  (parity) => `${parity}79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798`
);
/** Scripts without an address, which rewards are paid to. */
const BARE_SCRIPTS = [`pk(${KEY})`, `multi(1,${KEY},${OTHER})`, 'raw(51)', `raw(${'61'.repeat(200)})`];

/** Pays from coins that are new in the same block too, and leaves something unspendable. */
async function payAround(): Promise<void> {
  for (let payment = 0; payment < 3; payment++) await coin.node.pay({ action: `SEND|0|${payment}` });
  await call('sendtoaddress', await coin.node.newAddress(), 1.5);
  await call('sendtoaddress', await coin.node.newAddress(), 0.25);
}

/** The same database for an account that has the rights of docs/operating/grants.md and no more. */
async function withGrants(database: DatabaseCoordinates): Promise<DatabaseCoordinates> {
  const text = readFileSync(new URL('../../../docs/operating/grants.md', import.meta.url), 'utf8');
  const [, rights] = /^GRANT (.*) ON `Platform_LTC_Mainnet_Tracker`\.\* TO/m.exec(text)!;
  const account = { user: database.name, pass: 'tracker-account-secret' };
  await query(database, `CREATE USER '${account.user}'@'%' IDENTIFIED BY '${account.pass}'`);
  await query(database, `GRANT ${rights} ON \`${database.name}\`.* TO '${account.user}'@'%'`);
  return { ...database, ...account };
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

test('the unspent outputs are those that the node counts and finds at twenty heights, through reorgs; a fresh tracker has the same', async () => {
  const database = await createDatabase('tracker');
  const tracker = startTracker(database, coin.node);
  const unspent = new UnspentSet(coin.node.rpc);
  for (let height = 0; height < 20; height++) {
    await payAround();
    if (height % 5 === 4) {
      await coin.node.mine(2);
      await tracker.reach(await tipHash());
      await coin.node.invalidate(2);
      await coin.node.mineEmpty();
      await coin.node.mine(2);
    } else if (height % 5 === 0) await call('generatetodescriptor', 1, BARE_SCRIPTS[height / 5]);
    else await coin.node.mine(1);
    await tracker.reach(await tipHash());
    await unspent.assertStored(database, `height ${await coin.node.height()}`);
  }
  assert.deepEqual(tracker.work.reorgs, { reorgs: 4, lastReorgDepth: 2 });
  await tracker.stop();
  await coin.node.mine(250);
  const fresh = await createDatabase('tracker_fresh');
  const again = startTracker(await withGrants(fresh), coin.node);
  await again.reach(await tipHash());
  await again.stop();
  assert.equal(Math.max(...again.groups), 200, 'blocks of one transaction');
  assert.ok(again.states.includes('parsing.loading'), 'an empty database begins with a first sync');
  const [undo] = await query(fresh, 'SELECT MIN(block_index) AS first FROM made');
  assert.equal(
    undo?.['first'],
    (await coin.node.height()) - 326,
    'what a rollback needs, of all blocks that it may reach'
  );
  const later = startTracker(database, coin.node);
  await later.reach(await tipHash());
  await later.stop();
  assert.deepEqual(await contentOf(database), await contentOf(fresh));
});

test('COINS_INCOMPLETE: no coin is told before the end of a first sync, and a coin that nobody made ends it', async () => {
  const store = await openTrackerStore(await createDatabase('tracker_first'), {
    undoDepth: 126,
    nodeHeight: () => 400
  });
  await store.prepare(400);
  assert.deepEqual(store.firstSync, { lastBlock: 73, shards: 16, loaded: 0 });
  assert.throws(
    () => store.coins,
    (fault) => hasCode(fault, 'COINS_INCOMPLETE')
  );
  const hash = 'ab'.repeat(32);
  await store.writeBlocks([{ height: 0, hash, previousHash: '', made: Buffer.alloc(0), spent: Buffer.alloc(40, 1) }]);
  await assert.rejects(
    store.loadNext(),
    (fault) => hasCode(fault, 'DATABASE_UNUSABLE') && /spend 1 coins that are not stored: drop/.test(fault.message)
  );
  await store.database.close();
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
    (fault) => hasCode(fault, 'DATABASE_UNUSABLE') && /block \d+ cannot be rolled back/.test(fault.message)
  );
  await store.database.close();
  assert.deepEqual(await contentOf(database), before);
});

test('a database of an earlier build is refused by name', async () => {
  const database = await createDatabase('tracker_earlier');
  await query(database, 'CREATE TABLE coins (outpoint BINARY(36) NOT NULL PRIMARY KEY, is_coinbase TINYINT NOT NULL)');
  await assert.rejects(
    openTrackerStore(database, { undoDepth: 126, nodeHeight: () => null }),
    (fault) =>
      hasCode(fault, 'DATABASE_UNUSABLE') && /lacks the column maturity.*: drop the database/.test(fault.message)
  );
});

test('the owners of as many coins as a batch of large consolidations spends are asked for in parts', async () => {
  const store = await openTrackerStore(await createDatabase('tracker_large'), { undoDepth: 1, nodeHeight: () => 0 });
  await store.prepare(0);
  const outpoints = Array.from({ length: 300_000 }, (_, index) => {
    const outpoint = Buffer.alloc(36);
    outpoint.writeUInt32LE(index);
    return outpoint;
  });
  await store.database.query("INSERT INTO coins VALUES (?, REPEAT('h', 32), 7, 0, 0)", [outpoints.at(-1)]);
  const owners = await store.coins.owners(outpoints);
  assert.deepEqual(
    owners.map(({ outpoint, value }) => [outpoint, value]),
    [[outpoints.at(-1), 7n]]
  );
  await store.database.close();
});
