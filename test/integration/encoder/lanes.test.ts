import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { p2tr } from '@scure/btc-signer/payment.js';
import { Transaction } from '@scure/btc-signer/transaction.js';
import { decodeBlock } from '../../../lab/loop/decode.ts';
import { type Account, openAccounts } from '../../../lab/loop/wallet.ts';
import { readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { writeBase } from '../../../src/coin/raw/transaction-form.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { payTo } from '../../../src/coin/script/pay-scripts.ts';
import type { PrivateLitecoind } from '../../../src/devnet/processes/litecoin.ts';
import { LOOP_NETWORK, startTestEncoder, type TestEncoder } from '../../support/encoder/service.ts';
import { publicKeyOf, signPsbt } from '../../support/encoder/signer.ts';
import { startTestLitecoind } from '../../support/litecoin.ts';

let node: PrivateLitecoind;
let encoder: TestEncoder;
let account: Account;

before(async () => {
  ({ node } = await startTestLitecoind());
  encoder = await startTestEncoder(node);
  account = (await openAccounts(node, 12, ['bech32']))[0]!;
});
after(() => encoder.close());

interface Created {
  readonly psbt: string;
  readonly encoding: string;
  readonly revealPsbt?: string;
  readonly envelope?: object;
  readonly total: string;
  readonly inputs: readonly object[];
  readonly compression?: { readonly reason: string | null; readonly stored?: { readonly data: string } };
}

/** Signs and sends what was created. @returns the id of the transaction that says it */
async function send({ psbt, revealPsbt }: Created, key: Uint8Array): Promise<string> {
  let txid = '';
  for (const each of [psbt, ...(revealPsbt ? [revealPsbt] : [])])
    ({ txid } = await encoder.call<{ txid: string }>('broadcast_tx', { tx_hex: signPsbt(each, key) }));
  return txid;
}

/** Satoshis of the account. */
async function held(): Promise<number> {
  const coins = await encoder.call<readonly { value: string }[]>('get_utxos', { address: account.address });
  return coins.reduce((sum, { value }) => sum + Number(value), 0);
}

const minedRows = async () => await decodeBlock(node, (await node.mine(1))[0]!);
/** Returns an action with a number of bytes when it is compiled, three of which the compiling takes. */
const actionOf = (compiledBytes: number) => `FILE|${'ä'.repeat(20)}${'x'.repeat(compiledBytes - 48)}`;

for (const encoding of ['TAPROOT', 'P2WSH', 'P2SH', 'MULTISIGN'])
  test(`${encoding} carries 8192 bytes, and 8193 are refused`, async () => {
    const request = {
      pubkey: account.address,
      compressedPubKey: account.publicKey,
      encoding,
      options: { signerSupportsTapscript: true, signerSupportsScripts: true }
    };
    const before = await held();
    const created = await encoder.call<Created>('create_tx', { ...request, data: actionOf(8_192) });
    assert.equal(created.encoding, encoding);
    const txid = await send(created, account.privateKey);
    assert.equal((await minedRows()).get(txid)?.data, actionOf(8_192));
    assert.equal(before - (await held()), Number(created.total), 'what left the source');
    const beforeIt = encoder.reservations.count;
    const { error } = await encoder.ask('create_tx', { ...request, data: actionOf(8_193) });
    assert.match(JSON.stringify(error), /REQUEST_INVALID.*at most 8192 bytes, not 8193/);
    assert.equal(encoder.reservations.count, beforeIt);
  });

test('the second transaction is built by the id of the first, which the node has, or by its hex', async () => {
  const [legacy] = await openAccounts(node, 2, ['legacy']);
  const { address, publicKey, privateKey } = legacy!;
  const request = { pubkey: address, compressedPubKey: publicKey, encoding: 'P2SH', data: actionOf(500) };
  const first = await encoder.call<Created>('create_tx', request);
  assert.equal(first.revealPsbt, undefined);
  const hex = signPsbt(first.psbt, privateKey);
  const beforeIt = encoder.reservations.count;
  const unknown = await encoder.ask('create_tx', { ...request, p2shHash: 'ab'.repeat(32) });
  assert.deepEqual([unknown.error?.code, encoder.reservations.count], [-32602, beforeIt]);
  assert.match(unknown.error!.message, /knows no transaction p2shHash: broadcast it, or send its hex in p2shHex/);
  const p2shHex = Buffer.from(Transaction.fromPSBT(Buffer.from(first.psbt, 'hex')).unsignedTx).toString('hex');
  const unsigned = await encoder.ask('create_tx', { ...request, p2shHex });
  assert.match(unsigned.error!.message, /is not signed, which changes its id: sign it first/);
  const { inputs, outputs } = readRawTransaction(Buffer.from(hex, 'hex'));
  const [signed] = inputs.map((input) => ({ ...input, sequence: 0, unlock: { script: input.script, witness: [] } }));
  const halfSigned = [signed!, { ...signed!, vout: 99, unlock: { script: Buffer.alloc(0), witness: [] } }];
  const half = writeBase({ inputs: halfSigned, outputs }).toString('hex');
  const partly = await encoder.ask('create_tx', { ...request, p2shHex: half });
  assert.match(partly.error!.message, /is not signed, which changes its id/, 'its second input is not');
  const { txid: p2shHash } = await encoder.call<{ txid: string }>('broadcast_tx', { tx_hex: hex });
  const reveal = await encoder.call<Created>('create_tx', { ...request, p2shHash });
  assert.deepEqual(reveal, await encoder.call<Created>('create_tx', { ...request, p2shHex: hex }));
  const other = await encoder.ask('create_tx', { ...request, p2shHash, data: actionOf(501) });
  assert.match(other.error!.message, /no outputs that hold this action.* as in the first call$/);
  const quoted = await encoder.ask('create_tx', { ...request, p2shHash, feeQuote: { address, amount: 54_321 } });
  assert.match(quoted.error!.message, /pays another feeQuote, or none: send the feeQuote of the first call/);
  const segwit = await encoder.ask('create_tx', { ...request, pubkey: publicKey, p2shHash });
  assert.match(segwit.error!.message, /is paid by .*, and not by .*: the action would count for that one/);
  const txid = await send(reveal, privateKey);
  assert.equal((await minedRows()).get(txid)?.data, request.data);
  const again = await encoder.ask('create_tx', { ...request, p2shHash });
  assert.deepEqual(again.error?.data['code'], 'COIN_UNUSABLE');
});

test('a second call that forgets the payments of the first one is refused: the action would be revealed unpaid', async () => {
  const [legacy, payee] = await openAccounts(node, 5, ['legacy', 'bech32']);
  const { address, publicKey, privateKey } = legacy!;
  const own = { pubkey: address, compressedPubKey: publicKey, data: actionOf(500), feePerKb: 3_000 };
  const ofEnvelopes = { signerSupportsTapscript: true };
  for (const [more, forgotten] of [
    [{ encoding: 'P2SH' }, { customOutputs: [{ address: payee!.address, value: 6_000 }] }],
    [{ encoding: 'TAPROOT', options: ofEnvelopes }, { feeQuote: { address: payee!.address, amount: 6_000 } }]
  ] as const) {
    const request = { ...own, ...more };
    const first = await encoder.call<Created>('create_tx', { ...request, ...forgotten });
    const p2shHex = signPsbt(first.psbt, privateKey);
    for (const feePerKb of [3_000, 1_000, undefined]) {
      const { error } = await encoder.ask('create_tx', { ...request, feePerKb, p2shHex });
      assert.match(error?.message ?? '', /does not show that they are for a fee alone: send customOutputs/);
    }
    assert.ok((await encoder.call<Created>('create_tx', { ...request, ...forgotten, p2shHex })).psbt);
    const without = await encoder.call<Created>('create_tx', { ...request, utxos: first.inputs });
    const other = signPsbt(without.psbt, privateKey);
    for (const feePerKb of [3_000, 1_000, undefined])
      assert.ok((await encoder.call<Created>('create_tx', { ...request, feePerKb, p2shHex: other })).psbt);
  }
});

test('no payment comes before the fee of the protocol at its address: ledgers take the first output there', async () => {
  const [payer, payee] = await openAccounts(node, 1, ['bech32', 'bech32']);
  const { address } = payee!;
  for (let coins = 0; coins < 2; coins++) await node.rpc.call('sendtoaddress', [payer!.address, 0.3]);
  await node.mine(1);
  const options = { signerSupportsTapscript: true, signerSupportsScripts: true };
  const own = { pubkey: payer!.address, compressedPubKey: payer!.publicKey, data: 'ISSUE|0|TOKA', options };
  const before = encoder.reservations.count;
  for (const encoding of ['OP_RETURN', 'TAPROOT', 'P2WSH', 'P2SH', 'MULTISIGN']) {
    const request = { ...own, encoding, feeQuote: { address, amount: 50_000 } };
    // A COINPAY would use up one of the same amount, and leave nothing for the fee.
    for (const value of [6_000, 50_000]) {
      const paid = await encoder.ask('create_tx', { ...request, customOutputs: [{ address, value }] });
      const reason = new RegExp(`${value} satoshis pays the address of feeQuote: .* by another transaction`);
      assert.match(paid.error?.message ?? '', reason, encoding);
    }
  }
  // The chunk holds more than the second transaction costs.
  const changing = { ...own, encoding: 'P2WSH', dust: 90_000, change: address };
  const changed = await encoder.ask('create_tx', { ...changing, feeQuote: { address, amount: 95_000 } });
  assert.match(changed.error?.message ?? '', /for change, name another address in change/);
  assert.equal(encoder.reservations.count, before, 'no coin stays reserved');
  const { psbt } = await encoder.call<Created>('create_tx', {
    ...own,
    change: address,
    feeQuote: { address, amount: 56_000 }
  });
  assert.ok(psbt);
});

test('the second transaction of a FILE may be built elsewhere, from the bytes that the first answer stored', async () => {
  const [legacy] = await openAccounts(node, 1, ['legacy']);
  const { address, publicKey, privateKey } = legacy!;
  const rawData = 'a text that is deflated, '.repeat(40) + hash('sha512', 'more', 'hex').repeat(3);
  const request = { pubkey: address, compressedPubKey: publicKey, encoding: 'P2SH', data: 'FILE|0|a', rawData };
  const first = await encoder.call<Created>('create_tx', request);
  const { txid: p2shHash } = await encoder.call<{ txid: string }>('broadcast_tx', {
    tx_hex: signPsbt(first.psbt, privateKey)
  });
  // Any other bytes are what another deflate would make of the same file.
  const elsewhere = await encoder.ask('create_tx', { ...request, rawData: `${rawData}.`, p2shHash });
  assert.match(elsewhere.error!.message, /deflated rawData, .* send data and rawData of compression\.stored/);
  const reveal = await encoder.call<Created>('create_tx', { ...request, ...first.compression!.stored, p2shHash });
  assert.equal(reveal.compression!.reason, 'codec-already-declared');
  const txid = await send(reveal, privateKey);
  assert.equal((await minedRows()).get(txid)?.data, first.compression!.stored!.data);
});

test('the coins of an envelope that is not revealed come back to its owner', async () => {
  const { address, publicKey, privateKey } = account;
  const options = { signerSupportsTapscript: true, signerSupportsScripts: true };
  const request = { pubkey: address, compressedPubKey: publicKey, encoding: 'TAPROOT', data: actionOf(500), options };
  const { psbt, envelope } = await encoder.call<Created>('create_tx', request);
  const sent = await encoder.call<{ txid: string }>('broadcast_tx', { tx_hex: signPsbt(psbt, privateKey) });
  const cancel = { commitTxid: sent.txid, ...envelope, destination: address, feePerKb: 2_000, replacebyfee: true };
  const wrong = await encoder.ask('create_envelope_cancel_tx', { ...cancel, tapleafHash: 'ab'.repeat(32) });
  assert.equal(wrong.error?.data['code'], 'COIN_UNUSABLE');
  const keyless = addressOf(payTo({ kind: 'taproot', bytes: Buffer.alloc(32, 0xff) }), LOOP_NETWORK.addresses)!;
  const lost = await encoder.ask('create_envelope_cancel_tx', { ...cancel, destination: keyless });
  assert.match(lost.error!.message, /stands for no key of secp256k1/);
  const cancelled = await encoder.call<Created & { readonly fee: unknown }>('create_envelope_cancel_tx', cancel);
  const { psbt: _, fee, ...fields } = cancelled;
  assert.deepEqual([fields, Number.isInteger(fee)], [{ encoding: 'TAPROOT', cancel: true }, true]);
  const tx_hex = signPsbt(cancelled.psbt, privateKey);
  const { txid } = await encoder.call<{ txid: string }>('broadcast_tx', { tx_hex });
  assert.equal((await minedRows()).get(txid), undefined, 'it says nothing');
  const output = (await node.rpc.call('gettxout', [txid, 0])) as { confirmations: number };
  assert.equal(output.confirmations, 1);
  const again = await encoder.ask('create_envelope_cancel_tx', cancel);
  assert.match(again.error!.message, /it is spent/);
});

test('a taproot address sends by its key, with and without steps; a key of another address is refused', async () => {
  const key = hash('sha256', 'a taproot key of a test', 'buffer');
  const publicKey = publicKeyOf(key);
  const pubkey = addressOf(Buffer.from(p2tr(publicKey.subarray(1)).script), LOOP_NETWORK.addresses)!;
  const compressedPubKey = publicKey.toString('hex');
  for (let coins = 0; coins < 5; coins++) await node.rpc.call('sendtoaddress', [pubkey, 0.3]);
  await node.mine(1);
  const options = { signerSupportsTapscript: true, signerSupportsScripts: true };
  const request = { pubkey, compressedPubKey, options, data: `BROADCAST|0|${'y'.repeat(50)}` };
  for (const encoding of ['OP_RETURN', 'TAPROOT', 'P2WSH', 'P2SH', 'MULTISIGN']) {
    const created = await encoder.call<Created>('create_tx', { ...request, encoding });
    const txid = await send(created, key);
    const row = (await minedRows()).get(txid);
    assert.deepEqual([row?.data, row?.source], [request.data, pubkey], encoding);
  }
  const unknown = await encoder.ask('create_tx', { ...request, compressedPubKey: undefined, encoding: 'P2WSH' });
  assert.match(unknown.error!.message, /public key of \w+ is not known: send compressedPubKey/);
  const foreign = await encoder.ask('create_tx', { ...request, compressedPubKey: account.publicKey });
  assert.match(foreign.error!.message, /the key is not that of rltc1p/);
});
