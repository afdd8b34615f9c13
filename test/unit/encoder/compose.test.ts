import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { p2tr } from '@scure/btc-signer/payment.js';
import { chainNetwork } from '../../../src/coin/chains.ts';
import type { NodeRpc } from '../../../src/coin/node/node-rpc.ts';
import { writeFrame } from '../../../src/coin/payload/payload.ts';
import { hashId } from '../../../src/coin/raw/hash-id.ts';
import { readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { longestVirtualSize, virtualSize, writeTransaction } from '../../../src/coin/raw/transaction-form.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { hash160, payTo, payToScript } from '../../../src/coin/script/pay-scripts.ts';
import { writePush } from '../../../src/coin/script/script.ts';
import { NodeCoins } from '../../../src/encoder/coins/coins.ts';
import { Reservations } from '../../../src/encoder/coins/reservations.ts';
import { firstSpent, MOST_PSBT_SOURCE_BYTES, revealSpent, tooLongForPsbt } from '../../../src/encoder/coins/spent.ts';
import { composeWithCoins } from '../../../src/encoder/creation/compose-with-coins.ts';
import { readFee } from '../../../src/encoder/creation/request.ts';
import { psbtPaying, selfCheck } from '../../../src/encoder/creation/self-check.ts';
import {
  type Composed,
  compose,
  composeReveal,
  type Order,
  surplusOf
} from '../../../src/encoder/transaction/compose.ts';
import { dustAmount } from '../../../src/encoder/transaction/dust.ts';
import { ENCODINGS } from '../../../src/encoder/transaction/encodings.ts';
import { writePsbt } from '../../../src/encoder/transaction/psbt.ts';
import { MAX_INPUTS, selectCoins } from '../../../src/encoder/transaction/select-coins.ts';
import { readSender, type Sender } from '../../../src/encoder/transaction/sender.ts';
import type { PlatformError } from '../../../src/errors.ts';
import { payloadOf } from '../../support/coin/carriers.ts';
import { publicKeyOf, signPsbt } from '../../support/encoder/signer.ts';
import fc from '../../support/fast-check.ts';

const NETWORK = chainNetwork('litecoin', 'regtest');
const DUST = { ...NETWORK, floor: 0 };
const SECRET = hash('sha256', 'a key of a test', 'buffer');
const KEY = publicKeyOf(SECRET);
const RATE = 7n;
const MAGIC = 'PNOD';

const nested = payToScript(payTo({ kind: 'witnessKeyHash', bytes: hash160(KEY) }), 'p2sh');
const SENDERS: readonly Sender[] = [
  KEY.toString('hex'),
  addressOf(payTo({ kind: 'keyHash', bytes: hash160(KEY) }), NETWORK.addresses)!,
  addressOf(nested, NETWORK.addresses)!,
  addressOf(Buffer.from(p2tr(KEY.subarray(1)).script), NETWORK.addresses)!
].map((text) => readSender(text, KEY.toString('hex'), NETWORK));

/** Transactions that pay the sender. */
function fund(sender: Sender, amounts: readonly bigint[]) {
  return amounts.map((amount, position) => {
    const unlock = { script: Buffer.alloc(position), witness: [] };
    const bytes = writeTransaction({
      inputs: [{ txid: 'cd'.repeat(32), vout: position, sequence: 0, unlock }],
      outputs: [{ amount, script: sender.script }]
    });
    return { txid: hashId(bytes), vout: 0, amount, transaction: bytes };
  });
}

const orderOf = (order: Pick<Order, 'encoding' | 'frame' | 'sender'> & Partial<Order>): Order => ({
  magic: MAGIC,
  outputs: [],
  feeOutputs: [],
  changeScript: order.sender.script,
  fee: (form) => RATE * BigInt(virtualSize(form)),
  limitFee: () => undefined,
  dust: DUST,
  sequence: 0xffffffff,
  ...order
});

/** Signs what was composed, each transaction as a wallet would. @returns the bytes, in their order */
function signAll(order: Order, composed: Composed<ReturnType<typeof fund>[number]>): readonly Buffer[] {
  const sign = (psbt: Buffer) => Buffer.from(signPsbt(psbt.toString('hex'), SECRET), 'hex');
  const first = sign(writePsbt(composed.first.form, firstSpent(order.sender, composed.first.coins)));
  if (composed.locks.length === 0) return [first];
  const { txid } = readRawTransaction(first);
  const locked = composed.locks.map((lock, vout) => ({
    vout,
    amount: readRawTransaction(first).output(vout)!.amount,
    lock
  }));
  const reveal = order.sender.isSegwit ? composed.reveal! : composeReveal(order, { txid, locked });
  assert.equal(
    reveal.funding.txid,
    txid,
    'a reveal that was composed before the signatures spends the same transaction'
  );
  return [first, sign(writePsbt(reveal.form, revealSpent(reveal.funding, first)))];
}

const action = fc
  .tuple(fc.constantFrom('SEND', 'ISSUE', 'BROADCAST'), fc.string({ unit: 'grapheme', maxLength: 900 }))
  .map(([name, text]) => `${name}|0|${text}`);

test('for any action, sender and encoding: signed, it reads as the same action, at the fee that was asked for', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...ENCODINGS),
      fc.constantFrom(...SENDERS),
      action,
      fc.option(fc.uint8Array({ minLength: 1, maxLength: 300 })),
      fc.array(fc.bigInt({ min: 5_000n, max: 10_000_000n }), { minLength: 1, maxLength: 5 }),
      (encoding, sender, payloadText, rawData, amounts) => {
        const frame = writeFrame(payloadText, rawData);
        const order = orderOf({ encoding, frame, sender });
        const coins = fund(sender, [50_000_000n, ...amounts]);
        const composed = compose(order, coins);
        const transactions = signAll(order, composed);
        const payload = payloadOf(readRawTransaction(transactions.at(-1)!));
        assert.equal(payload?.written, payloadText);
        assert.deepEqual(payload?.rawData && Buffer.from(payload.rawData), rawData && Buffer.from(rawData));
        assert.equal(readRawTransaction(transactions[0]!).inputs[0]?.txid, coins[0]?.txid);
        let held = composed.first.coins.reduce((sum, { amount }) => sum + amount, 0n);
        for (const bytes of transactions) {
          const { outputs } = readRawTransaction(bytes);
          for (const { amount, script } of outputs) assert.ok(amount >= dustAmount(script, DUST));
          const fee = held - outputs.reduce((sum, { amount }) => sum + amount, 0n);
          const asked = Number(RATE) * virtualBytesOf(bytes);
          assert.ok(Number(fee) >= asked && Number(fee) <= asked * 1.01 + Number(RATE), `${fee} for ${asked}`);
          held = outputs.slice(0, composed.locks.length).reduce((sum, { amount }) => sum + amount, 0n);
        }
      }
    ),
    { numRuns: 60 }
  );
});

