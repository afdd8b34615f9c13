import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Transaction } from '@scure/btc-signer/transaction.js';
import { decodeBlock } from '../../../lab/loop/decode.ts';
import { runLoop } from '../../../lab/loop/run.ts';
import { type Account, openAccounts } from '../../../lab/loop/wallet.ts';
import { inflateFile, isDeflated } from '../../../src/coin/action/file.ts';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { payTo, payToScript } from '../../../src/coin/script/pay-scripts.ts';
import type { PrivateLitecoind } from '../../../src/devnet/processes/litecoin.ts';
import { readSender } from '../../../src/encoder/transaction/sender.ts';
import { LOOP_NETWORK, type RpcReply, startTestEncoder, type TestEncoder } from '../../support/encoder/service.ts';
import { publicKeyOf, signPsbt } from '../../support/encoder/signer.ts';
import { startTestLitecoind } from '../../support/litecoin.ts';
import { PATIENCE_MS } from '../../support/patience.ts';

const COINS = 120;
/** A service lets none wait longer than 10 s. */
const AT_ONCE = 40;
let node: PrivateLitecoind;
let encoder: TestEncoder;
let accounts: readonly Account[];

before(async () => {
  ({ node } = await startTestLitecoind());
  encoder = await startTestEncoder(node);
  accounts = await openAccounts(node, COINS);
});
after(() => encoder.close());

interface Utxo {
  readonly txid: string;
  readonly vout: number;
  readonly value: string;
}
interface Created {
  readonly psbt: string;
  readonly txid: string;
  readonly fee: string;
  readonly vsize: number;
  readonly carrierScripts?: readonly string[];
  readonly encoding: string;
  readonly revealPsbt?: string;
  readonly inputs: readonly Utxo[];
  readonly compression?: {
    readonly compressed: boolean;
    readonly rawLength: number;
    readonly storedLength: number;
    readonly reason: string | null;
    readonly stored?: { readonly data: string; readonly rawData: string };
  };
  readonly warnings?: readonly { readonly code: string; readonly message: string }[];
}

const account = () => accounts[2]!;
const requestOf = (more: object = {}) => ({ pubkey: account().address, data: 'SEND|0|TOK|5|someone', ...more });
const create = (more: object = {}) => encoder.call<Created>('create_tx', requestOf(more));

test('calls go to the root and to the code of the network', async () => {
  assert.equal((await encoder.call('ping'))['status'], 'success');
  const post = (path: string) =>
    fetch(encoder.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    });
  assert.equal((await post('/RLTC/')).status, 200);
  assert.equal((await post('/BTC/')).status, 404);
});

test('the description is OpenRPC 1.3.2 and names the methods', async () => {
  const described = (await (await fetch(`${encoder.url}/RLTC/openrpc.json`)).json()) as {
    openrpc: string;
    methods: { name: string }[];
  };
  assert.equal(described.openrpc, '1.3.2');
  const names = described.methods.map(({ name }) => name);
  assert.deepEqual(names, [
    'ping',
    'health',
    'estimate_fee',
    'create_tx',
    'bump_tx',
    'release_tx',
    'create_envelope_cancel_tx',
    'broadcast_tx',
    'get_utxos'
  ]);
});

test('the fee quote is the relay fee while the node has no estimate', async () => {
  const quote = await encoder.call('estimate_fee');
  assert.deepEqual(quote, {
    low: 1,
    medium: 1,
    high: 1,
    unit: 'sat/vB',
    targets: { low: 6, medium: 3, high: 1 },
    source: 'relay fee'
  });
  assert.equal((await encoder.call('health'))['status'], 'healthy');
});

test('hashes of coins and transactions may have capitals', async () => {
  const [coin] = await encoder.call<Utxo[]>('get_utxos', { address: account().address });
  const { inputs } = await create({ utxos: [{ ...coin, txid: coin!.txid.toUpperCase() }] });
  assert.deepEqual(inputs, [{ txid: coin!.txid, vout: coin!.vout }]);
  const unknown = await encoder.ask('create_tx', requestOf({ p2shHash: 'AB'.repeat(32) }));
  assert.match(unknown.error?.message ?? '', /the node knows no transaction p2shHash/);
});

