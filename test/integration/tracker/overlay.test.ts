import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { NodeChain } from '../../../src/coin/node/node-chain.ts';
import { RawChain } from '../../../src/coin/node/raw-chain.ts';
import { readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { writeTransaction } from '../../../src/coin/raw/transaction-form.ts';
import { addressScript } from '../../../src/coin/script/address-script.ts';
import { TrackerAnswers } from '../../../src/tracker/answers.ts';
import { scriptHashOf } from '../../../src/tracker/coins/changes.ts';
import type { CoinReader } from '../../../src/tracker/coins/coin-reader.ts';
import { MempoolCoins } from '../../../src/tracker/mempool-coins.ts';
import { atSnapshot, type SyncStatus } from '../../../src/tracker/report.ts';
import { startTestLitecoind } from '../../support/litecoin.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { startTracker } from '../../support/tracker/loop.ts';

test('a spending that a block confirms is taken once, also before the mempool is looked at again', async () => {
  const { node } = await startTestLitecoind();
  await node.fund(3);
  const tracker = startTracker(await createDatabase('tracker_overlay'), node);
  const reach = async () => tracker.reach(await node.rpc.call('getbestblockhash'));
  const [raw, chain] = [new RawChain(node.rpc), new NodeChain(node.rpc)];
  const mempool = new MempoolCoins({
    list: (signal) => chain.mempool(signal),
    read: (txids) => raw.presentTransactions(txids),
    coins: () => tracker.work.store?.coins
  });
  const answers = new TrackerAnswers({ store: () => tracker.work.store, mempool });
  const look = async () => {
    const { signal } = new AbortController();
    for (let waiting = await mempool.list(signal); waiting > 0; ) {
      await mempool.fetch(signal);
      waiting = await mempool.save();
    }
  };
  const address = await node.newAddress();
  const script = addressScript(address, chainNetwork('litecoin', 'regtest'));
  const shown = async () => {
    const { confirmed, pending } = await answers.balance(scriptHashOf(script).toString('hex'));
    const page = await answers.coins({ scriptHex: script.toString('hex'), limit: 10, after: null, sync: '{}' });
    return [confirmed, pending, (JSON.parse(page.toString()) as { utxos: object[] }).utxos.length];
  };
  await node.rpc.call('sendtoaddress', [address, 1]);
  await node.mine(1);
  await reach();
  await look();
  assert.deepEqual(await shown(), ['100000000', '0', 1]);
  const [coin] = (await node.rpc.call('listunspent', [1, 9_999, [address]])) as { txid: string; vout: number }[];
  const to = [{ [await node.newAddress()]: '0.99' }];
  const spending = await node.rpc.call('createrawtransaction', [[{ txid: coin!.txid, vout: Number(coin!.vout) }], to]);
  const { hex } = (await node.rpc.call('signrawtransactionwithwallet', [spending])) as { hex: string };
  await node.rpc.call('sendrawtransaction', [hex]);
  await look();
  assert.deepEqual(await shown(), ['100000000', '-100000000', 0]);
  await node.mine(1);
  await reach();
  assert.deepEqual(await shown(), ['0', '0', 0]);
  await look();
  assert.deepEqual(await shown(), ['0', '0', 0]);
  await tracker.stop();
});

test('thousands of coins that wait for one script are not looked up for each question, and come page by page, largest first', async () => {
  const script = Buffer.from('51', 'hex');
  const outputs = Array.from({ length: 30_000 }, (_, n) => ({ amount: BigInt(n + 1), script }));
  const spent = Array.from({ length: 3_000 }, (_, vout) => ({ txid: 'ab'.repeat(32), vout }));
  const inputs = spent.map((at) => ({ ...at, sequence: 0, unlock: { script: Buffer.alloc(0), witness: [] } }));
  const bytes = writeTransaction({ inputs, outputs });
  const { txid } = readRawTransaction(bytes);
  let lookedUp = 0;
  const view = {
    page: async () => undefined,
    newest: async () => ({ height: 9, hash: 'ef' }),
    summary: async () => ({ confirmed: 0n, received: 0n, coins: 0, firstHeight: null }),
    owners: async (outpoints: readonly Buffer[]) => {
      lookedUp += outpoints.length;
      return [];
    }
  };
  const owners = async (outpoints: readonly Buffer[]) =>
    outpoints.map((outpoint) => ({ outpoint, scriptHash: scriptHashOf(script), value: 2n }));
  const coins = {
    look: async (read: (of: typeof view) => unknown) => await read(view),
    owners
  } as unknown as CoinReader;
  const mempool = new MempoolCoins({
    list: async () => [txid],
    read: async () => ({ found: [bytes], odd: [] }),
    coins: () => coins
  });
  const { signal } = new AbortController();
  assert.equal(await mempool.list(signal), 1);
  await mempool.fetch(signal);
  assert.equal(await mempool.save(), 0);
  const answers = new TrackerAnswers({ store: () => ({ coins, version: '1' }), mempool });
  const { pending, pendingCoins } = await answers.balance(scriptHashOf(script).toString('hex'));
  assert.deepEqual([pending, pendingCoins], [String((30_000 * 30_001) / 2 - 2 * 3_000), 30_000]);
  const values: number[] = [];
  const cursors: string[] = [];
  for (let limit = 10; ; limit = 6_000) {
    const page = await answers.coins({ scriptHex: '51', limit, after: cursors.at(-1) ?? null, sync: '{}' });
    const { utxos, nextCursor } = JSON.parse(page.toString()) as { utxos: { value: string }[]; nextCursor?: string };
    assert.ok(utxos.length <= limit, `${utxos.length} coins where at most ${limit} were asked for`);
    values.push(...utxos.map(({ value }) => Number(value)));
    if (nextCursor === undefined) break;
    assert.match(nextCursor, /^[0-9a-f]{72}$/);
    cursors.push(nextCursor);
  }
  const before = process.cpuUsage();
  for (let page = 0; page < 20; page++)
    await answers.coins({ scriptHex: '51', limit: 1, after: cursors.at(-1)!, sync: '{}' });
  const { user } = process.cpuUsage(before);
  assert.ok(user < 400_000, `20 pages of one coin cost ${user} us: thousands were sorted for each`);
  const largest = Array.from({ length: 20_000 }, (_, n) => 30_000 - n);
  assert.deepEqual([values, cursors.toSorted()], [largest, cursors]);
  mempool.distrust();
  const expected = {
    committed_height: 8,
    committed_hash: 'cd',
    tracker_height: 8,
    node_height: 10,
    lag: 2,
    synced: true
  };
  const later = await answers.coins({ scriptHex: '51', limit: 10, after: null, sync: JSON.stringify(expected) });
  const sync = { committed_height: 9, committed_hash: 'ef', tracker_height: 9, node_height: 10, lag: 1, synced: true };
  assert.deepEqual(JSON.parse(later.toString()), { utxos: [], sync }, 'no pending coin: a block may have some of them');
  assert.equal(lookedUp, 0);
});

test('an answer whose block came after the mempool was read says that it may count a payment twice, whatever was told before', async () => {
  const script = Buffer.from('51', 'hex');
  let change: () => void = () => undefined;
  const view = {
    page: async () => undefined,
    newest: async () => ({ height: 9, hash: 'ef' }),
    summary: async () => {
      change();
      return { confirmed: 0n, received: 0n, coins: 0, firstHeight: null };
    },
    owners: async () => []
  };
  const coins = { look: async (read: (of: typeof view) => unknown) => await read(view) } as unknown as CoinReader;
  const mempool = new MempoolCoins({
    list: async () => [],
    read: async () => ({ found: [], odd: [] }),
    coins: () => coins
  });
  const look = () => mempool.list(new AbortController().signal);
  const answers = new TrackerAnswers({ store: () => ({ coins, version: '1' }), mempool });
  const isReady = async () => {
    const reported = { mempool_ready: true } as SyncStatus;
    const page = await answers.coins({ scriptHex: '51', limit: 1, after: null, sync: JSON.stringify(reported) });
    const ofPage = (JSON.parse(page.toString()) as { sync: SyncStatus }).sync.mempool_ready;
    const balance = await answers.balance(scriptHashOf(script).toString('hex'));
    return [ofPage, atSnapshot(reported, balance).mempool_ready];
  };
  assert.deepEqual(await isReady(), [false, false], 'it was never read');
  await look();
  assert.deepEqual(await isReady(), [true, true]);
  change = () => mempool.distrust();
  assert.deepEqual(await isReady(), [true, false], 'a block comes while the balance is read');
  change = () => undefined;
  assert.deepEqual(await isReady(), [false, false]);
  await look();
  assert.deepEqual(await isReady(), [true, true]);
});