/** Virtual bytes of a signed transaction. */
function virtualBytesOf(bytes: Buffer): number {
  const read = readRawTransaction(bytes);
  const witnesses = read.witnesses;
  return virtualSize({
    inputs: read.inputs.map((input, position) => ({
      ...input,
      sequence: 0,
      unlock: { script: input.script, witness: witnesses[position] ?? [] }
    })),
    outputs: read.outputs
  });
}

test('the virtual size is that of the written bytes', () => {
  const bytes = fc.uint8Array({ maxLength: 300 }).filter((script) => script.at(-1) !== 0xae);
  const unlock = fc.record({ script: bytes, witness: fc.array(bytes, { maxLength: 4 }) });
  fc.assert(
    fc.property(
      fc.array(unlock, { minLength: 1, maxLength: 300 }),
      fc.array(bytes, { maxLength: 5 }),
      (unlocks, scripts) => {
        const inputs = unlocks.map((each, vout) => ({ txid: 'ab'.repeat(32), vout, sequence: 1, unlock: each }));
        const form = { inputs, outputs: scripts.map((script) => ({ amount: 1n, script })) };
        const bare = inputs.map((input) => ({ ...input, unlock: { ...input.unlock, witness: [] } }));
        const base = writeTransaction({ ...form, inputs: bare }).length;
        assert.equal(virtualSize(form), Math.ceil((base * 3 + writeTransaction(form).length) / 4));
      }
    ),
    { numRuns: 50 }
  );
});