test('get_utxos is what scantxoutset finds', async () => {
  const coins = await encoder.call<Utxo[]>('get_utxos', { address: account().address });
  const scanned = (await node.rpc.call('scantxoutset', ['start', [`addr(${account().address})`]])) as {
    unspents: { txid: string; vout: number }[];
  };
  const keys = (list: readonly { txid: string; vout: number | string }[]) =>
    list.map(({ txid, vout }) => `${txid}:${vout}`).sort();
  assert.equal(coins.length, COINS);
  assert.deepEqual(keys(coins), keys(scanned.unspents));
  assert.equal(coins[0]?.value, '20000000');
});

test('a built transaction is signed and sent; the second time it has the same id', async () => {
  const { psbt, txid } = await create();
  const hex = signPsbt(psbt, account().privateKey);
  assert.deepEqual(await encoder.call('broadcast_tx', { tx_hex: hex }), { txid });
  assert.deepEqual(await encoder.call('broadcast_tx', { tx_hex: hex }), { txid });
  await node.mine(1);
  assert.deepEqual(await encoder.call('broadcast_tx', { tx_hex: hex }), { txid }, 'and once it is confirmed');
});

test('broadcast_tx: a confirmed transaction whose outputs are all spent is a success too', async () => {
  const { psbt, txid } = await create();
  const hex = signPsbt(psbt, account().privateKey);
  await encoder.call('broadcast_tx', { tx_hex: hex });
  await node.mine(1);
  // Named here: the list of get_utxos may be older than this block by as long as its reading took.
  const change = { txid, vout: 1 };
  const next = await create({ utxos: [change] });
  await encoder.call('broadcast_tx', { tx_hex: signPsbt(next.psbt, account().privateKey) });
  await node.mine(1);
  assert.equal(await node.rpc.call('gettxout', [txid, change.vout]), null);
  assert.deepEqual(await encoder.call('broadcast_tx', { tx_hex: hex }), { txid });
});

test('calls at once share no coin; when all are handed out, COINS_INSUFFICIENT; what failed keeps none', async () => {
  const before = encoder.reservations.count;
  const replies: RpcReply[] = [];
  const ask = () =>
    encoder.ask('create_tx', {
      ...requestOf(),
      pubkey: accounts[1]!.address,
      compressedPubKey: accounts[1]!.publicKey
    });
  while (replies.length < COINS + 20) replies.push(...(await Promise.all(Array.from({ length: AT_ONCE }, ask))));
  const inputs = replies.flatMap(({ result }) => (result ? (result as Created).inputs : []));
  const keys = inputs.map(({ txid, vout }) => `${txid}:${vout}`);
  assert.equal(new Set(keys).size, keys.length);
  assert.equal(keys.length, COINS);
  const refused = replies.flatMap(({ error }) => (error ? [error] : []));
  assert.deepEqual(
    new Set(refused.map(({ code, data }) => `${code} ${data['code']}`)),
    new Set(['-32010 COINS_INSUFFICIENT'])
  );
  assert.equal(encoder.reservations.count - before, COINS);
  for (const { message, data } of refused) {
    const amounts = data as Record<string, number>;
    const { available, required, outputs, fee } = amounts;
    assert.deepEqual([available, amounts['reserved'], required], [0, COINS * 20_000_000, outputs! + fee!]);
    assert.match(message, /no coin that can be spent now; [1-9]\d+ satoshis are needed/);
    const reserved = `reserved for earlier calls: ${COINS} of its coins, ${COINS * 20_000_000} satoshis`;
    assert.match(message, new RegExp(`${reserved}, the first of them for \\d+ s more`));
  }
});

test('request_id: sent again, a request has the same answer; another one may not use its id', async () => {
  const first = await create({ request_id: 'a' });
  const count = encoder.reservations.count;
  assert.deepEqual(await create({ request_id: 'a' }), first);
  assert.equal(encoder.reservations.count, count);
  assert.notDeepEqual((await create({ request_id: 'b' })).inputs, first.inputs);
  const { error } = await encoder.ask('create_tx', requestOf({ request_id: 'a', data: 'SEND|0|TOK|6|someone' }));
  assert.deepEqual([error?.code, error?.data['reason']], [-32602, 'request_id was used for another request']);
  for (let again = 0; again < 2; again++)
    await assert.rejects(create({ request_id: 'c', fee: 1 }), /the least that the node relays/);
  const released = await encoder.call('release_tx', { request_id: 'a' });
  assert.deepEqual(released, { released: first.inputs.length });
  assert.deepEqual(await encoder.call('release_tx', { request_id: 'a' }), { released: 0 });
  assert.deepEqual((await create({ request_id: 'a' })).inputs, first.inputs, 'its coins are free again');
});

