import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestLitecoind } from '../../support/litecoin.ts';

test('an account whose coin the wallet paid to somebody else is paid anew, and pays on', async () => {
  const { node } = await startTestLitecoind();
  await node.fund(2);
  const [from] = await node.accounts();
  const coins = (await node.rpc.call('listunspent', [0, 9_999_999, [from]])) as readonly object[];
  const inputs = coins.map((coin) => {
    const { txid, vout } = coin as { readonly txid: string; readonly vout: string | number };
    return { txid, vout: Number(vout) };
  });
  const stranger = await node.newAddress();
  const raw = await node.rpc.call('createrawtransaction', [inputs, [{ [stranger]: '1' }]]);
  const { hex } = (await node.rpc.call('signrawtransactionwithwallet', [raw])) as { hex: string };
  await node.rpc.call('sendrawtransaction', [hex, 0]);
  const { source, txid } = await node.pay({ action: 'MINT|0|DEV1|1', from: from! });
  assert.equal(source, from);
  const [hash] = await node.mine(1);
  const { tx } = (await node.rpc.call('getblock', [hash])) as { readonly tx: readonly string[] };
  assert.ok(tx.includes(txid));
});

test('a wallet whose coins were all paid away cannot pay, and is funded anew', async () => {
  const { node } = await startTestLitecoind();
  await node.fund(2);
  const [from] = await node.accounts();
  const nobody = String(Object(await node.rpc.call('decodescript', [`0014${'00'.repeat(20)}`])).addresses[0]);
  await node.rpc.call('sendtoaddress', [nobody, await node.rpc.call('getbalance'), '', '', true]);
  await assert.rejects(node.pay({ action: 'MINT|0|DEV1|1', from: from! }), { code: 'NODE_REFUSED' });
  const coinbases = Number(await node.height());
  await node.mine(coinbases, nobody); // the rewards of the wallet are old enough
  await node.rpc.call('sendtoaddress', [nobody, await node.rpc.call('getbalance'), '', '', true]);
  await node.mine(1, nobody);
  assert.deepEqual(await node.accounts(), []);
  await node.fund(2);
  const accounts = await node.accounts();
  assert.equal(accounts.length, 2);
  await node.pay({ action: 'MINT|0|DEV1|1', from: accounts[0]! });
});