test('the virtual size of a bare multisig is what nodes count for 20 signatures', () => {
  const unlock = { script: Buffer.alloc(107), witness: [] };
  const inputs = [{ txid: 'ab'.repeat(32), vout: 0, sequence: 1, unlock }];
  const outputs = [1, 2].map(() => ({ amount: 7_860n, script: Buffer.alloc(105, 0xae) }));
  assert.equal(virtualSize({ inputs, outputs }), 800);
  const data = { amount: 0n, script: Buffer.from('6a02aeae', 'hex') };
  assert.equal(virtualSize({ inputs, outputs: [data] }), 8 + 2 + 148 + 13);
});

test('signers are told a transaction of the extension block in the usual form, whichever coin is spent', () => {
  for (const sender of SENDERS) {
    const [coin] = fund(sender, [10_000_000n]);
    const plain = coin!.transaction;
    // The last one of a block says "none here"; one that no block has yet holds a part of the extension block.
    for (const extension of ['00', '01aabbccdd']) {
      const marked = [plain.subarray(0, 4), Buffer.from([0, 8]), plain.subarray(4, -4), Buffer.from(extension, 'hex')];
      const transaction = Buffer.concat([...marked, plain.subarray(-4)]);
      const order = orderOf({ encoding: 'P2SH', frame: writeFrame('SEND|0|A|1'), sender });
      const { first, reveal } = compose(order, [{ ...coin!, transaction }]);
      const firstCoins = firstSpent(sender, first.coins);
      assert.deepEqual(firstCoins[0]!.transaction, sender.covers === 'all amounts' ? null : plain);
      writePsbt(first.form, firstCoins);
      assert.deepEqual(revealSpent(reveal!.funding, transaction)[0]!.transaction, plain);
    }
  }
});

test('SELF_CHECK_FAILED: another action, other raw data, and no payload at all', () => {
  const [sender] = SENDERS;
  const order = orderOf({ encoding: 'OP_RETURN', frame: writeFrame('SEND|0|A|1'), sender: sender! });
  const { first } = compose(order, fund(sender!, [1_000_000n]));
  const rules = { magic: MAGIC, isEnvelopeActive: true };
  const check = (stated: Parameters<typeof selfCheck>[1], laneRules = rules) =>
    selfCheck(first.form, stated, order, laneRules);
  check({ action: 'SEND|0|A|1', rawData: null });
  for (const wrong of [
    { action: 'SEND|0|A|2', rawData: null },
    { action: 'SEND|0|A|1', rawData: Buffer.from('x') }
  ])
    assert.throws(() => check(wrong), { code: 'SELF_CHECK_FAILED' });
  assert.throws(() => check({ action: 'SEND|0|A|1', rawData: null }, { ...rules, magic: 'OTHR' }), {
    code: 'SELF_CHECK_FAILED'
  });
});

const payment = (byte: number, amount: bigint) => ({
  amount,
  script: payTo({ kind: 'witnessKeyHash', bytes: Buffer.alloc(20, byte) })
});

