import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serviceUrlOf } from '../../../src/config/service-url.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { readSender } from '../../../src/encoder/transaction/sender.ts';
import { runCommandLine } from '../../support/command-line.ts';
import { LOOP_NETWORK, type RpcReply } from '../../support/encoder/service.ts';
import { publicKeyOf } from '../../support/encoder/signer.ts';
import { startTestLitecoind } from '../../support/litecoin.ts';
import { nodeEnv, startServiceProcess } from '../../support/service-process.ts';
import { eventually } from '../../support/sync/sync-process.ts';

test('NODE_MISMATCH: an encoder ends beside a node of another chain', async () => {
  const { node } = await startTestLitecoind();
  const { code, stderr } = await runCommandLine(['encoder', '--no-guardian'], {
    NETWORK: 'bitcoin-regtest',
    NODE_PORT: String(node.rpcPort),
    NODE_USER: node.user,
    NODE_PASSWORD: node.password,
    ENCODER_API_HOST: '127.0.0.1',
    ENCODER_API_PORT: String(await freePort())
  });
  assert.equal(code, 78);
  assert.match(stderr, /first block is that of another chain/);
});

test('an encoder takes a reward from when on its network lets it be spent, and no rate above the usual most of its chain', async () => {
  const { node } = await startTestLitecoind();
  const { usualMostRate, coinbaseMaturity } = LOOP_NETWORK;
  const pubkey = publicKeyOf(Buffer.alloc(32, 5)).toString('hex');
  await node.mine(coinbaseMaturity + 1, readSender(pubkey, undefined, LOOP_NETWORK).address);
  const port = String(await freePort());
  startServiceProcess('encoder', { ...nodeEnv(node), ENCODER_API_HOST: '127.0.0.1', ENCODER_API_PORT: port });
  const create = async (height: number, rate: number) => {
    const { tx } = (await node.rpc.call('getblock', [await node.rpc.call('getblockhash', [height])])) as {
      tx: string[];
    };
    const params = { pubkey, data: 'SEND|0|TOK|5|someone', utxos: [{ txid: tx[0], vout: 0 }], feePerKb: rate };
    const response = await fetch(`http://127.0.0.1:${port}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'create_tx', params })
    });
    const { result, error } = (await response.json()) as RpcReply;
    return result ? 'taken' : `${error!.data['code']} ${error!.message}`;
  };
  const most = usualMostRate * 1000;
  await eventually('the encoder serves', () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false
    )
  );
  assert.equal(await create(2, most), 'taken');
  assert.match(await create(3, most), /^COIN_UNUSABLE/);
  assert.match(await create(2, most + 1), /^REQUEST_INVALID .*ENCODER_MAX_FEE_RATE/);
  await node.mine(1);
  assert.equal(await create(3, most), 'taken');
});

test('NETWORK says which node it asks; --check-config shows the usual ports', async () => {
  const settings = { NETWORK: 'RLTC', NODE_USER: 'u', NODE_PASSWORD: 'password-of-the-test' };
  const { code, stdout } = await runCommandLine(['encoder', '--check-config'], settings);
  assert.equal(code, 0);
  assert.match(stdout, /ENCODER_API_PORT\s+= 3003/);
  assert.match(stdout, /NETWORK\s+= litecoin-regtest/);
});

test('UTXO_TRACKER_API_PORT is the port of a tracker whose URL names none', () => {
  const of = (UTXO_TRACKER_URL: string | undefined, UTXO_TRACKER_API_PORT: number | undefined) =>
    serviceUrlOf(UTXO_TRACKER_URL, UTXO_TRACKER_API_PORT);
  assert.equal(of('http://tracker', 3001), 'http://tracker:3001');
  assert.equal(of('http://tracker:4000', 3001), 'http://tracker:4000');
  assert.equal(of('https://tracker.example', undefined), 'https://tracker.example');
  assert.equal(of(undefined, 3001), 'http://127.0.0.1:3001', 'a tracker with the same environment');
  assert.equal(of(undefined, undefined), undefined);
  assert.equal(of('http://tracker/utxo/RLTC', 3001), 'http://tracker:3001/utxo/RLTC');
});
