import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Account, openAccounts } from '../../../lab/loop/wallet.ts';
import type { PrivateLitecoind } from '../../../src/devnet/processes/litecoin.ts';
import { startTestEncoder, type TestEncoder } from '../../support/encoder/service.ts';
import { signPsbt } from '../../support/encoder/signer.ts';
import { startTestLitecoind } from '../../support/litecoin.ts';

let node: PrivateLitecoind;
let encoder: TestEncoder;
let account: Account;

before(async () => {
  ({ node } = await startTestLitecoind());
  encoder = await startTestEncoder(node);
  account = (await openAccounts(node, 6, ['bech32']))[0]!;
});
after(() => encoder.close());

interface Place {
  readonly txid: string;
  readonly vout: number;
}
interface Created {
  readonly psbt: string;
  readonly txid: string;
}

const requestOf = (utxos: readonly Place[], more: object = {}) => ({
  pubkey: account.address,
  data: 'SEND|0|TOK|5|someone',
  utxos,
  ...more
});

/** Spends a coin. @returns the change, which is the last output */
async function spend(place: Place): Promise<Place> {
  const { psbt } = await encoder.call<Created>('create_tx', requestOf([place]));
  const { txid } = await encoder.call<{ txid: string }>('broadcast_tx', { tx_hex: signPsbt(psbt, account.privateKey) });
  return { txid, vout: 1 };
}

test('COIN_UNUSABLE: an unconfirmed coin is spent while at most 25 transactions hang together, as the node counts', async () => {
  const [coin] = await encoder.call<Place[]>('get_utxos', { address: account.address });
  let last: Place = { txid: coin!.txid, vout: coin!.vout };
  for (let chained = 0; chained < 24; chained++) last = await spend(last);
  const twoSteps = requestOf([last], { data: `FILE|${'x'.repeat(100)}`, encoding: 'P2WSH' });
  const beforeIt = encoder.reservations.count;
  const { error: tooLong } = await encoder.ask('create_tx', twoSteps);
  assert.equal(tooLong?.data['code'], 'COIN_UNUSABLE', 'its second transaction would be the 26th');
  last = await spend(last);
  assert.equal(Object(await node.rpc.call('getmempoolentry', [last.txid])).ancestorcount, 25);

  const { error } = await encoder.ask('create_tx', requestOf([last]));
  assert.deepEqual([error?.code, error?.data['code']], [-32602, 'COIN_UNUSABLE']);
  assert.match(error!.message, /too many unconfirmed transactions hang together/);
  assert.equal(encoder.reservations.count, beforeIt, 'nothing of what failed stays reserved');
  const raw = await node.rpc.call('createrawtransaction', [[last], [{ [account.address]: '0.19' }]]);
  const { hex } = (await node.rpc.call('signrawtransactionwithwallet', [raw])) as { hex: string };
  const [tested] = (await node.rpc.call('testmempoolaccept', [[hex], 0])) as { 'reject-reason': string }[];
  assert.match(tested!['reject-reason'], /too-long-mempool-chain/);

  await node.mine(1);
  await spend(last);
});

test('COIN_UNUSABLE: with unconfirmed false, only coins that a block holds are spent', async () => {
  const coins = await encoder.call<Place[]>('get_utxos', { address: account.address });
  const coin = coins.at(-1)!;
  const change = await spend({ txid: coin.txid, vout: coin.vout });
  const beforeIt = encoder.reservations.count;
  const { error } = await encoder.ask('create_tx', requestOf([change], { unconfirmed: false }));
  assert.match(error!.message, /no block has it yet, and unconfirmed is false/);
  assert.equal(encoder.reservations.count, beforeIt);
  await spend(change);
});

test('REQUEST_INVALID: a first transaction that a reorg took away is not at the node, though its index still has it', async () => {
  await node.mine(1);
  const [coin] = await encoder.call<Place[]>('get_utxos', { address: account.address });
  const place = { txid: coin!.txid, vout: coin!.vout };
  const data = `FILE|${'x'.repeat(100)}`;
  const request = requestOf([place], { data, encoding: 'P2WSH' });
  const { psbt, txid } = await encoder.call<Created>('create_tx', request);
  await encoder.call('broadcast_tx', { tx_hex: signPsbt(psbt, account.privateKey) });
  const raw = await node.rpc.call('createrawtransaction', [[place], [{ [account.address]: '0.19' }]]);
  const { hex } = (await node.rpc.call('signrawtransactionwithwallet', [raw])) as { hex: string };
  await node.mine(1);
  await node.invalidate(1);
  await node.rpc.call('generateblock', [await node.newAddress(), [hex]]);
  await node.mineEmpty();
  assert.deepEqual(await node.rpc.call('getrawmempool'), []);
  const { error } = await encoder.ask('create_tx', { pubkey: account.address, data, p2shHash: txid });
  assert.equal(error?.data['code'], 'REQUEST_INVALID');
  assert.match(error!.message, /no longer has the first transaction/);
});