/** A taproot address whose 32 bytes are no coordinate of the curve. */
const NO_KEY = addressOf(payTo({ kind: 'taproot', bytes: Buffer.alloc(32, 0xff) }), LOOP_NETWORK.addresses)!;

const invalid: readonly (readonly [title: string, params: object, reason: RegExp])[] = [
  ['data of more bytes than an action may have', { data: `FILE|${'x'.repeat(8_185)}` }, /at most 8192 bytes, not 8193/],
  ['an uncompressed key', { compressedPubKey: `04${'11'.repeat(64)}` }, /uncompressed/],
  [
    'a key of another address',
    { compressedPubKey: `02${'79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'}` },
    /the key is not that of/
  ],
  ['the character NUL', { data: 'SEND|\0' }, /NUL/],
  ['half of a surrogate pair', { data: 'SEND|\ud800' }, /surrogate/],
  ['an unknown action', { data: 'STEAL|0' }, /no known action: "STEAL\|0"/],
  ['an output below dust', { customOutputs: [{ address: 'self', value: 2_939 }] }, /dust/],
  ['a fraction of a satoshi', { fee: 1_000.5 }, /satoshis as a whole number$/],
  ['satoshis that look like coins', { fee: '300.0' }, /satoshis as a whole number$/],
  ['a fee in coins', { feeQuote: { address: 'self', amount: '0.001' } }, /satoshis as a whole number$/],
  [
    'an encoding in small letters',
    { encoding: 'op_return' },
    /must be one of AUTO, OP_RETURN, TAPROOT, P2WSH, P2SH, MULTISIGN$/
  ],
  ['no rate', { feePerKb: 'fast' }, /satoshis per 1000 virtual bytes$/],
  ['negative satoshis', { fee: -1 }, /./],
  ['a rate of nothing, as a text', { feePerKb: '0.0' }, /feePerKb must be more than 0/],
  ['a payment that nobody could ever spend', { customOutputs: [{ address: NO_KEY, value: 50_000 }] }, /no key of secp/],
  ['change that nobody could ever spend', { change: NO_KEY }, /no key of secp256k1/],
  ['a fee that must be a mistake', { feePerKb: 20_000_000 }, /ENCODER_MAX_FEE_RATE/],
  ['a whole fee that must be a mistake', { fee: 19_000_000 }, /ENCODER_MAX_FEE_RATE/],
  ['a fee below what the node relays', { fee: 9 }, /the least that the node relays/],
  ['501 coins', { utxos: Array.from({ length: 501 }, (_, vout) => ({ txid: 'ab'.repeat(32), vout })) }, /500/],
  ['a coin twice', { utxos: [0, 0].map((vout) => ({ txid: 'ab'.repeat(32), vout })) }, /twice/],
  ['an unknown option', { options: { signerSupportsEverything: true } }, /./],
  ['nothing to say and nothing to pay', { data: '' }, /send data, or customOutputs/],
  ['raw data that is no bytes', { rawData: 'päivää €' }, /each one stands for a byte/]
];
for (const [title, params, reason] of invalid) {
  test(`REQUEST_INVALID: ${title}`, async () => {
    const before = encoder.reservations.count;
    const own = JSON.parse(JSON.stringify(params).replace('"self"', JSON.stringify(account().address))) as object;
    const sent = 'data' in params ? params : own;
    const { error } = await encoder.ask('create_tx', requestOf(sent));
    assert.equal(error?.code, -32602, JSON.stringify(error));
    assert.equal(error.data['code'], 'REQUEST_INVALID');
    assert.match(String(error.data['reason']), reason);
    assert.equal(encoder.reservations.count, before);
  });
}

test('null and an empty list are what is absent; numbers may be texts; other parameters are told in a warning', async () => {
  const nothing = { compressedPubKey: null, rawData: null, utxos: [], customOutputs: null, feeQuote: null, fee: null };
  const more = {
    dust: '3000',
    feePerKb: '20000',
    attachPrevTx: true,
    hello: 1,
    options: null,
    change: null,
    rbf: null
  };
  const { warnings = [], fee, vsize } = await encoder.call<Created>('create_tx', requestOf({ ...nothing, ...more }));
  assert.ok(Number(fee) >= 20 * vsize);
  assert.deepEqual(
    warnings.map(({ code, message }) => [code, message.split(': ').at(-1)]),
    [
      ['UNKNOWN_PARAMETER', 'attachPrevTx'],
      ['UNKNOWN_PARAMETER', 'hello']
    ]
  );
  const least = await encoder.call<Created>('create_tx', requestOf({ feePerKb: 0.0002 }));
  assert.deepEqual(
    [Number(least.fee) >= least.vsize, least.warnings?.map(({ code }) => code)],
    [true, ['FEE_RATE_RAISED']]
  );
});

