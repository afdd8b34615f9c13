import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { decodeBlock } from '../../../lab/loop/decode.ts';
import { type Account, openAccounts } from '../../../lab/loop/wallet.ts';
import { readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { writeBase } from '../../../src/coin/raw/transaction-form.ts';
import type { PrivateLitecoind } from '../../../src/devnet/processes/litecoin.ts';
import { startTestEncoder, type TestEncoder } from '../../support/encoder/service.ts';
import { signPsbt } from '../../support/encoder/signer.ts';
import { startTestLitecoind } from '../../support/litecoin.ts';

let node: PrivateLitecoind;
let encoder: TestEncoder;
let accounts: readonly Account[];

before(async () => {
  ({ node } = await startTestLitecoind({ flags: ['-mempoolreplacement=1'] }));
  encoder = await startTestEncoder(node);
  accounts = await openAccounts(node, 40);
});
after(() => encoder.close());

interface Made {
  readonly psbt: string;
  readonly txid: string | null;
  readonly fee: string;
  readonly vsize: number;
  readonly inputs: readonly { readonly txid: string; readonly vout: number }[];
  readonly revealPsbt?: string;
  readonly carrierScripts?: readonly string[];
  readonly replaces?: string;
  readonly replacedFee?: string;
  readonly change?: { readonly vout: number; readonly amount: string } | null;
  readonly replacedChange?: { readonly vout: number; readonly amount: string } | null;
  readonly warnings?: readonly { readonly code: string }[];
}

const LONG = `BROADCAST|0|${'x'.repeat(700)}`;
const SHORT = 'SEND|0|TOK|5|someone';
const codes = ({ warnings = [] }: Made) => warnings.map(({ code }) => code).sort();

function requestOf(account: Account, more: object) {
  const options = { signerSupportsTapscript: true, signerSupportsScripts: true };
  return { pubkey: account.address, compressedPubKey: account.publicKey, rbf: true, feePerKb: 2_000, options, ...more };
}

async function broadcast(hex: string): Promise<string> {
  return (await encoder.call<{ txid: string }>('broadcast_tx', { tx_hex: hex })).txid;
}

/** Sends an action. @returns the signed transaction that says it */
async function say(account: Account, request: ReturnType<typeof requestOf>): Promise<string> {
  const made = await encoder.call<Made>('create_tx', request);
  const first = signPsbt(made.psbt, account.privateKey);
  const txid = await broadcast(first);
  if (!made.carrierScripts) return first;
  const { psbt } = made.revealPsbt
    ? { psbt: made.revealPsbt }
    : await encoder.call<Made>('create_tx', { ...request, p2shHash: txid });
  const hex = signPsbt(psbt, account.privateKey);
  await broadcast(hex);
  return hex;
}

const parse = (hex: string) => readRawTransaction(Buffer.from(hex, 'hex'));
const waits = async (txid: string) => ((await node.rpc.call('getrawmempool')) as string[]).includes(txid);

for (const encoding of ['OP_RETURN', 'MULTISIGN', 'P2WSH', 'P2SH', 'TAPROOT'] as const)
  test(`bump_tx: ${encoding} from each form of address is replaced, and says the same`, async () => {
    for (const account of accounts) {
      const payees = [{ address: accounts[0]!.address, value: 50_000 }].slice(0, account.form === 'bech32' ? 1 : 0);
      const data = encoding === 'OP_RETURN' ? SHORT : LONG;
      const hex = await say(account, requestOf(account, { data, encoding, customOutputs: payees }));
      const old = parse(hex);
      const bumped = await encoder.call<Made>('bump_tx', {
        ...(account.form === 'legacy' ? { txid: old.txid } : { tx_hex: hex }),
        compressedPubKey: account.publicKey
      });
      const signed = signPsbt(bumped.psbt, account.privateKey);
      const replacement = parse(signed);
      const label = `${encoding} ${account.form}`;
      assert.equal(bumped.replaces, old.txid);
      assert.deepEqual(
        replacement.inputs.slice(0, old.inputs.length).map(({ txid, vout }) => [txid, vout]),
        old.inputs.map(({ txid, vout }) => [txid, vout]),
        label
      );
      assert.ok(bumped.txid === null || bumped.txid === replacement.txid, label);
      assert.ok(BigInt(bumped.fee) > BigInt(bumped.replacedFee!), label);
      const txid = await broadcast(signed);
      assert.ok((await waits(txid)) && !(await waits(old.txid)), `${label} took the place of the other`);
      const { vsize, fees } = (await node.rpc.call('getmempoolentry', [txid])) as {
        vsize: number;
        fees: { base: unknown };
      };
      assert.equal(Math.round(Number(fees.base) * 1e8), Number(bumped.fee));
      assert.ok(Math.abs(vsize - bumped.vsize) <= replacement.inputs.length, `${label}: ${vsize} ${bumped.vsize}`);
      const [block] = await node.mine(1);
      const row = (await decodeBlock(node, block!)).get(txid);
      assert.deepEqual([row?.source, row?.data], [account.address, data], label);
      const paid = replacement.outputs.filter(({ amount }) => amount === 50_000n);
      assert.equal(paid.length, payees.length, label);
    }
  });

test('bump_tx: the change pays first; further coins are reserved for the caller, and freed by their request_id', async () => {
  const account = accounts[2]!;
  const hex = await say(account, requestOf(account, { data: SHORT }));
  const { inputs } = await encoder.call<Made>('bump_tx', { tx_hex: hex, feePerKb: 30_000 });
  assert.equal(inputs.length, 1, 'the change is enough');
  const [coin] = parse(hex).inputs;
  const all = { address: accounts[1]!.address, value: 19_990_000 };
  const tight = { data: SHORT, customOutputs: [all], feePerKb: 3_000, unconfirmed: false };
  const whole = await say(account, requestOf(account, tight));
  const before = encoder.reservations.count;
  const request = { tx_hex: whole, feePerKb: 100_000, request_id: 'a bump' };
  const bumped = await encoder.call<Made>('bump_tx', request);
  assert.equal(bumped.inputs.length, 2);
  assert.notDeepEqual(bumped.inputs[1], { txid: coin!.txid, vout: coin!.vout });
  assert.equal(encoder.reservations.count, before + 1);
  assert.deepEqual(await encoder.call<Made>('bump_tx', request), bumped, 'sent again');
  assert.equal(encoder.reservations.count, before + 1);
  const other = await encoder.call<Made>('bump_tx', { ...request, request_id: 'another' });
  assert.notDeepEqual(other.inputs[1], bumped.inputs[1], 'another call gets another coin');
  await encoder.call('release_tx', { request_id: 'a bump' });
  await encoder.call('release_tx', { request_id: 'another' });
  assert.ok(encoder.reservations.count <= before);
  await broadcast(signPsbt(bumped.psbt, account.privateKey));
  const paid = parse(signPsbt(bumped.psbt, account.privateKey)).outputs;
  assert.ok(
    paid.some(({ amount }) => amount === 19_990_000n),
    'who is paid gets as much as before'
  );
});

test('bump_tx: COINS_INSUFFICIENT tells what is needed, available and reserved', async () => {
  const account = accounts[0]!;
  const all = { address: accounts[1]!.address, value: 19_990_000 };
  const hex = await say(account, requestOf(account, { data: SHORT, customOutputs: [all], unconfirmed: false }));
  const { address } = account;
  const coins = await encoder.call<readonly { txid: string; vout: number; value: string }[]>('get_utxos', { address });
  encoder.reservations.take(coins, '127.0.0.1', 'all of them');
  const { error } = await encoder.ask('bump_tx', { tx_hex: hex, feePerKb: 100_000 });
  encoder.reservations.release(coins, '127.0.0.1');
  const { required, available, outputs, fee, reserved } = error!.data as Record<string, number>;
  assert.deepEqual([required, outputs], [outputs! + fee!, 19_990_000]);
  assert.ok(available! >= 20_000_000 && available! < required!, 'its own input, and what is not reserved');
  const held = coins.reduce((sum, { value }) => sum + Number(value), 0);
  assert.ok(reserved! > 0 && reserved! <= held && fee! > 10_000, JSON.stringify(error));
  for (const amount of [required, available, reserved]) assert.match(error!.message, new RegExp(`\\b${amount}\\b`));
});

test('bump_tx: coins that strangers reserved, and outputs beside one that it spends, pay for it too', async () => {
  const account = accounts[1]!;
  const customOutputs = [8_000_000, 9_900_000].map((value) => ({ address: account.address, value }));
  const split = parse(await say(account, requestOf(account, { data: SHORT, customOutputs })));
  await node.mine(1);
  const places = split.outputs.flatMap(({ amount }, vout) =>
    customOutputs.some(({ value }) => BigInt(value) === amount) ? [{ txid: split.txid, vout }] : []
  );
  const all = { address: accounts[2]!.address, value: 9_899_000 };
  const request = { data: SHORT, customOutputs: [all], utxos: [places[1]], feePerKb: 3_000 };
  const whole = await say(account, requestOf(account, request));
  const coins = await encoder.call<Made['inputs']>('get_utxos', { address: account.address });
  const elsewhere = coins.filter(({ txid }) => txid !== split.txid);
  encoder.reservations.take([places[0]!], 'a stranger');
  encoder.reservations.take(elsewhere, '127.0.0.1');
  try {
    const bump = { tx_hex: whole, feePerKb: 100_000, compressedPubKey: account.publicKey, request_id: 'a third' };
    const { inputs } = await encoder.call<Made>('bump_tx', bump);
    assert.deepEqual(inputs[0], places[1]);
    assert.equal(inputs[1]!.txid, split.txid);
    await encoder.call('release_tx', { request_id: 'a third' });
  } finally {
    encoder.reservations.release(elsewhere, '127.0.0.1');
  }
});

test('bump_tx: a payment to the source itself, which is not the last output, is no change', async () => {
  const account = accounts[2]!;
  const customOutputs = [
    { address: account.address, value: 500_000 },
    { address: accounts[1]!.address, value: 19_499_000 }
  ];
  const whole = await say(account, requestOf(account, { data: null, customOutputs, unconfirmed: false }));
  const { psbt } = await encoder.call<Made>('bump_tx', {
    tx_hex: whole,
    feePerKb: 50_000,
    compressedPubKey: account.publicKey
  });
  const { outputs } = parse(signPsbt(psbt, account.privateKey));
  assert.deepEqual(
    outputs.slice(0, 2).map(({ amount }) => amount),
    [500_000n, 19_499_000n]
  );
});

test('bump_tx: the answer names the output that was taken for change, and a plain payment has no second transaction', async () => {
  const account = accounts[2]!;
  const other = { address: accounts[0]!.address, value: 500_000 };
  const self = { address: account.address, value: 19_499_000 };
  const bump = async (customOutputs: readonly object[]) => {
    const { address } = account;
    const coins = await encoder.call<readonly { value: string }[]>('get_utxos', { address, unconfirmed: false });
    // One coin alone leaves nothing for change.
    const utxos = coins.filter(({ value }) => value === '20000000').slice(0, 1);
    const hex = await say(account, requestOf(account, { data: null, customOutputs, utxos }));
    const asked = { tx_hex: hex, feePerKb: 50_000, compressedPubKey: account.publicKey };
    const bumped = await encoder.call<Made>('bump_tx', asked);
    const outputs = parse(signPsbt(bumped.psbt, account.privateKey)).outputs.map(({ amount }) => String(amount));
    return { bumped, outputs };
  };
  // An output to the source that stands last has the form of change: whoever asks can see that it was taken for it.
  const { bumped, outputs } = await bump([other, self]);
  assert.deepEqual(bumped.replacedChange, { vout: 1, amount: '19499000' });
  assert.deepEqual([bumped.change, outputs[0]], [{ vout: 1, amount: outputs[1] }, '500000']);
  assert.ok(Number(outputs[1]) < 19_499_000);
  assert.ok(!codes(bumped).includes('REVEAL_ANEW'));
  const kept = await bump([self, other]);
  assert.equal(kept.bumped.replacedChange, null);
  assert.deepEqual(kept.outputs.slice(0, 2), ['19499000', '500000']);
  assert.deepEqual(kept.bumped.change, { vout: 2, amount: kept.outputs[2] });
});

test('bump_tx: REQUEST_INVALID for what cannot be replaced, and nothing stays reserved', async () => {
  const account = accounts[2]!;
  const before = encoder.reservations.count;
  const refused = async (request: object, reason: RegExp) => {
    const { error } = await encoder.ask('bump_tx', request);
    assert.equal(error?.data['code'], 'REQUEST_INVALID');
    assert.match(String(error?.data['reason']), reason);
  };
  await refused({}, /name a transaction by txid/);
  await refused({ txid: 'ab'.repeat(32) }, /knows no transaction.* name one input of the first answer in utxos/);
  const { tx } = (await node.rpc.call('getblock', [await node.rpc.call('getblockhash', [1])])) as { tx: string[] };
  await refused({ txid: tx[0] }, /no input that another transaction could spend/);
  const [place] = await encoder.call<readonly { txid: string }[]>('get_utxos', { address: account.address });
  const beyond = {
    txid: place!.txid,
    vout: 2 ** 32 - 1,
    sequence: 0,
    unlock: { script: Buffer.of(1, 1), witness: [] }
  };
  const impossible = writeBase({ inputs: [beyond], outputs: [{ amount: 1_000n, script: Buffer.alloc(25, 0x6a) }] });
  await refused({ tx_hex: impossible.toString('hex') }, /its inputs are spent/);
  const hex = await say(account, requestOf(account, { data: SHORT }));
  await refused({ tx_hex: hex, txid: 'ab'.repeat(32) }, /not txid/);
  const unsigned = Buffer.from(parse(hex).baseBytes).toString('hex');
  await refused({ tx_hex: unsigned }, /not signed.* name one input of the first answer in utxos/);
  const { txid } = parse(hex);
  const last = parse(hex).outputs.length - 1;
  const child = await say(account, requestOf(account, { data: SHORT, utxos: [{ txid, vout: last }] }));
  await refused({ txid }, /bump the last of them/);
  const grown = await encoder.call<Made>('bump_tx', { tx_hex: child });
  assert.equal(grown.replaces, parse(child).txid);
  await node.mine(1);
  await refused({ txid }, /it is confirmed/);
  const huge = await encoder.ask('bump_tx', { tx_hex: child, feePerKb: 20_000_000 });
  assert.equal(huge.error?.data['code'], 'REQUEST_INVALID');
  assert.ok(encoder.reservations.count <= before + 2, 'only those of create_tx');
});

test('bump_tx: warnings tell of nodes that replace nothing, of transactions that did not ask, and of a second one', async () => {
  const account = accounts[2]!;
  const hex = await say(account, requestOf(account, { data: SHORT, rbf: false }));
  assert.deepEqual(codes(await encoder.call<Made>('bump_tx', { tx_hex: hex })), [
    'NODES_REPLACE_NOTHING',
    'NOT_REPLACEABLE'
  ]);
  const asked = requestOf(account, { data: LONG, encoding: 'P2WSH' });
  const made = await encoder.call<Made>('create_tx', asked);
  assert.ok(codes(made).includes('NODES_REPLACE_NOTHING'), 'rbf is little worth on this chain');
  const first = signPsbt(made.psbt, account.privateKey);
  await broadcast(first);
  const bumped = await encoder.call<Made>('bump_tx', { tx_hex: first, feePerKb: 9_000 });
  assert.deepEqual(codes(bumped), ['NODES_REPLACE_NOTHING', 'REVEAL_ANEW']);
  const replacement = signPsbt(bumped.psbt, account.privateKey);
  await broadcast(replacement);
  const { psbt } = await encoder.call<Made>('create_tx', { ...asked, p2shHex: replacement });
  const txid = await broadcast(signPsbt(psbt, account.privateKey));
  const [block] = await node.mine(1);
  assert.equal((await decodeBlock(node, block!)).get(txid)?.data, LONG);
});

test('bump_tx: a node that wants more for a replacement than for a new transaction gets it', async () => {
  const flags = ['-mempoolreplacement=1', '-minrelaytxfee=0.00001', '-incrementalrelayfee=0.00005'];
  const { node: dear } = await startTestLitecoind({ flags });
  const own = await startTestEncoder(dear);
  try {
    const [account] = await openAccounts(dear, 2);
    const sign = ({ psbt }: Made) => ({ tx_hex: signPsbt(psbt, account!.privateKey) });
    const first = sign(await own.call<Made>('create_tx', requestOf(account!, { data: SHORT, feePerKb: 1_000 })));
    await own.call('broadcast_tx', first);
    await own.call('broadcast_tx', sign(await own.call<Made>('bump_tx', first)));
  } finally {
    await own.close();
  }
});