test('SELF_CHECK_FAILED: a payment, the fee of the protocol, or the signer of a reveal is not where a decoder looks for it', () => {
  const [outputs, feeOutputs] = [[payment(1, 50_000n), payment(1, 50_000n)], [payment(2, 60_000n)]];
  const stated = { action: 'SEND|0|A|1', rawData: null };
  for (const sender of SENDERS)
    for (const encoding of ENCODINGS) {
      const order = orderOf({ encoding, frame: writeFrame(stated.action), sender, outputs, feeOutputs });
      const { first, reveal } = compose(order, fund(sender, [10_000_000n]));
      const form = (reveal ?? first).form;
      // Signatures change the id of some first transactions: their reveal shows only its size.
      const funding = reveal ? first.form.outputs : [];
      const check = (asked: Partial<Order>, paid = funding) =>
        selfCheck(form, stated, { ...order, ...asked }, { magic: MAGIC, isEnvelopeActive: true }, paid);
      const refuses = (asked: Partial<Order>, reason: RegExp, paid = funding) =>
        assert.throws(() => check(asked, paid), { code: 'SELF_CHECK_FAILED', message: reason }, encoding);
      check({});
      refuses({ outputs: [...outputs, outputs[0]!] }, /an output that was asked for is missing/);
      refuses({ feeOutputs: [payment(2, 60_001n)] }, /does not find the fee/);
      if (!reveal) continue;
      refuses({ sender: { ...sender, script: payment(3, 0n).script } }, /sender signs/);
      if (encoding !== 'TAPROOT') refuses({}, /does not find the fee/, first.form.outputs.slice(0, 1));
    }
});

test('dust: the least amounts that litecoind relays, by the form of the output', () => {
  const of = (script: Uint8Array) => dustAmount(script, DUST);
  const hash20 = Buffer.alloc(20);
  assert.equal(of(payTo({ kind: 'witnessKeyHash', bytes: hash20 })), 2_940n);
  assert.equal(of(payTo({ kind: 'taproot', bytes: Buffer.alloc(32) })), 3_300n);
  assert.equal(of(payTo({ kind: 'scriptHash', bytes: hash20 })), 5_400n);
  assert.equal(of(payTo({ kind: 'keyHash', bytes: hash20 })), 5_460n);
  const multisig = orderOf({ encoding: 'MULTISIGN', frame: writeFrame('SEND|0|A|1'), sender: SENDERS[0]! });
  assert.equal(compose(multisig, fund(SENDERS[0]!, [1_000_000n])).first.form.outputs[0]?.amount, 7_860n);
  assert.equal(dustAmount(payTo({ kind: 'keyHash', bytes: hash20 }), { ...DUST, floor: 6_000 }), 6_000n);
});

test('COINS_INSUFFICIENT: says how much is missing', () => {
  const order = orderOf({ encoding: 'OP_RETURN', frame: writeFrame('SEND|0|A|1'), sender: SENDERS[0]! });
  assert.throws(() => compose(order, []), { code: 'COINS_INSUFFICIENT', message: /no coin/ });
  assert.throws(() => compose(order, fund(SENDERS[0]!, [100n, 100n])), {
    code: 'COINS_INSUFFICIENT',
    message: /hold 200 satoshis .* [1-9]\d* more/
  });
});

test('COINS_INSUFFICIENT: an address without coins is told what it needs, also where the fee is too high for one input', () => {
  const refusalFor = (fee: string, amount: bigint) => {
    const limits = { rates: { low: 1_000n, medium: 1_000n, high: 1_000n }, leastRate: 1_000n };
    const [sender] = SENDERS as [Sender];
    const order = orderOf({
      encoding: 'OP_RETURN',
      frame: writeFrame('COINPAY|0|1'),
      sender,
      outputs: [{ amount, script: sender.script }],
      fee: readFee({ fee }, limits, { mostRate: 100_000n, softDust: 0 })
    });
    try {
      compose(order, []);
    } catch (caught) {
      const { code, detail } = caught as PlatformError;
      return { ...detail, code } as Record<string, unknown>;
    }
    return assert.fail('composed without coins');
  };
  const few = refusalFor('2000000', 10_000n);
  assert.deepEqual(
    [few['code'], few['required'], few['available'], few['outputs'], few['fee']],
    ['COINS_INSUFFICIENT', 2_010_000, 0, 10_000, 2_000_000]
  );
  // Beyond 2^53 a number would be another amount.
  const many = refusalFor('2000000', 2n ** 63n - 1n);
  assert.deepEqual([many['outputs'], many['required']], [String(2n ** 63n - 1n), String(2n ** 63n + 1_999_999n)]);
});