test('a feeQuote of nothing is none, with an address or without; any other needs an address', async () => {
  const { fee } = await create({ feePerKb: 2_000 });
  for (const feeQuote of [{ amount: 0 }, { address: '', amount: '0' }, { address: accounts[0]!.address, amount: 0 }]) {
    const made = await create({ feePerKb: 2_000, feeQuote });
    assert.equal(made.fee, fee);
  }
  await assert.rejects(create({ feeQuote: { amount: 5_000 } }), /names no address to pay them to/);
});

test('a request without data pays customOutputs, and says nothing', async () => {
  const customOutputs = [{ address: accounts[0]!.address, value: '50000', label: 'rent' }];
  for (const data of ['', null, undefined]) {
    const { psbt, encoding, carrierScripts, warnings } = await create({ data, customOutputs, feePerKb: 2_000 });
    assert.match(warnings?.[0]?.message ?? '', /no such parameter: customOutputs\.label$/);
    assert.deepEqual([encoding, carrierScripts], ['OP_RETURN', undefined]);
    const transaction = Transaction.fromPSBT(Buffer.from(psbt, 'hex'));
    assert.deepEqual([transaction.outputsLength, transaction.getOutput(0).amount], [2, 50_000n]);
    await encoder.call('broadcast_tx', { tx_hex: signPsbt(psbt, account().privateKey) });
  }
});

test('REQUEST_INVALID: an address of another network is told by the name of that network', async () => {
  const script = payTo({ kind: 'witnessKeyHash', bytes: Buffer.alloc(20) });
  const address = addressOf(script, chainNetwork('bitcoin', 'mainnet').addresses)!;
  for (const [method, params] of [
    ['create_tx', requestOf({ pubkey: address })],
    ['create_tx', requestOf({ change: address })],
    ['get_utxos', { address }]
  ] as const) {
    const { error } = await encoder.ask(method, params);
    assert.equal(error?.code, -32602);
    assert.match(error.message, /address of bitcoin mainnet; this service serves litecoin regtest/);
  }
});

test('COIN_UNUSABLE: coins that do not exist, of others, or spent', async () => {
  const reasonFor = async (utxos: readonly object[]) => {
    const { error } = await encoder.ask('create_tx', requestOf({ utxos }));
    assert.equal(error?.data['code'], 'COIN_UNUSABLE', JSON.stringify(error));
    return String(error?.data['reason']);
  };
  assert.match(await reasonFor([{ txid: 'ab'.repeat(32), vout: 0 }]), /no such transaction/);
  const [other] = await encoder.call<Utxo[]>('get_utxos', { address: accounts[0]!.address });
  assert.match(await reasonFor([{ txid: other!.txid, vout: other!.vout }]), /not a coin of the address/);
  const coin = (await encoder.call<Utxo[]>('get_utxos', { address: account().address })).at(-1)!;
  const place = { txid: coin.txid, vout: coin.vout };
  const { psbt, inputs: given } = await create({ utxos: [coin] });
  assert.deepEqual(given, [place]);
  await encoder.call('broadcast_tx', { tx_hex: signPsbt(psbt, account().privateKey) });
  assert.match(await reasonFor([coin]), /spent/);
});

test('a coin that the caller names is reserved for nobody: a preview and a second click get the same', async () => {
  const { inputs } = await create();
  const count = encoder.reservations.count;
  for (let call = 0; call < 14; call++) assert.deepEqual((await create({ utxos: inputs })).inputs, inputs);
  const named = await encoder.ask('create_tx', requestOf({ utxos: inputs, fee: 1 }));
  assert.equal(named.error?.code, -32602);
  assert.equal(encoder.reservations.count, count, 'and what failed frees no coin of an earlier call');
});

