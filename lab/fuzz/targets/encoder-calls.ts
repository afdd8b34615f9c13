import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { p2tr } from '@scure/btc-signer/payment.js';
import fc from 'fast-check';
import { toBaseUnits } from '../../../src/coin/amount.ts';
import { chainNetwork } from '../../../src/coin/chains.ts';
import type { NodeRpc } from '../../../src/coin/node/node-rpc.ts';
import { DEFAULT_PROFILE } from '../../../src/coin/profile.ts';
import { hashId } from '../../../src/coin/raw/hash-id.ts';
import { writeTransaction } from '../../../src/coin/raw/transaction-form.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { hash160, payTo, payToScript } from '../../../src/coin/script/pay-scripts.ts';
import { NodeCoins } from '../../../src/encoder/coins/coins.ts';
import { Reservations } from '../../../src/encoder/coins/reservations.ts';
import { NodePolicyReader } from '../../../src/encoder/creation/node-policy.ts';
import { encoderMethods } from '../../../src/encoder/methods.ts';
import { ENCODINGS } from '../../../src/encoder/transaction/encodings.ts';
import { publicKeyOf } from '../../../test/support/encoder/signer.ts';
import { openRpc } from '../../../test/support/frame.ts';
import { hostileText, mutatedText, ODD_NUMBERS } from '../support/hostile.ts';
import { target } from '../support/target.ts';

const NETWORK = chainNetwork('litecoin', 'regtest');
const KEY = publicKeyOf(hash('sha256', 'a key of a fuzz target', 'buffer'));
const PLAIN = payTo({ kind: 'keyHash', bytes: hash160(KEY) });
const SEGWIT = payTo({ kind: 'witnessKeyHash', bytes: hash160(KEY) });
const SCRIPTS = [PLAIN, SEGWIT, payToScript(SEGWIT, 'p2sh'), Buffer.from(p2tr(KEY.subarray(1)).script)];
const ADDRESSES = SCRIPTS.map((script) => addressOf(script, NETWORK.addresses)!);
/** Address of injected requests. */
const CALLER = '127.0.0.1';
/** Coins that each script has. */
const AMOUNTS = ['0.05', '0.002', '0.00006', '0.00003'];
/** Pays each script some coins. */
const FUNDING = writeTransaction({
  inputs: [{ txid: 'cd'.repeat(32), vout: 0, sequence: 0, unlock: { script: Buffer.alloc(1), witness: [] } }],
  outputs: AMOUNTS.flatMap((amount) => SCRIPTS.map((script) => ({ amount: toBaseUnits(amount), script })))
});
const FUNDING_ID = hashId(FUNDING);

/** A node that has this one transaction. */
const ANSWERS: Readonly<Record<string, (params: readonly unknown[]) => unknown>> = {
  getblockcount: () => 200,
  getmempoolinfo: () => ({ mempoolminfee: '0.00001', minrelaytxfee: '0.00001' }),
  getnetworkinfo: () => ({ relayfee: '0.00001' }),
  estimatesmartfee: () => ({ blocks: 1 }),
  getbestblockhash: () => 'ab'.repeat(32),
  scantxoutset: ([, descriptors]) => ({
    success: true,
    unspents: SCRIPTS.flatMap((script, at) =>
      (descriptors as string[]).includes(`raw(${script.toString('hex')})`)
        ? AMOUNTS.map((amount, row) => ({
            txid: FUNDING_ID,
            vout: row * SCRIPTS.length + at,
            scriptPubKey: script.toString('hex'),
            amount,
            height: 100
          }))
        : []
    )
  }),
  gettxout: ([txid, vout]) =>
    txid === FUNDING_ID
      ? { confirmations: 100, coinbase: false, value: AMOUNTS[Math.floor(Number(vout) / SCRIPTS.length)] ?? '0' }
      : null,
  getrawtransaction: ([txid]) => (txid === FUNDING_ID ? FUNDING.toString('hex') : null),
  getmempoolentry: () => ({ vsize: 200, descendantcount: 1, descendantsize: 200 }),
  sendrawtransaction: () => FUNDING_ID
};
const rpc = {
  call: async (method: string, params: readonly unknown[] = []) => ANSWERS[method]!(params),
  batch: async (method: string, calls: readonly (readonly unknown[])[]) =>
    calls.map((params) => ANSWERS[method]!(params))
} as unknown as NodeRpc;

