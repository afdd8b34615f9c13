import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { NodeChain } from '../../../src/coin/node/node-chain.ts';
import { RawChain } from '../../../src/coin/node/raw-chain.ts';
import { DEFAULT_PROFILE } from '../../../src/coin/profile.ts';
import { addressScript } from '../../../src/coin/script/address-script.ts';
import { NodeCoins } from '../../../src/encoder/coins/coins.ts';
import { TrackerAnswers } from '../../../src/tracker/answers.ts';
import { scriptHashOf } from '../../../src/tracker/coins/changes.ts';
import { MempoolCoins } from '../../../src/tracker/mempool-coins.ts';
import scanMempool from '../../../workers/decoder/scan-mempool.ts';
import { scanRules } from '../../support/decoder/loop.ts';
import { startTestLitecoind, type TestLitecoind } from '../../support/litecoin.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { startTracker } from '../../support/tracker/loop.ts';
import { type PrintedBlock, UnspentSet } from '../../support/tracker/unspent-set.ts';

const ACTIVATION = 432;
const ROUNDS = 4;
let coin: TestLitecoind;
let hidden: string;
const call = (method: string, ...params: unknown[]) => coin.node.rpc.call(method, params);

/** The first payment into the extension block activates it. */
before(async () => {
  coin = await startTestLitecoind({ hasExtensionBlock: true });
  await coin.node.mine(ACTIVATION - 1);
  hidden = String(await call('getnewaddress', '', 'mweb'));
  await call('sendtoaddress', hidden, 20);
  await coin.node.mine(1);
});

/** Sends from coins of the extension block alone: the wallet's others are locked meanwhile. */
async function sendHidden(address: string, amount: number): Promise<void> {
  const coins = (await call('listunspent', 0)) as readonly { readonly txid: string; readonly vout?: number }[];
  const places = coins.flatMap(({ txid, vout }) => (vout === undefined ? [] : [{ txid, vout: Number(vout) }]));
  await call('lockunspent', false, places);
  await call('sendtoaddress', address, amount);
  await call('lockunspent', true);
}

/** Returns the amount that the newest block's last transaction pays out of the extension block. */
async function paidOut(): Promise<number> {
  const { tx } = (await call('getblock', await call('getbestblockhash'), 2)) as PrintedBlock;
  const [first, ...others] = tx.at(-1)!.vout;
  assert.equal(first!.scriptPubKey.type, 'witness_mweb_hogaddr');
  return others.length;
}

test('the unspent outputs are those of the node while coins go into the extension block, within it and out again', async () => {
  const database = await createDatabase('tracker_extension');
  const tracker = startTracker(database, coin.node);
  const unspent = new UnspentSet(coin.node.rpc);
  const reach = async (what: string) => {
    await tracker.reach(await call('getbestblockhash'));
    await unspent.assertStored(database, what);
  };
  await reach('activation');
  for (let round = 0; round < ROUNDS; round++) {
    await call('sendtoaddress', await coin.node.newAddress(), 0.5);
    await call('sendtoaddress', hidden, 2);
    await coin.node.mine(1);
    await reach(`into it, round ${round}`);
    for (const address of [await coin.node.newAddress(), hidden, await coin.node.newAddress()])
      await sendHidden(address, 0.25);
    await coin.node.mine(1);
    assert.equal(await paidOut(), 2);
    await reach(`out of it, round ${round}`);
    if (round % 2 === 0) continue;
    await coin.node.invalidate(2);
    await coin.node.mine(3);
    await reach(`another branch, round ${round}`);
  }
  await tracker.stop();
  const fresh = await createDatabase('tracker_extension_fresh');
  const again = startTracker(fresh, coin.node);
  await again.reach(await call('getbestblockhash'));
  assert.ok(again.states.includes('parsing.loading'), 'an empty database begins with a first sync');
  await unspent.assertStored(fresh, 'first sync');
  await again.stop();
});

