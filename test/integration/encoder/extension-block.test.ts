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

test('broadcast_tx tells the id by which the node has a transaction of the extension block alone', async () => {
  const coins = (await call('listunspent', 0)) as readonly { readonly txid: string; readonly vout?: number }[];
  const places = coins.flatMap(({ txid, vout }) => (vout === undefined ? [] : [{ txid, vout: Number(vout) }]));
  await call('lockunspent', false, places);
  const sent = await call('sendtoaddress', String(await call('getnewaddress', '', 'mweb')), 1);
  await call('lockunspent', true);
  const { hex } = (await call('gettransaction', sent)) as { hex: string };
  assert.deepEqual(await encoder.call('broadcast_tx', { tx_hex: hex }), { txid: sent });
  await node.mine(1);
  assert.deepEqual(await encoder.call('broadcast_tx', { tx_hex: hex }), { txid: sent }, 'a block has it');
});

/** Cuts a transaction with extension bytes, witness inputs and one output: its output, and the bytes. */
function cut(hex: string): { readonly output: string; readonly extension: string } {
  const byteAt = (at: number) => Number.parseInt(hex.slice(at, at + 2), 16);
  assert.equal(hex.slice(8, 12), '0009', 'witnesses and extension bytes');
  const inputs = byteAt(12);
  const outputAt = 16 + 2 * inputs * (36 + 1 + 4);
  assert.equal(hex.slice(outputAt - 2, outputAt), '01');
  const witnessAt = outputAt + 2 * (8 + 1 + byteAt(outputAt + 16));
  let at = witnessAt;
  for (let input = 0; input < inputs; input++) {
    const items = byteAt(at);
    at += 2;
    for (let item = 0; item < items; item++) at += 2 + 2 * byteAt(at);
  }
  return { output: hex.slice(outputAt, witnessAt), extension: hex.slice(at, -8) };
}

test('the change of an unconfirmed payment into the extension block is spent, in one transaction and in two', async () => {
  const { node: quiet } = await startTestLitecoind({ hasExtensionBlock: true, flags: ['-walletbroadcast=0'] });
  const ask = <T>(method: string, ...params: unknown[]) => quiet.rpc.call(method, params) as Promise<T>;
  /** The wallet's transaction, which only this test sends. */
  const pay = async (to: string, amount: number) =>
    await ask<{ txid: string; hex: string }>('gettransaction', await ask('sendtoaddress', to, amount));
  await quiet.mine(ACTIVATION - 1);
  const inside = await ask<string>('getnewaddress', '', 'mweb');
  await ask('sendrawtransaction', (await pay(inside, 20)).hex);
  await quiet.mine(1);
  const addresses = [
    await ask<string>('getnewaddress', '', 'legacy'),
    await ask<string>('getnewaddress', '', 'legacy')
  ];
  for (const each of addresses) await ask('sendrawtransaction', (await pay(each, 400)).hex);
  await quiet.mine(1);
  const own = await startTestEncoder(quiet);
  try {
    // More than there is within: the wallet pays from outside.
    for (const [amount, encoding, data] of [
      [40, 'OP_RETURN', 'SEND|0|TOK|5|someone'],
      [160, 'P2SH', `FILE|${'x'.repeat(200)}`]
    ] as const) {
      const address = addresses.shift()!;
      const [coin] = await ask<[{ txid: string; vout: number }]>('listunspent', 1, 9_999_999, [address]);
      await ask('lockunspent', false, [{ txid: coin.txid, vout: Number(coin.vout) }]);
      // The wallet keeps all change within the extension block: another input makes room for change outside.
      const given = await pay(inside, amount);
      const { output, extension } = cut(given.hex);
      await ask('abandontransaction', given.txid);
      await ask('lockunspent', true);
      const into = Buffer.from(output, 'hex').readBigInt64LE();
      const { scriptPubKey } = await ask<{ scriptPubKey: string }>('getaddressinfo', address);
      const change = Buffer.alloc(9);
      change.writeBigInt64LE(40_000_000_000n - into - 100_000n);
      change[8] = scriptPubKey.length / 2;
      const place =
        Buffer.from(coin.txid, 'hex').reverse().toString('hex') +
        Buffer.from([Number(coin.vout), 0, 0, 0]).toString('hex');
      const unsigned = `02000000000801${place}00ffffffff02${output}${change.toString('hex')}${scriptPubKey}${extension}00000000`;
      const { hex } = await ask<{ hex: string }>('signrawtransactionwithwallet', unsigned);
      const txid = await ask<string>('sendrawtransaction', hex);
      const asked = { pubkey: address, data, encoding, utxos: [{ txid, vout: 1 }] };
      const privateKey = base58check.decode(await ask<string>('dumpprivkey', address)).subarray(1, 33);
      const send = async ({ psbt }: Readonly<Record<string, string>>) =>
        (await own.call<{ txid: string }>('broadcast_tx', { tx_hex: signPsbt(psbt!, privateKey) })).txid;
      let last = await send(await own.call('create_tx', asked));
      if (encoding === 'P2SH') last = await send(await own.call('create_tx', { ...asked, p2shHash: last }));
      const mined = await decodeBlock(quiet, (await quiet.mine(1))[0]!);
      assert.ok((await ask<{ tx: string[] }>('getblock', await ask('getbestblockhash'))).tx.includes(txid));
      const row = mined.get(last);
      assert.deepEqual([row?.data, row?.source], [data, address], encoding);
    }
  } finally {
    await own.close();
  }
});