test('carrierScripts are the scripts that the outputs commit to, which a signer compares and signs', async () => {
  const { address, publicKey } = account();
  const request = { pubkey: address, compressedPubKey: publicKey, data: `FILE|0|${'x'.repeat(600)}` };
  for (const form of ['p2sh', 'p2wsh'] as const) {
    const { psbt, carrierScripts } = await encoder.call<{ psbt: string; carrierScripts: string[] }>('create_tx', {
      ...request,
      encoding: form.toUpperCase()
    });
    const transaction = Transaction.fromPSBT(Buffer.from(psbt, 'hex'), { allowUnknownOutputs: true });
    assert.equal(carrierScripts.length, 2);
    for (const [vout, script] of carrierScripts.entries())
      assert.deepEqual(
        transaction.getOutput(vout).script,
        new Uint8Array(payToScript(Buffer.from(script, 'hex'), form))
      );
  }
});

test('a signer is told the whole previous transactions of segwit coins too, without their witnesses', async () => {
  for (const { address, publicKey, form } of accounts) {
    const utxos = (await encoder.call<Utxo[]>('get_utxos', { address })).slice(0, 1);
    const request = { pubkey: address, compressedPubKey: publicKey, data: `FILE|0|${'x'.repeat(600)}`, utxos };
    const created = await encoder.call<Created>('create_tx', { ...request, encoding: 'P2WSH' });
    for (const hex of [created.psbt, created.revealPsbt ?? []].flat()) {
      const transaction = Transaction.fromPSBT(Buffer.from(hex, 'hex'), { allowUnknownOutputs: true });
      const { nonWitnessUtxo, witnessUtxo } = transaction.getInput(0);
      assert.ok(nonWitnessUtxo);
      assert.equal(witnessUtxo !== undefined, form !== 'legacy');
    }
  }
});

test('REQUEST_INVALID: what is left over goes to the miner only as far as it is dust, and below the greatest rate', async () => {
  const [coin] = await encoder.call<Utxo[]>('get_utxos', { address: account().address });
  const spend = async (more: object) => {
    const value = Number(coin!.value) - 8_000_000;
    const customOutputs = [{ address: account().address, value }];
    return (await encoder.ask('create_tx', requestOf({ utxos: [coin], customOutputs, ...more }))).error;
  };
  const before = encoder.reservations.count;
  assert.match((await spend({ dust: 1e9 }))!.message, /dust/);
  const rate = await spend({ dust: 10_000_000 });
  assert.equal(rate?.code, -32602);
  assert.match(rate.message, /a fee of 8000000 satoshis .* ENCODER_MAX_FEE_RATE/);
  const surplus = await spend({
    dust: 10_000_000,
    fee: 3_000,
    customOutputs: [{ address: account().address, value: Number(coin!.value) - 1_000_000 }]
  });
  assert.equal(surplus?.code, -32602);
  assert.match(surplus.message, /997000 more than the fee that was asked for/);
  assert.equal(encoder.reservations.count, before);
});

test('ENCODING_UNAVAILABLE: too long for one output', async () => {
  const { error } = await encoder.ask(
    'create_tx',
    requestOf({ data: `FILE|${'x'.repeat(80)}`, encoding: 'OP_RETURN' })
  );
  assert.equal(error?.data['code'], 'ENCODING_UNAVAILABLE');
  assert.equal((await create({ data: `FILE|${'x'.repeat(80)}` })).encoding, 'P2SH');
  assert.equal((await create({ data: `FILE|${'x'.repeat(80)}`, encoding: 'AUTO' })).encoding, 'P2WSH');
});

test('the bytes of a FILE are deflated where that is shorter, and inflate to what they were', async () => {
  const file = { data: 'FILE|0|notes', rawData: 'päivää '.repeat(90) };
  const { psbt, txid, encoding, compression } = await create(file);
  assert.equal(encoding, 'OP_RETURN', 'one transaction, in place of two');
  const { storedLength, stored, ...others } = compression!;
  assert.deepEqual(others, { compressed: true, rawLength: 630, reason: null });
  await encoder.call('broadcast_tx', { tx_hex: signPsbt(psbt, account().privateKey) });
  const [block] = await node.mine(1);
  const { data, rawData } = (await decodeBlock(node, block!, LOOP_NETWORK, account().address)).get(txid)!;
  assert.deepEqual([data, rawData!.length, isDeflated(data)], ['FILE|0|notes||||||||1', storedLength, true]);
  assert.equal(Buffer.from((await inflateFile(rawData!))!).toString('latin1'), file.rawData);
  assert.deepEqual(stored, { data, rawData: Buffer.from(rawData!).toString('latin1') });
  const reasonOf = async (more: object) => {
    const { compression: found } = await create({ ...file, encoding: 'P2WSH', ...more });
    return found && [found.compressed, found.rawLength - found.storedLength, found.reason];
  };
  for (const [reason, more] of [
    ['not-a-file-action', { data: 'BROADCAST|0|notes' }],
    ['gated-file', { data: `FILE|0|notes||||GATE|1|${'a'.repeat(64)}` }],
    ['codec-already-declared', { data: 'FILE|0|notes||||||||1' }],
    ['not-smaller', { rawData: 'short' }],
    ['ratio-guard', { rawData: '\0'.repeat(8_000) }]
  ] as const)
    assert.deepEqual(await reasonOf({ ...more, compress: true }), [false, 0, reason]);
  assert.equal(await reasonOf({ compress: false }), undefined);
  assert.equal(await reasonOf({ rawData: null }), undefined);
});

