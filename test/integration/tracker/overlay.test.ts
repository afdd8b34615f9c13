import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { NodeChain } from '../../../src/coin/node/node-chain.ts';
import { RawChain } from '../../../src/coin/node/raw-chain.ts';
import { addressScript } from '../../../src/coin/script/address-script.ts';
import { TrackerAnswers } from '../../../src/tracker/answers.ts';
import { scriptHashOf } from '../../../src/tracker/coins/changes.ts';
import { MempoolCoins } from '../../../src/tracker/mempool-coins.ts';
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
  const told = async () => {
    const { confirmed, pending } = await answers.balance(scriptHashOf(script).toString('hex'));
    const page = await answers.coins({ scriptHex: script.toString('hex'), limit: 10, after: null, sync: '{}' });
    return [confirmed, pending, (JSON.parse(page.toString()) as { utxos: object[] }).utxos.length];
  };
  await node.rpc.call('sendtoaddress', [address, 1]);
  await node.mine(1);
  await reach();
  await look();
  assert.deepEqual(await told(), ['100000000', '0', 1]);
  const [coin] = (await node.rpc.call('listunspent', [1, 9_999, [address]])) as { txid: string; vout: number }[];
  const to = [{ [await node.newAddress()]: '0.99' }];
  const spending = await node.rpc.call('createrawtransaction', [[{ txid: coin!.txid, vout: Number(coin!.vout) }], to]);
  const { hex } = (await node.rpc.call('signrawtransactionwithwallet', [spending])) as { hex: string };
  await node.rpc.call('sendrawtransaction', [hex]);
  await look();
  assert.deepEqual(await told(), ['100000000', '-100000000', 0]);
  await node.mine(1);
  await reach();
  assert.deepEqual(await told(), ['0', '0', 0]);
  await look();
  assert.deepEqual(await told(), ['0', '0', 0]);
  await tracker.stop();
});