test('TRACKER_NOT_READY: coins are missing while a tracker has not read the mempool, which may have them', async () => {
  const [sender] = SENDERS as [Sender];
  const order = orderOf({ encoding: 'OP_RETURN', frame: writeFrame('SEND|0|A|1'), sender });
  const rpc = { call: async () => '100' } as unknown as NodeRpc;
  const ask = async (lacksMempool: boolean, unconfirmed: boolean, amounts: readonly bigint[] = []) => {
    const known = fund(sender, amounts).map((coin) => ({ ...coin, height: 1 }));
    const coins = new NodeCoins(rpc, {
      coinbaseMaturity: 100,
      tracker: { coins: async () => ({ coins: known, lacksMempool }) }
    });
    const reservations = new Reservations({ ttlMs: 1_000, mostOfOne: 10, most: 10 });
    return await composeWithCoins(order, { places: [], unconfirmed }, { coins, reservations, holder: 'a' });
  };
  const missing = { code: 'TRACKER_NOT_READY', message: /1 satoshis|no coin .* has not read the whole mempool yet/ };
  await assert.rejects(ask(true, true), missing);
  await assert.rejects(ask(true, true, [1n]), missing);
  await assert.rejects(ask(true, false), { code: 'COINS_INSUFFICIENT' });
  await assert.rejects(ask(false, true), { code: 'COINS_INSUFFICIENT' });
});

test('coins that were spent since the last block are left out at once, however many stand in front', async () => {
  const [sender] = SENDERS as [Sender];
  const order = orderOf({ encoding: 'OP_RETURN', frame: writeFrame('SEND|0|A|1'), sender });
  const known = fund(
    sender,
    Array.from({ length: 60 }, (_, at) => 50_000_000n - BigInt(at))
  ).map((coin) => ({ ...coin, height: 1 }));
  const alive = known.at(-1)!;
  const output = { confirmations: 3, coinbase: false, value: Number(alive.amount) / 1e8 };
  const batch: NodeRpc['batch'] = async (method, calls) =>
    calls.map(([txid]) => {
      if (method === 'getmempoolinfo') return { loaded: true };
      if (method === 'gettxout') return txid === alive.txid ? output : null;
      return known.find((coin) => coin.txid === txid)!.transaction.toString('hex');
    });
  const coins = new NodeCoins({ call: async () => '100', batch } as unknown as NodeRpc, {
    coinbaseMaturity: 100,
    tracker: { coins: async () => ({ coins: known, lacksMempool: false }) }
  });
  const reservations = new Reservations({ ttlMs: 1_000, mostOfOne: 10, most: 10 });
  const deps = { coins, reservations, holder: 'a' };
  const { first } = await composeWithCoins(order, { places: [], unconfirmed: true }, deps);
  assert.deepEqual([first.coins.map(({ txid }) => txid), reservations.count], [[alive.txid], 1]);
});