test('warnings: a reveal that needs a signer of scripts, unless the caller has one', async () => {
  const codesOf = async (more: object) => {
    const { warnings = [] } = await create({ data: `FILE|${'x'.repeat(80)}`, feePerKb: 1_000, ...more });
    return warnings.map(({ code, message }) => (code === 'SIGNER_NEEDS_SCRIPTS' ? message : code));
  };
  const [scripts, ...others] = await codesOf({});
  assert.match(scripts!, /options.signerSupportsScripts: false/);
  assert.deepEqual(others, []);
  assert.deepEqual(await codesOf({ options: { signerSupportsScripts: true } }), []);
  const legacy = { pubkey: accounts[0]!.address, compressedPubKey: accounts[0]!.publicKey, encoding: 'P2SH' };
  assert.deepEqual(await codesOf(legacy), [scripts, 'REVEAL_NEEDED']);
});

test('warnings: a rate that is a guess without an estimate, and a replaceable transaction that must keep its first input', async () => {
  const warned = async (more: object) => {
    const { warnings = [] } = await create(more);
    return new Map(warnings.map(({ code, message }) => [code, message]));
  };
  const guessed = await warned({});
  assert.match(guessed.get('NO_FEE_ESTIMATE') ?? '', /estimate/, JSON.stringify([...guessed]));
  assert.ok(!guessed.has('KEEP_FIRST_INPUT'));
  for (const asked of [{ fee: 2_000 }, { feePerKb: 5_000 }])
    assert.ok(!(await warned(asked)).has('NO_FEE_ESTIMATE'), JSON.stringify(asked));
  const replaceable = await warned({ feePerKb: 5_000, rbf: true });
  assert.match(replaceable.get('KEEP_FIRST_INPUT') ?? '', /first input/);
  assert.ok(!(await warned({ feePerKb: 5_000, rbf: false })).has('KEEP_FIRST_INPUT'));
});

test('a missing parameter is -32602', async () => {
  for (const method of ['broadcast_tx', 'get_utxos', 'create_tx'])
    assert.equal((await encoder.ask(method, {})).error?.code, -32602, method);
});

test('broadcast_tx: a PSBT, what is no transaction, and one whose coins are spent, each by its name', async () => {
  const { psbt } = await create();
  const fault = async (tx_hex: string) => (await encoder.ask('broadcast_tx', { tx_hex })).error;
  assert.match((await fault(psbt))!.message, /this is a PSBT/);
  assert.match((await fault(Buffer.from(psbt, 'hex').toString('base64')))!.message, /this is a PSBT/);
  assert.match((await fault('0200'))!.message, /this is not a transaction/);
  assert.match((await fault('ab'.repeat(500_001)))!.message, /1000000/);
  const signed = signPsbt(psbt, account().privateKey);
  const broken = `${signed.slice(0, 60)}ff${signed.slice(62)}`; // another transaction is spent from
  const rejected = await fault(broken);
  assert.deepEqual([rejected?.code, rejected?.data['code']], [-32603, 'TRANSACTION_REJECTED']);
});

test('with a key, what costs the node something needs it', async () => {
  const closed = await startTestEncoder(node, { apiKey: 'a-key' });
  try {
    assert.equal((await closed.ask('get_utxos', { address: account().address })).error?.code, -32001);
    const answered = await closed.ask('get_utxos', { address: account().address }, { 'x-api-key': 'a-key' });
    assert.ok(Array.isArray(answered.result));
    assert.ok((await closed.ask('estimate_fee')).result);
  } finally {
    await closed.close();
  }
});