test('a coin that came out of the extension block is told from when on nodes let it be spent', async () => {
  const tracker = startTracker(await createDatabase('tracker_ripe'), coin.node);
  const mempool = new MempoolCoins({
    list: async () => [],
    read: async () => ({ found: [], odd: [] }),
    coins: () => undefined
  });
  const answers = new TrackerAnswers({ store: () => tracker.work.store, mempool });
  const address = await coin.node.newAddress();
  const script = addressScript(address, chainNetwork('litecoin', 'regtest'));
  // After a reorg the wallet may not know its older coins in the extension block.
  await call('sendtoaddress', hidden, 2);
  await coin.node.mine(1);
  await sendHidden(address, 0.3);
  await coin.node.mine(1);
  const { unspents } = (await call('scantxoutset', 'start', [`addr(${address})`])) as {
    unspents: { txid: string; vout: number }[];
  };
  const { txid, vout } = unspents[0]!;
  const scanned = new NodeCoins(coin.node.rpc, { coinbaseMaturity: 100, hasExtensionBlocks: true });
  const accepted: boolean[] = [];
  for (let confirmations = 1; confirmations <= 7; confirmations++) {
    const spending = await call('createrawtransaction', [{ txid, vout: Number(vout) }], { [address]: 0.299 });
    const { hex } = (await call('signrawtransactionwithwallet', spending)) as { hex: string };
    const [verdict] = (await call('testmempoolaccept', [hex])) as [{ allowed: boolean }];
    accepted.push(verdict.allowed);
    await tracker.reach(await call('getbestblockhash'));
    const page = await answers.coins({ scriptHex: script.toString('hex'), limit: 10, after: null, sync: '{}' });
    const pageIds = (JSON.parse(page.toString()) as { utxos: { txid: string }[] }).utxos.map((each) => each.txid);
    assert.deepEqual(pageIds, verdict.allowed ? [txid] : [], `${confirmations} confirmations`);
    const { confirmed } = await answers.balance(scriptHashOf(script).toString('hex'));
    assert.equal(confirmed, verdict.allowed ? '30000000' : '0', `${confirmations} confirmations`);
    const offered = await scanned.spendable(await scanned.ofScript(script));
    assert.equal(offered.length, Number(verdict.allowed), `an encoder without a tracker, ${confirmations}`);
    await coin.node.mine(1);
  }
  assert.deepEqual(accepted, [false, false, false, false, false, true, true]);
  await tracker.stop();
});

test('a transaction within the extension block waits under the hash of its kernel: it is skipped and counted, the others are read', async () => {
  const tracker = startTracker(await createDatabase('tracker_odd'), coin.node);
  await call('sendtoaddress', hidden, 5);
  await coin.node.mine(1);
  await tracker.reach(await call('getbestblockhash'));
  await sendHidden(String(await call('getnewaddress', '', 'mweb')), 0.1);
  const payment = await coin.node.pay({ action: 'SEND|0|beside it' });
  const raw = new RawChain(coin.node.rpc);
  const chain = new NodeChain(coin.node.rpc);
  const listed = await chain.mempool();
  const mempool = new MempoolCoins({
    list: (signal) => chain.mempool(signal),
    read: (txids) => raw.presentTransactions(txids),
    coins: () => tracker.work.store?.coins
  });
  const { signal } = new AbortController();
  const look = async () => {
    for (let waiting = await mempool.list(signal); waiting > 0; ) {
      await mempool.fetch(signal);
      waiting = await mempool.save();
    }
  };
  await look();
  assert.ok(mempool.knownAt !== null);
  assert.deepEqual([mempool.oddCount, mempool.size], [1, listed.length - 1]);
  assert.equal(await mempool.list(signal), 0, 'it is not read again at each look');
  const { url, user, password } = coin.node;
  const rules = scanRules(chainNetwork('litecoin', 'regtest'), DEFAULT_PROFILE.payloadMagic);
  const scanned = await scanMempool({ node: { url, user, password }, txids: listed, height: 1, rules });
  assert.equal(scanned.oddCount, 1);
  assert.deepEqual(
    scanned.transactions.map(({ hash, data }) => [hash, data]),
    [[payment.txid, 'SEND|0|beside it']]
  );
  await coin.node.mine(1);
  await look();
  assert.equal(mempool.oddCount, 0);
  await tracker.stop();
});