test('coins are reserved for their whole time from the answer on, however long the node takes to tell of them', async () => {
  const [sender] = SENDERS as [Sender];
  const order = orderOf({ encoding: 'OP_RETURN', frame: writeFrame('SEND|0|A|1'), sender });
  const [coin] = fund(sender, [50_000_000n]).map((each) => ({ ...each, height: 1 }));
  const clock = { now: 0 };
  const reservations = new Reservations({ ttlMs: 1_000, mostOfOne: 10, most: 10 }, () => clock.now);
  const batch: NodeRpc['batch'] = async (method) => {
    if (method === 'getmempoolinfo') return [{ loaded: true }];
    if (method === 'getrawtransaction') return [coin!.transaction.toString('hex')];
    clock.now += 900;
    return [{ confirmations: 3, coinbase: false, value: 0.5 }];
  };
  const coins = new NodeCoins({ call: async () => '100', batch } as unknown as NodeRpc, {
    coinbaseMaturity: 100,
    tracker: { coins: async () => ({ coins: [coin!], lacksMempool: false }) }
  });
  await composeWithCoins(order, { places: [], unconfirmed: true }, { coins, reservations, holder: 'a' });
  assert.equal(reservations.leftMs(coin!, 'a'), 1_000);
});

test('a first transaction holds what its order needs, and more by what a later order leaves out', () => {
  for (const encoding of ['P2SH', 'TAPROOT'] as const) {
    const order = orderOf({ encoding, frame: writeFrame(`SEND|0|${'A'.repeat(600)}`), sender: SENDERS.at(-1)! });
    const paying = { ...order, outputs: [{ amount: 1_000_000n, script: SENDERS[1]!.script }] };
    const { reveal } = compose(paying, fund(order.sender, [50_000_000n]));
    assert.equal(surplusOf(paying, reveal!.funding), 0n);
    const forgotten = surplusOf(order, reveal!.funding);
    assert.ok(forgotten > 990_000n && forgotten < 1_010_000n, String(forgotten));
  }
});

test('REQUEST_INVALID: an output below dust', () => {
  const output = { amount: 2_939n, script: SENDERS[0]!.script };
  const frame = writeFrame('COINPAY|0|1');
  const order = orderOf({ encoding: 'OP_RETURN', frame, sender: SENDERS[0]!, outputs: [output] });
  assert.throws(() => compose(order, fund(SENDERS[0]!, [1_000_000n])), {
    message: /2939 satoshis is dust: it must have at least 2940/
  });
});

test('REQUEST_INVALID: a fee of the protocol below dust, with the remedy: ledgers take a greater one', () => {
  const fee = { amount: 1n, script: SENDERS[0]!.script };
  const order = orderOf({
    encoding: 'OP_RETURN',
    frame: writeFrame('SEND|0|TOK'),
    sender: SENDERS[0]!,
    feeOutputs: [fee]
  });
  assert.throws(() => compose(order, fund(SENDERS[0]!, [1_000_000n])), {
    code: 'REQUEST_INVALID',
    message: /1 satoshis is dust: it must have at least 2940\. Ledgers take more .* the amount of feeQuote/
  });
});

test('senders: whose address it is, and which key it needs, is said by name', () => {
  const reason = (text: string, key?: string) => {
    try {
      readSender(text, key, NETWORK);
      return '';
    } catch (caught) {
      return String((caught as Error).message);
    }
  };
  const bitcoin = addressOf(
    payTo({ kind: 'witnessKeyHash', bytes: hash160(KEY) }),
    chainNetwork('bitcoin', 'mainnet').addresses
  )!;
  assert.match(reason(bitcoin), /is an address of bitcoin mainnet; this service serves litecoin regtest/);
  assert.match(reason('nonsense'), /"nonsense" is not an address of litecoin regtest/);
  assert.match(reason(SENDERS[2]!.address), /address of a script; send the public key/);
  assert.match(
    reason(SENDERS[0]!.address, publicKeyOf(hash('sha256', 'other', 'buffer')).toString('hex')),
    /not that of/
  );
  assert.match(reason(`04${'11'.repeat(64)}`), /uncompressed/);
  assert.match(reason(`02${'ff'.repeat(32)}`), /not one of secp256k1/);
});

