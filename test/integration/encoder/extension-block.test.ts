import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { createBase58check } from '@scure/base';
import { decodeBlock } from '../../../lab/loop/decode.ts';
import type { PrivateLitecoind } from '../../../src/devnet/processes/litecoin.ts';
import { startTestEncoder, type TestEncoder } from '../../support/encoder/service.ts';
import { signPsbt } from '../../support/encoder/signer.ts';
import { startTestLitecoind } from '../../support/litecoin.ts';

const ACTIVATION = 432;
/** Blocks until a coin that came out of the extension block may be spent. */
const RIPE = 7;
let node: PrivateLitecoind;
let encoder: TestEncoder;
let hidden: string;
const call = (method: string, ...params: unknown[]) => node.rpc.call(method, params);

before(async () => {
  ({ node } = await startTestLitecoind({ hasExtensionBlock: true }));
  await node.mine(ACTIVATION - 1);
  hidden = String(await call('getnewaddress', '', 'mweb'));
  await call('sendtoaddress', hidden, 20);
  await node.mine(1);
  encoder = await startTestEncoder(node);
});
after(() => encoder.close());

const base58check = createBase58check((bytes: Uint8Array) => hash('sha256', bytes, 'buffer'));
async function openLegacy() {
  const address = String(await call('getnewaddress', '', 'legacy'));
  const privateKey = base58check.decode(String(await call('dumpprivkey', address))).subarray(1, 33);
  const { pubkey } = (await call('getaddressinfo', address)) as { pubkey: string };
  return { address, privateKey, pubkey };
}

/** Pays from coins of the extension block alone: the wallet's others are locked meanwhile. */
async function payOut(address: string, amount: number): Promise<void> {
  const coins = (await call('listunspent', 0)) as readonly { readonly txid: string; readonly vout?: number }[];
  const places = coins.flatMap(({ txid, vout }) => (vout === undefined ? [] : [{ txid, vout: Number(vout) }]));
  await call('lockunspent', false, places);
  await call('sendtoaddress', address, amount);
  await call('lockunspent', true);
}

/** Signs, sends, mines. @returns what a decoder reads of it */
async function say(psbt: string, privateKey: Uint8Array): Promise<string | undefined> {
  const { txid } = await encoder.call<{ txid: string }>('broadcast_tx', { tx_hex: signPsbt(psbt, privateKey) });
  return (await decodeBlock(node, (await node.mine(1))[0]!)).get(txid)?.data;
}

test('a legacy address that the extension block paid can spend that coin', async () => {
  const { address, privateKey } = await openLegacy();
  await payOut(address, 0.5);
  await node.mine(RIPE);
  const data = 'SEND|0|TOK|5|someone';
  const { psbt } = await encoder.call('create_tx', { pubkey: address, data });
  assert.equal(await say(psbt!, privateKey), data);
});