const open = () => {
  const reservations = new Reservations({ ttlMs: 600_000, mostOfOne: 1_000, most: 1_000 });
  const profile = { ...DEFAULT_PROFILE, activations: { ...DEFAULT_PROFILE.activations, TAPROOT_ENVELOPE: 0 } };
  const methods = encoderMethods({
    rpc,
    version: '0.0.0',
    isKeyed: false,
    network: NETWORK,
    profile,
    magic: profile.payloadMagic,
    reservations,
    dustFloor: 0,
    mostFeeRate: 10_000_000n,
    policy: new NodePolicyReader(rpc, NETWORK, 10_000_000n),
    coins: new NodeCoins(rpc, { coinbaseMaturity: 100 }),
    seen: { node: { tip: null, ageMs: null, alarm: null, isFit: false }, tracker: () => undefined }
  });
  return { reservations, app: openRpc({ methods, requestsPerMinute: 1e9, bodyLimitBytes: 3_000_000 }) };
};
let service: ReturnType<typeof open> | undefined;

interface Call {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

const anything: fc.Arbitrary<unknown> = fc.oneof(
  hostileText,
  fc.constantFrom(...ODD_NUMBERS).map(Number),
  fc.constantFrom<unknown>(null, true, false, [], {}, [[]], { a: 1 }, -1, 0.5, 2 ** 53)
);
/** Mostly what a caller means, else anything. */
const mostly = (meant: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 30, arbitrary: meant }, { weight: 1, arbitrary: anything });
const maybe = (meant: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 8, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: mostly(meant) });

const address = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...ADDRESSES) },
  { weight: 1, arbitrary: mutatedText(fc.constantFrom(...ADDRESSES)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
      `04${'11'.repeat(64)}`,
      `02${'ff'.repeat(32)}`
    )
  }
);
const satoshis = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1_000, max: 30_000 }) },
  { weight: 1, arbitrary: fc.nat(10_000_000).map(String) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>('9223372036854775807', '9999999999999999999', Number.MAX_SAFE_INTEGER, 0)
  }
);
const output = fc.record({ address, value: satoshis });
const data = fc.oneof(
  { weight: 6, arbitrary: hostileText.map((text) => `SEND|0|${text}`) },
  { weight: 3, arbitrary: fc.nat(9_000).map((length) => `FILE|${'x'.repeat(length)}`) },
  { weight: 1, arbitrary: hostileText }
);
const place = fc.record({
  txid: fc.oneof(fc.constant(FUNDING_ID), hostileText),
  vout: fc.oneof(fc.nat(20), fc.constant(2 ** 32 - 1))
});
const createParams = fc.record({
  pubkey: mostly(fc.oneof(address, fc.constant(KEY.toString('hex')))),
  compressedPubKey: fc.oneof(
    { weight: 20, arbitrary: fc.constant(KEY.toString('hex')) },
    { weight: 1, arbitrary: maybe(hostileText) }
  ),
  data: mostly(data),
  rawData: maybe(hostileText),
  encoding: maybe(fc.constantFrom('AUTO', ...ENCODINGS)),
  utxos: maybe(fc.array(place, { maxLength: 5 })),
  customOutputs: maybe(fc.array(output, { maxLength: 4 })),
  feeQuote: maybe(fc.record({ address, amount: satoshis })),
  fee: maybe(satoshis),
  feePerKb: maybe(satoshis),
  dust: maybe(fc.nat(20_000)),
  unconfirmed: maybe(fc.boolean()),
  rbf: maybe(fc.boolean()),
  change: maybe(address),
  request_id: maybe(hostileText),
  p2shHash: maybe(fc.constant(FUNDING_ID)),
  p2shHex: maybe(fc.oneof(fc.constant(FUNDING.toString('hex')), mutatedText(fc.constant(FUNDING.toString('hex'))))),
  options: maybe(
    fc.record({ signerSupportsTapscript: mostly(fc.boolean()), signerSupportsScripts: maybe(fc.boolean()) })
  )
});
const hex = fc.oneof(
  fc.constant(FUNDING.toString('hex')),
  mutatedText(fc.constant(FUNDING.toString('hex'))),
  hostileText
);