test('callers of two addresses have reservations of their own, which the other one cannot release; all with the key share theirs', async () => {
  const key = hash('sha256', 'an address of one coin', 'buffer');
  const pubkey = publicKeyOf(key).toString('hex');
  await node.rpc.call('sendtoaddress', [readSender(pubkey, undefined, LOOP_NETWORK).address, 0.3]);
  await node.mine(1);
  for (const apiKey of [undefined, 'a-key']) {
    const shared = await startTestEncoder(node, apiKey === undefined ? {} : { apiKey });
    const callFrom = async (localAddress: string, method: string, params: object) => {
      const headers = { 'content-type': 'application/json', ...(apiKey && { 'x-api-key': apiKey }) };
      const sent = request(shared.url, { method: 'POST', localAddress, headers });
      sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      return JSON.parse(Buffer.concat(await response.toArray()).toString()) as RpcReply;
    };
    const createFrom = async (address: string, request_id: string) => {
      const { result, error } = await callFrom(address, 'create_tx', { pubkey, data: 'SEND|0|TOK|5|a', request_id });
      return error ? error.data['code'] : (result as Created).inputs.map(({ txid, vout }) => `${txid}:${vout}`);
    };
    const releaseFrom = async (address: string) => (await callFrom(address, 'release_tx', { request_id: 'a' })).result;
    const [one, other] = ['127.0.0.1', '127.0.0.2'] as const;
    try {
      const coins = await createFrom(one, 'a');
      assert.ok(Array.isArray(coins) && coins.length === 1, String(coins));
      assert.equal(await createFrom(one, 'b'), 'COINS_INSUFFICIENT');
      assert.deepEqual(await createFrom(other, 'c'), apiKey ? 'COINS_INSUFFICIENT' : coins);
      assert.deepEqual(await releaseFrom(other), { released: apiKey ? 1 : 0 });
      assert.deepEqual(await releaseFrom(one), { released: apiKey ? 0 : 1 });
      assert.equal(shared.reservations.count, apiKey ? 0 : 1);
    } finally {
      await shared.close();
    }
  }
});

test('DUST_AMOUNT is a floor on top of what the form of an output needs', async () => {
  const frugal = await startTestEncoder(node, { dustFloor: 5_000 });
  try {
    const output = (value: number) => requestOf({ customOutputs: [{ address: account().address, value }] });
    assert.match((await frugal.ask('create_tx', output(4_999))).error!.message, /at least 5000/);
    assert.ok((await frugal.ask('create_tx', output(5_000))).result);
  } finally {
    await frugal.close();
  }
});

test('the loop: over every encoding and form of address, each action is decoded as it was asked for', async () => {
  const other = (await startTestLitecoind()).node;
  const own = await startTestEncoder(other);
  try {
    const { asked, found, faults, counts, worstFee } = await runLoop(other, own, 30);
    assert.deepEqual([found, faults], [asked, []]);
    assert.equal(Object.keys(counts).length, 15);
    assert.ok(worstFee < 0.01, `${worstFee}`);
  } finally {
    await own.close();
  }
});

test('-32603 by name while the node is down; nothing stays reserved', async () => {
  const { node: down } = await startTestLitecoind();
  const lone = await startTestEncoder(down);
  const tx_hex = signPsbt((await create()).psbt, account().privateKey);
  try {
    await down.stop();
    for (const [method, params] of [
      ['get_utxos', { address: account().address }],
      ['broadcast_tx', { tx_hex }],
      ['create_tx', requestOf()]
    ] as const) {
      const { error } = await lone.ask(method, params);
      // A connection that was kept and is reset does not tell whether the node has read the call.
      const codes = method === 'broadcast_tx' ? ['NODE_UNREACHABLE', 'BROADCAST_UNKNOWN'] : ['NODE_UNREACHABLE'];
      assert.equal(error?.code, -32603, method);
      assert.ok(codes.includes(String(error?.data['code'])), `${method}: ${error?.data['code']}`);
    }
    assert.equal(lone.reservations.count, 0);
    for (const end = Date.now() + PATIENCE_MS; (await fetch(`${lone.url}/readyz`)).status !== 503; await sleep(20))
      assert.ok(Date.now() < end, 'a node that is down is told');
    assert.equal((await fetch(`${lone.url}/status`)).status, 503);
  } finally {
    await lone.close();
  }
});