test('hundreds of coins of one large transaction are told in no time, and no more of it than a PSBT may have', () => {
  const sender = SENDERS[1]!; // a signature without a witness covers no amount: signers need the whole transaction
  const outputs = Array.from({ length: 2_700 }, () => ({ amount: 100_000n, script: sender.script }));
  const unlock = { script: Buffer.alloc(0), witness: [] };
  const parent = writeTransaction({ inputs: [{ txid: '22'.repeat(32), vout: 0, sequence: 0, unlock }], outputs });
  const { txid } = readRawTransaction(parent);
  const coins = Array.from({ length: 300 }, (_, vout) => ({ txid, vout, amount: 100_000n, transaction: parent }));
  const spendable = coins.slice(0, coins.length - tooLongForPsbt(sender, coins).length);
  assert.equal(spendable.length, Math.floor(MOST_PSBT_SOURCE_BYTES / parent.length));
  const form = {
    inputs: spendable.map((coin) => ({ ...coin, sequence: 0xffffffff, unlock: sender.unlock })),
    outputs: [{ amount: 1_000_000n, script: sender.script }]
  };
  const before = process.threadCpuUsage();
  const psbt = writePsbt(form, firstSpent(sender, spendable));
  const { user } = process.threadCpuUsage(before);
  assert.ok(user < 2_000_000, `${user} µs of CPU`);
  assert.ok(psbt.length < MOST_PSBT_SOURCE_BYTES * 1.1);
  const few = { inputs: form.inputs.slice(0, 2), outputs: [{ amount: 150_000n, script: sender.script }] };
  const signed = signPsbt(writePsbt(few, firstSpent(sender, spendable.slice(0, 2))).toString('hex'), SECRET);
  assert.equal(readRawTransaction(Buffer.from(signed, 'hex')).outputs.length, 1);
});

test('coins are selected in work that grows with their number, not with its square', () => {
  const sender = SENDERS[0]!;
  const lookedAt = (count: number) => {
    let inputs = 0;
    const { coins } = selectCoins(
      Array.from({ length: count }, (_, vout) => ({ txid: '55'.repeat(32), vout, amount: 10_000n })),
      {
        outputsFor: () => [{ amount: 9_000n * BigInt(count), script: sender.script }],
        inputOf: ({ txid, vout }) => ({ txid, vout, sequence: 0, unlock: sender.unlock }),
        fee: (form) => {
          inputs += form.inputs.length;
          return BigInt(virtualSize(form));
        },
        changeScript: sender.script,
        changeDust: 3_000n
      }
    );
    assert.ok(coins.length > count * 0.9, 'nearly all are needed');
    return inputs;
  };
  const [few, many] = [lookedAt(MAX_INPUTS / 5), lookedAt(MAX_INPUTS)];
  assert.ok(many <= 6 * few, `${few} inputs for ${MAX_INPUTS / 5} coins, ${many} for ${MAX_INPUTS}`);
});

test('a reveal pays what the first transaction left where the usual fee has risen, down to what the node takes', () => {
  const sender = SENDERS[1]!;
  for (const encoding of ['P2SH', 'P2WSH'] as const) {
    const order = { ...orderOf({ encoding, frame: writeFrame(`FILE|0|${'x'.repeat(700)}`), sender }), encoding };
    const { locks, first } = compose(order, fund(sender, [50_000_000n]));
    const locked = locks.map((lock, vout) => ({ vout, amount: first.form.outputs[vout]!.amount, lock }));
    const held = locked.reduce((sum, { amount }) => sum + amount, 0n);
    const funding = { txid: '33'.repeat(32), locked };
    const risen = { ...order, fee: (form: Parameters<Order['fee']>[0]) => 40n * RATE * BigInt(virtualSize(form)) };
    assert.throws(() => composeReveal(risen, funding), /do not pay for the second one at this fee/);
    const dusty = [{ amount: 1n, script: order.sender.script }];
    assert.throws(() => composeReveal({ ...order, outputs: dusty }, funding), /an output of 1 satoshis is dust/);
    const reveal = composeReveal({ ...risen, leastFee: () => held }, funding);
    assert.deepEqual([reveal.fee, reveal.change, reveal.isLowered], [held, null, true]);
    assert.throws(() => composeReveal({ ...risen, leastFee: () => held + 1n }, funding), /takes no less than/);
  }
});