/** Signed, as far as a look tells: what is spent by what, and what is paid. */
const waiting = fc
  .record({
    places: fc.array(fc.nat(15), { minLength: 1, maxLength: 3 }),
    items: fc.array(fc.uint8Array({ maxLength: 80 }), { maxLength: 4 }),
    pushes: fc.uint8Array({ maxLength: 80 }),
    way: fc.oneof(fc.constant([]), fc.constant([Buffer.alloc(40, 1), Buffer.from([0xc0, ...KEY.subarray(1)])])),
    paid: fc.array(fc.nat(4_000_000), { minLength: 1, maxLength: 3 })
  })
  .map(({ places, items, pushes, way, paid }) => {
    const unlock = { script: Buffer.from(pushes), witness: [...items.map((item) => Buffer.from(item)), ...way] };
    const inputs = places.map((vout) => ({ txid: FUNDING_ID, vout, sequence: 0, unlock }));
    const outputs = paid.map((amount, at) => ({ amount: BigInt(amount), script: SCRIPTS[at]! }));
    return writeTransaction({ inputs, outputs }).toString('hex');
  });

const bump = fc
  .record({
    tx_hex: mostly(fc.oneof({ weight: 6, arbitrary: waiting }, { weight: 1, arbitrary: mutatedText(waiting) }, hex)),
    txid: maybe(fc.constant(FUNDING_ID)),
    feePerKb: maybe(satoshis),
    change: maybe(address),
    compressedPubKey: fc.constant(KEY.toString('hex')),
    request_id: maybe(hostileText)
  })
  .map((params): Call => ({ method: 'bump_tx', params }));

const create = (params: Call['params']): Call => ({
  method: 'create_tx',
  params: { pubkey: ADDRESSES[1], data: 'SEND|0|A|1', ...params }
});

export const encoderCalls = target<Call>({
  name: 'encoder-calls',
  promise: 'a call of the encoder is answered with a PSBT or an error that has a name, and what fails keeps no coin',
  runs: 2_500,
  shortRuns: 350,
  inputs: fc.oneof(
    { weight: 8, arbitrary: createParams.map(create) },
    { weight: 3, arbitrary: bump },
    { weight: 1, arbitrary: mostly(hex).map((tx_hex) => ({ method: 'broadcast_tx', params: { tx_hex } })) },
    { weight: 1, arbitrary: mostly(address).map((given) => ({ method: 'get_utxos', params: { address: given } })) }
  ),
  check: async (call) => {
    service ??= open();
    const { app, reservations } = service;
    const before = reservations.count;
    const payload = JSON.stringify({ jsonrpc: '2.0', id: 1, ...call });
    const headers = { 'content-type': 'application/json' };
    const answer = await app.inject({ method: 'POST', url: '/', headers, payload });
    if (answer.statusCode === 413) return;
    const { result, error } = answer.json() as {
      result?: { psbt: string; inputs: { txid: string; vout: number }[] };
      error?: { code: number; message: string; data?: { code?: string } };
    };
    if (error) {
      assert.ok([-32602, -32603, -32010].includes(error.code), JSON.stringify(error));
      const { code } = error.data ?? {};
      assert.ok(
        code !== undefined && !['INTERNAL', 'SELF_CHECK_FAILED', 'NODE_REFUSED'].includes(code),
        JSON.stringify(error)
      );
      assert.ok(error.message.length < 4_000, `${error.message.length} characters`);
      assert.equal(reservations.count, before, `${code} keeps a coin`);
    } else if (call.method === 'create_tx' || call.method === 'bump_tx') {
      assert.match(result!.psbt, /^70736274ff(?:[0-9a-f]{2})+$/);
      reservations.release(result!.inputs, CALLER);
    }
  },
  growing: {
    'an action': (length) => create({ data: `FILE|${'x'.repeat(length)}` }),
    'raw data': (length) => create({ rawData: '\xff'.repeat(length) }),
    coins: (length) =>
      create({ utxos: Array.from({ length: length / 20 }, (_, vout) => ({ txid: FUNDING_ID, vout })) }),
    outputs: (length) => create({ customOutputs: Array(length / 20).fill({ address: ADDRESSES[0], value: 10_000 }) }),
    'a transaction': (length) => create({ p2shHex: 'ab'.repeat(length / 2) }),
    'a transaction to replace': (length) => ({ method: 'bump_tx', params: { tx_hex: '00'.repeat(length / 2) } }),
    'a transaction to broadcast': (length) => ({ method: 'broadcast_tx', params: { tx_hex: '00'.repeat(length / 2) } }),
    'an address': (length) => ({ method: 'get_utxos', params: { address: '1'.repeat(length) } })
  },
  close: async () => {
    await service?.app.close();
    service = undefined;
  }
});
