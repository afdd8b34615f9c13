import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { NodeChain } from '../../../src/coin/node/node-chain.ts';
import { NodeRpc } from '../../../src/coin/node/node-rpc.ts';
import { openPool } from '../../../src/db/connection.ts';
import { MempoolPass } from '../../../src/decoder/mempool-pass.ts';
import { MempoolStore } from '../../../src/decoder/mempool-store.ts';
import { type DecoderStore, openDecoderStore } from '../../../src/decoder/store.ts';
import { MempoolLoop } from '../../../src/follower/mempool-loop.ts';
import { silentLogger } from '../../../src/log.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import scanMempool from '../../../workers/decoder/scan-mempool.ts';
import { query, scanRules, startLoop } from '../../support/decoder/loop.ts';
import { startTestLitecoind, type TestLitecoind } from '../../support/litecoin.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { PATIENCE_MS } from '../../support/patience.ts';

const MAGIC = 'TEST';
const RULES = scanRules(chainNetwork('litecoin', 'regtest'), MAGIC);
let coin: TestLitecoind;
let database: DatabaseCoordinates;
let store: DecoderStore;
let rpc: NodeRpc;

before(async () => {
  coin = await startTestLitecoind({ magic: MAGIC });
  await coin.node.fund(3);
  database = await createDatabase('mempool');
  store = await openDecoderStore(database);
  rpc = new NodeRpc({ ...coin.node, retries: 0 });
});
after(async () => {
  await store.database.close();
  await rpc.close();
});

const stored = async () =>
  (await query(database, 'SELECT tx_hash, source, data FROM mempool_transactions ORDER BY data')).map((row) => ({
    ...row
  }));

/** Passes on the node's mempool; each scan that begins is told. */
function passOn(onScan: (txids: readonly string[]) => void = () => undefined): MempoolPass {
  const chain = new NodeChain(rpc);
  const { url, user, password } = coin.node;
  return new MempoolPass({
    list: (signal) => chain.mempool(signal),
    scan: async (txids) => {
      onScan(txids);
      return await scanMempool({ node: { url, user, password }, txids, height: 1, rules: RULES });
    },
    store: () => store.mempool
  });
}

/** One whole pass. */
async function look(pass: MempoolPass): Promise<void> {
  const { signal } = new AbortController();
  for (let waiting = await pass.list(signal); waiting > 0; ) {
    await pass.fetch(signal);
    waiting = await pass.save();
  }
}

test('waiting transactions are there with their source, also when the parent waits too; mined ones are gone', async () => {
  const scanned: string[] = [];
  const pass = passOn((txids) => scanned.push(...txids));
  const paid = [];
  // The fourth and fifth spend the change of others that wait.
  for (let index = 0; index < 5; index++) paid.push(await coin.node.pay({ action: `SEND|0|${index}` }));
  await look(pass);
  const expected = paid.map(({ txid, source, action }) => ({ tx_hash: txid, source, data: action }));
  assert.deepEqual(await stored(), expected);
  await look(pass);
  assert.equal(scanned.length, new Set(scanned).size, 'a transaction that was read is not read again');
  await coin.node.mine(1);
  const last = await coin.node.pay({ action: 'SEND|0|late' });
  await look(pass);
  assert.deepEqual(await stored(), [{ tx_hash: last.txid, source: last.source, data: 'SEND|0|late' }]);
  await look(passOn());
  assert.equal((await stored()).length, 1, 'another start finds what stands there');
});

test('it looks while it is synced, and a pass that is behind or stopped is cancelled', async () => {
  const restMs = 20;
  let looks = 0;
  const pass = passOn();
  const hanging = {
    list: async () => {
      looks++;
      await sleep(30);
      return 1;
    },
    fetch: (signal: AbortSignal) => sleep(60_000, undefined, { signal }),
    save: () => pass.save()
  };
  const loop = new MempoolLoop({ pass: hanging, restMs, log: silentLogger });
  const state = () => loop.state;
  assert.equal(state(), 'paused');
  loop.setSynced(false);
  loop.setSynced(true);
  loop.setSynced(true);
  const deadline = Date.now() + PATIENCE_MS;
  while (state() !== 'fetching') {
    assert.ok(Date.now() < deadline);
    await sleep(5);
  }
  assert.equal(looks, 1);
  loop.setSynced(false);
  assert.equal(state(), 'paused');
  loop.setSynced(true);
  loop.stop();
  assert.equal(state(), 'stopped');
});

test('a pass reads a thousand transactions at a time', async () => {
  const batches: number[] = [];
  const pass = new MempoolPass({
    list: async () => Array.from({ length: 2_500 }, (_, index) => index.toString(16).padStart(64, '0')),
    scan: async (txids) => {
      batches.push(txids.length);
      return { transactions: [], oddCount: 0 };
    },
    store: () => store.mempool
  });
  await look(pass);
  assert.deepEqual(batches, [1_000, 1_000, 500]);
});

test('a pass that fails rests and looks again', async () => {
  let looks = 0;
  const failing = {
    list: async () => {
      looks++;
      throw new Error('the node is away');
    },
    fetch: async () => undefined,
    save: async () => 0
  };
  const loop = new MempoolLoop({ pass: failing, restMs: 5, log: silentLogger });
  loop.setSynced(true);
  const deadline = Date.now() + PATIENCE_MS;
  while (looks < 3) {
    assert.ok(Date.now() < deadline);
    await sleep(5);
  }
  loop.stop();
});

test('a transaction waits no longer once a block confirms it, and a look that began before does not bring it back', async () => {
  const fresh = await createDatabase('mempool_confirmed');
  const loop = startLoop({
    database: fresh,
    node: coin.node,
    network: chainNetwork('litecoin', 'regtest'),
    magic: MAGIC
  });
  const own = await openPoolStore(fresh);
  const reach = async () => loop.reach(await coin.node.height(), await rpc.call('getbestblockhash'));
  await reach();
  const paid = await coin.node.pay({ action: 'SEND|0|confirmed soon' });
  const { url, user, password } = coin.node;
  const { transactions } = await scanMempool({
    node: { url, user, password },
    txids: [paid.txid],
    height: 1,
    rules: RULES
  });
  await own.add(transactions);
  const waiting = () => query(fresh, 'SELECT tx_hash FROM mempool_transactions');
  assert.deepEqual(await waiting(), [{ tx_hash: paid.txid }]);
  await coin.node.mine(1);
  await reach();
  assert.deepEqual(await waiting(), []);
  await own.add(transactions);
  assert.deepEqual(await waiting(), []);
  await loop.stop();
});

async function openPoolStore(of: DatabaseCoordinates): Promise<MempoolStore> {
  const pool = openPool(of, 1);
  after(() => pool.end());
  return new MempoolStore(pool);
}
