import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mock, test } from 'node:test';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { envelopeScript, markerScript } from '../../../src/coin/payload/lane-writer.ts';
import { writeFrame } from '../../../src/coin/payload/payload.ts';
import { type RawInput, RawTransaction, readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { hash160, payTo, payToScript } from '../../../src/coin/script/pay-scripts.ts';
import { writePush } from '../../../src/coin/script/script.ts';
import { payToKey, payToLeaf } from '../../../src/coin/script/taproot.ts';
import { TransactionScan } from '../../../src/decoder/block-scan.ts';
import { resolveSources } from '../../../src/decoder/sources.ts';
import { writeTransaction } from '../../support/coin/raw-writer.ts';
import { scanRules } from '../../support/decoder/loop.ts';
import { publicKeyOf } from '../../support/encoder/signer.ts';

const NETWORK = chainNetwork('bitcoin', 'regtest');
const RULES = scanRules(NETWORK, 'TEST');
const [VICTIM_SECRET, THIEF_SECRET] = ['a victim', 'a thief'].map((name) => hash('sha256', name, 'buffer'));
const [VICTIM, THIEF] = [publicKeyOf(VICTIM_SECRET!), publicKeyOf(THIEF_SECRET!)];
const UNCOMPRESSED = Buffer.from(secp256k1.getPublicKey(VICTIM_SECRET!, false));
const NO_BYTES = Buffer.alloc(0);
/** Returns a signature in the form that nodes take. @param type the parts that it covers */
const signature = (type = 1) => Buffer.from([0x30, 68, ...Buffer.alloc(68), type]);
const segwit = (key: Buffer) => payTo({ kind: 'witnessKeyHash', bytes: hash160(key) });
const plain = (key: Buffer) => payTo({ kind: 'keyHash', bytes: hash160(key) });
const chunkScript = (chunk: Uint8Array, check: Uint8Array) =>
  Buffer.concat([writePush(chunk), Buffer.from([0x75]), check]);

/** One spent output of the payment, and what spends it. */
interface Spend {
  readonly script: Uint8Array;
  readonly unlock?: Uint8Array;
  readonly witness?: readonly Buffer[];
  /** It belongs to another payment. */
  readonly isElsewhere?: boolean;
}

const ACTION = 'SEND|0|VICTIM|100|thief';
const FRAME = writeFrame(ACTION);

/** Returns a decoder's reading of a transaction that spends these, all paid by the first script. */
async function decode(payer: Uint8Array, spends: readonly Spend[], markers: readonly ('p2sh' | 'p2wsh')[] = ['p2wsh']) {
  const wallet = transaction([{ txid: 'ab'.repeat(32), vout: 0, script: NO_BYTES }], [payer]);
  const payments = [1, 2].map((vout) =>
    transaction(
      [{ txid: wallet.txid, vout: 0, script: NO_BYTES }],
      [...spends.map(({ script }) => script), Buffer.alloc(vout)]
    )
  );
  const txidOf = ({ isElsewhere }: Spend) => payments[isElsewhere ? 1 : 0]!.txid;
  const payment = transaction(
    spends.map((each, vout) => ({ txid: txidOf(each), vout, script: Buffer.from(each.unlock ?? NO_BYTES) })),
    [...markers.map((marker) => markerScript(txidOf(spends[0]!), marker, 'TEST')), segwit(THIEF)],
    spends.map(({ witness = [] }) => witness)
  );
  const scan = new TransactionScan(1, RULES);
  scan.visit(readRawTransaction(payment.bytes));
  assert.equal(scan.candidates[0]?.action, ACTION, 'it carries the action');
  const known = new Map([wallet, ...payments].map(({ txid, bytes }) => [txid, bytes]));
  const [block] = await resolveSources([scan], async (txids) => txids.map((txid) => known.get(txid)!), known, RULES);
  const codes = new Set(block!.findings.map(({ code }) => code));
  assert.ok(codes.isSubsetOf(new Set(block!.transactions.length === 0 ? ['SOURCE_NOT_SIGNER'] : [])));
  return block!.transactions[0]?.source;
}

function transaction(
  inputs: readonly RawInput[],
  scripts: readonly Uint8Array[],
  witnesses: readonly (readonly Buffer[])[] = []
) {
  const outputs = scripts.map((script) => ({ amount: 1_000n, script: Buffer.from(script) }));
  return writeTransaction({ inputs, outputs, witnesses });
}

/** An honest spend of a chunk, but for what is said. */
function witnessSpend(key: Buffer, { chunk = FRAME, check = plain(key) as Uint8Array, type = 1 } = {}): Spend {
  const script = chunkScript(chunk, check);
  return { script: payToScript(script, 'p2wsh'), witness: [signature(type), key, script] };
}
function legacySpend(key: Buffer, chunk: Uint8Array = FRAME): Spend {
  const script = chunkScript(chunk, plain(key));
  const unlock = Buffer.concat([signature(), key, script].map(writePush));
  return { script: payToScript(script, 'p2sh'), unlock };
}
function envelopeSpend(key: Buffer, type?: number): Spend {
  const leaf = envelopeScript(FRAME, key.subarray(1), 'TEST');
  const controlBlock = Buffer.from([0xc0, ...THIEF.subarray(1), ...Buffer.alloc(32, 7)]);
  const signed = Buffer.from([...Buffer.alloc(64), ...(type === undefined ? [] : [type])]);
  return { script: payToLeaf(leaf, controlBlock)!, witness: [signed, leaf, controlBlock] };
}
const [FRONT, BACK] = [FRAME.subarray(0, 9), FRAME.subarray(9)];
const halves = (first: Buffer, second: Buffer) => [
  witnessSpend(first, { chunk: FRONT }),
  witnessSpend(second, { chunk: BACK })
];

test('an action counts where the key that signed it is that of the payer, whatever the form of its address', async () => {
  const address = (script: Uint8Array) => addressOf(script, NETWORK.addresses);
  const nested = payToScript(segwit(VICTIM), 'p2sh');
  const taproot = payToKey(VICTIM.subarray(1))!;
  const untweaked = payTo({ kind: 'taproot', bytes: VICTIM.subarray(1) });
  for (const payer of [plain(VICTIM), segwit(VICTIM), nested, taproot, untweaked]) {
    assert.equal(await decode(payer, [witnessSpend(VICTIM)]), address(payer));
    assert.equal(await decode(payer, [legacySpend(VICTIM)], ['p2sh']), address(payer));
    assert.equal(await decode(payer, [envelopeSpend(VICTIM)], []), address(payer));
    assert.equal(await decode(payer, halves(VICTIM, VICTIM)), address(payer));
    assert.equal(await decode(payer, [witnessSpend(THIEF)]), undefined);
    assert.equal(await decode(payer, [legacySpend(THIEF)], ['p2sh']), undefined);
    assert.equal(await decode(payer, [envelopeSpend(THIEF)], []), undefined);
  }
  assert.equal(await decode(plain(UNCOMPRESSED), [legacySpend(UNCOMPRESSED)], ['p2sh']), address(plain(UNCOMPRESSED)));
  const beside: Spend = { script: segwit(THIEF), witness: [signature(), THIEF], isElsewhere: true };
  assert.equal(await decode(segwit(VICTIM), [witnessSpend(VICTIM), beside]), address(segwit(VICTIM)));
});

test('one of the keys of a shared address does not act for all of them', async () => {
  const shared = Buffer.concat([Buffer.from([0x52]), writePush(VICTIM), writePush(THIEF), Buffer.from([0x52, 0xae])]);
  for (const form of ['p2sh', 'p2wsh'] as const)
    assert.equal(await decode(payToScript(shared, form), [witnessSpend(THIEF)]), undefined);
});

const keyCheck = plain(VICTIM);
const op = (...codes: number[]) => Buffer.from(codes);
/** Scripts of a thief's that name the victim's key without asking for its signature. */
const CHECKS: Readonly<Record<string, Uint8Array>> = {
  'in a branch that is not run': Buffer.concat([op(0x00, 0x63), keyCheck, op(0x68), plain(THIEF)]),
  'behind the check of another key': Buffer.concat([plain(THIEF).subarray(0, 24), op(0xad), keyCheck.subarray(0, 23)]),
  'as data that is dropped': Buffer.concat([writePush(keyCheck), op(0x75), plain(THIEF)]),
  'by its hash alone': Buffer.concat([keyCheck.subarray(0, 24), op(0x51)]),
  'as one of two keys': Buffer.concat([op(0x51), writePush(VICTIM), writePush(THIEF), op(0x52, 0xae)]),
  'behind code that puts it in place': Buffer.concat([op(0x6d), writePush(signature()), writePush(VICTIM), keyCheck])
};
for (const [place, check] of Object.entries(CHECKS))
  test(`a script that names the payer's key ${place} proves nothing`, async () => {
    for (const key of [VICTIM, THIEF])
      assert.equal(await decode(segwit(VICTIM), [witnessSpend(key, { check })]), undefined);
  });

test('a script that was not run proves nothing: it must be the one that the spent output asks for', async () => {
  const payer = segwit(VICTIM);
  const honest = witnessSpend(VICTIM);
  const anybodys = [
    payTo({ kind: 'taproot', bytes: VICTIM.subarray(1) }),
    Buffer.from([0x52, 32, ...Buffer.alloc(32, 5)]),
    payToScript(payToScript(honest.witness![2]!, 'p2wsh'), 'p2sh'),
    Buffer.from([0x51])
  ];
  for (const script of anybodys) assert.equal(await decode(payer, [{ ...honest, script }]), undefined);
  const old = legacySpend(VICTIM);
  assert.equal(await decode(payer, [{ ...old, script: Buffer.from([0x51]) }], ['p2sh']), undefined);
  const redeem = op(0x6d, 0x75, 0x51);
  const pushes = Buffer.concat([old.unlock!, writePush(redeem)]);
  assert.equal(await decode(payer, [{ script: payToScript(redeem, 'p2sh'), unlock: pushes }], ['p2sh']), undefined);
  const more = { ...honest, witness: [...honest.witness!, redeem], script: payToScript(redeem, 'p2wsh') };
  assert.equal(await decode(payer, [more]), undefined);
});

test('the way to a leaf of unknown version does not pass for a script', async () => {
  const way = Buffer.concat([writePush(FRAME), op(0x75), plain(VICTIM)]);
  const spend = { script: payTo({ kind: 'taproot', bytes: VICTIM.subarray(1) }), witness: [signature(), VICTIM, way] };
  assert.equal(await decode(segwit(VICTIM), [spend]), undefined);
});

test('an envelope counts only as the leaf of a taproot output', async () => {
  const spend = envelopeSpend(VICTIM);
  for (const script of [
    Buffer.from([0x52, 32, ...Buffer.alloc(32, 5)]),
    payToScript(spend.script, 'p2sh'),
    payToKey(THIEF.subarray(1))!
  ])
    assert.equal(await decode(segwit(VICTIM), [{ ...spend, script }], []), undefined);
});

test("every chunk is the payer's, of one payment, in one form", async () => {
  const payer = segwit(VICTIM);
  assert.equal(await decode(payer, halves(VICTIM, THIEF)), undefined);
  assert.equal(await decode(payer, halves(THIEF, VICTIM)), undefined);
  const [front, back] = halves(VICTIM, VICTIM) as [Spend, Spend];
  assert.equal(await decode(payer, [front, { ...back, isElsewhere: true }]), undefined);
  const mixed = [legacySpend(VICTIM, FRONT), witnessSpend(VICTIM, { chunk: BACK })];
  assert.equal(await decode(payer, mixed, ['p2sh', 'p2wsh']), undefined);
});

test('a signature that leaves inputs or outputs open proves nothing of the whole', async () => {
  for (const type of [2, 3, 0x81, 0x82, 0x83, 0]) {
    assert.equal(await decode(segwit(VICTIM), [witnessSpend(VICTIM, { type })]), undefined);
    if (type > 0) assert.equal(await decode(segwit(VICTIM), [envelopeSpend(VICTIM, type)], []), undefined);
  }
  assert.notEqual(await decode(segwit(VICTIM), [envelopeSpend(VICTIM, 1)], []), undefined);
});

test('many transactions that reveal outputs of one read it once, and not once each', async () => {
  const wallet = transaction([{ txid: 'ab'.repeat(32), vout: 0, script: NO_BYTES }], [segwit(VICTIM)]);
  const script = chunkScript(FRAME, plain(VICTIM));
  const feeAddress = addressOf(plain(THIEF), NETWORK.addresses)!;
  const lock = payToScript(script, 'p2wsh');
  const readsOf = async (count: number, feeOnceHeight: number) => {
    const locks = Array.from({ length: count }, () => lock);
    const funding = transaction([{ txid: wallet.txid, vout: 0, script: NO_BYTES }], [...locks, plain(THIEF)]);
    const scan = new TransactionScan(1, RULES);
    for (let vout = 0; vout < count; vout++) {
      const reveal = [{ txid: funding.txid, vout, script: NO_BYTES }];
      const payment = transaction(
        reveal,
        [markerScript(funding.txid, 'p2wsh', 'TEST')],
        [[signature(), VICTIM, script]]
      );
      scan.visit(readRawTransaction(payment.bytes));
    }
    const known = new Map([wallet, funding].map(({ txid, bytes }) => [txid, bytes]));
    const read = Object.getOwnPropertyDescriptor(RawTransaction.prototype, 'outputs')!.get!;
    const outputs = mock.getter(RawTransaction.prototype, 'outputs', read as () => RawTransaction['outputs']);
    const [block] = await resolveSources([scan], async () => [], known, { ...RULES, feeAddress, feeOnceHeight });
    outputs.mock.restore();
    const fees = block!.transactions.map((row) => row.outputs.length);
    assert.deepEqual([fees.length, fees[0], fees.at(-1)], [count, 1, feeOnceHeight === 0 ? 0 : 1]);
    return outputs.mock.callCount();
  };
  for (const feeOnceHeight of [0, 1_000])
    assert.equal(await readsOf(200, feeOnceHeight), await readsOf(20, feeOnceHeight), `from ${feeOnceHeight}`);
});