test('a reveal without another output keeps its change where the usual fee has risen: it would have no output', () => {
  const order = orderOf({ encoding: 'TAPROOT', frame: writeFrame(`FILE|0|${'x'.repeat(700)}`), sender: SENDERS[1]! });
  const { first, locks } = compose(order, fund(order.sender, [50_000_000n]));
  const amount = first.form.outputs[0]!.amount;
  const funding = { txid: '33'.repeat(32), locked: [{ vout: 0, amount, lock: locks[0]! }] };
  const risen = { ...order, fee: (form: Parameters<Order['fee']>[0]) => RATE * BigInt(virtualSize(form)) + 1n };
  const dust = dustAmount(order.sender.script, DUST);
  const reveal = composeReveal({ ...risen, leastFee: () => amount - dust }, funding);
  assert.deepEqual([reveal.fee, reveal.change, reveal.isLowered], [amount - dust, dust, true]);
  assert.deepEqual(reveal.form.outputs, [{ amount: dust, script: order.sender.script }]);
  assert.throws(() => composeReveal({ ...risen, leastFee: () => amount - dust + 1n }, funding), /takes no less than/);
});

test('the least fee of an address whose key may be uncompressed is that of its longest signed form', () => {
  const [known] = SENDERS.slice(1);
  const unknown = readSender(known!.address, undefined, NETWORK);
  const sizeOf = ({ unlock }: Sender) =>
    longestVirtualSize({
      inputs: [{ txid: '44'.repeat(32), vout: 0, sequence: 0, unlock }],
      outputs: [{ amount: 1n, script: known!.script }]
    });
  assert.equal(sizeOf(unknown) - sizeOf(known!), 32);
});

test('no signed second transaction is longer than its least fee is computed for', () => {
  const known = SENDERS[1]!;
  const keys = [
    [known, 33],
    [readSender(known.address, undefined, NETWORK), 65]
  ] as const;
  for (const [sender, keyBytes] of keys)
    for (let letters = 60; letters < 700; letters++) {
      const frame = writeFrame(`FILE|0|${'x'.repeat(letters)}`);
      const order = { ...orderOf({ encoding: 'P2SH', frame, sender }), encoding: 'P2SH' as const };
      const { locks, reveal } = compose(order, fund(sender, [50_000_000n]));
      const { form } = reveal!;
      const signed = form.inputs.map((input, at) => {
        const items = [Buffer.alloc(72), Buffer.alloc(keyBytes), locks[at]!.inner];
        return { ...input, unlock: { script: Buffer.concat(items.map(writePush)), witness: [] } };
      });
      const { length } = writeTransaction({ ...form, inputs: signed });
      assert.ok(length <= longestVirtualSize(form), `${letters} letters, a key of ${keyBytes} bytes`);
    }
});

test('SELF_CHECK_FAILED: no transaction leaves the miner another amount than the fee that is told', () => {
  const form = { inputs: [], outputs: [{ amount: 900n, script: Buffer.alloc(1, 0x51) }] };
  const spent = [{ amount: 1_000n, script: Buffer.alloc(0), transaction: null, hasWitness: false, fields: {} }];
  assert.throws(() => psbtPaying(form, spent, 99n), {
    code: 'SELF_CHECK_FAILED',
    message: /leaves 100 satoshis to the miner, and not the fee of 99/
  });
  const input = { txid: 'ab'.repeat(32), vout: 1, sequence: 0, unlock: { script: Buffer.alloc(0), witness: [] } };
  assert.throws(() => psbtPaying({ ...form, inputs: [input, input] }, spent, 100n), { message: /spends a coin twice/ });
});
