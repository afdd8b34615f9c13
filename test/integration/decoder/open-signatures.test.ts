import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { before, test } from 'node:test';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { p2ms, p2pkh, p2sh, p2tr, p2wpkh, p2wsh } from '@scure/btc-signer/payment.js';
import type { TransactionInputUpdate } from '@scure/btc-signer/psbt.js';
import { SigHash, Transaction } from '@scure/btc-signer/transaction.js';
import { multisigScripts, returnScript } from '../../../src/coin/payload/lane-writer.ts';
import { writeFrame } from '../../../src/coin/payload/payload.ts';
import { readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { type FormOutput, type Unlock, writeTransaction } from '../../../src/coin/raw/transaction-form.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { writePush } from '../../../src/coin/script/script.ts';
import {
  type Chain,
  decode,
  FEE,
  HELD,
  MAGIC,
  pay,
  senderOf,
  startChains,
  THIEF,
  VICTIM
} from '../../support/decoder/victim-chains.ts';
import { publicKeyOf } from '../../support/encoder/signer.ts';

const PARTNER = hash('sha256', 'a partner', 'buffer');
const [OWN, PARTNERS] = [VICTIM, PARTNER].map(publicKeyOf) as [Buffer, Buffer];
const NOBODYS = secp256k1.getPublicKey(hash('sha256', 'nobody', 'buffer'), true).subarray(1);
const ACTION = 'SEND|0|VICTIM|100|thief';
const FINAL = 0xffffffff;
const SHARED = p2ms(2, [OWN, PARTNERS]);

/** The script of an address, and what a signer must be shown to spend it. */
interface Paid {
  readonly script: Uint8Array;
  readonly redeemScript?: Uint8Array | undefined;
  readonly witnessScript?: Uint8Array | undefined;
  readonly tapInternalKey?: Uint8Array | undefined;
  readonly tapLeafScript?: TransactionInputUpdate['tapLeafScript'] | undefined;
  readonly tapMerkleRoot?: Uint8Array | undefined;
}

/** A form of address, with all keys that sign for it. */
interface Form {
  readonly paid: Paid;
  readonly keys: readonly Buffer[];
}

const alone = (paid: Paid): Form => ({ paid, keys: [VICTIM] });
const both = (paid: Paid): Form => ({ paid, keys: [VICTIM, PARTNER] });
const LEAF = Buffer.concat([writePush(OWN.subarray(1)), Buffer.from([0xac])]);
const FORMS: Readonly<Record<string, Form>> = {
  P2PKH: alone(p2pkh(OWN)),
  P2WPKH: alone(p2wpkh(OWN)),
  'P2SH-P2WPKH': alone(p2sh(p2wpkh(OWN))),
  'P2SH multisig': both(p2sh(SHARED)),
  'P2WSH multisig': both(p2wsh(SHARED)),
  'P2SH-P2WSH multisig': both(p2sh(p2wsh(SHARED))),
  'P2TR by its key': alone(p2tr(OWN.subarray(1))),
  'P2TR by a leaf': alone(p2tr(NOBODYS, { script: LEAF }, undefined, true))
};

let chains: ReadonlyMap<string, Chain>;

before(async () => {
  chains = await startChains();
});

type Place = { readonly txid: string; readonly vout: number };
type Carrier = 'OP_RETURN' | 'MULTISIGN';

/** A coin of a form, and one of the thief's. */
async function fund(chain: Chain, { paid }: Form): Promise<readonly [own: Place, thiefs: Place, payment: Buffer]> {
  const thief = senderOf(THIEF, chain.network).script;
  const payment = await pay(
    chain,
    [paid.script, thief].map((script) => ({ amount: HELD, script: Buffer.from(script) }))
  );
  const { txid } = readRawTransaction(payment);
  return [{ txid, vout: 0 }, { txid, vout: 1 }, payment];
}

/** Returns the unlocking of the first input, in which each key signs these inputs and outputs by its own type. */
function unlock(
  { paid, keys }: Form,
  types: readonly number[],
  payment: Buffer,
  places: readonly Place[],
  outputs: readonly FormOutput[]
): Unlock {
  const { script, ...fields } = paid;
  const signed = keys.map((key, at) => {
    const type = types[at] ?? types[0]!;
    const transaction = new Transaction({
      allowUnknownOutputs: true,
      allowUnknownInputs: true,
      disableScriptCheck: true
    });
    for (const [position, { txid, vout }] of places.entries()) {
      const own = position === 0 ? { ...pick(fields), sighashType: type } : {};
      const spent = position === 0 ? script : readRawTransaction(payment).output(vout)!.script;
      const isOld = position === 0 && !fields.witnessScript && !isSegwit(paid);
      const from = { nonWitnessUtxo: readRawTransaction(payment).baseBytes };
      const shown = isOld ? from : { witnessUtxo: { amount: HELD, script: spent } };
      transaction.addInput({ txid, index: vout, sequence: FINAL, ...shown, ...own });
    }
    for (const output of outputs) transaction.addOutput({ amount: output.amount, script: output.script });
    assert.ok(transaction.signIdx(key, 0, [type]));
    return transaction;
  });
  if (keys.length === 1) {
    signed[0]!.finalizeIdx(0);
    const { finalScriptSig = new Uint8Array(), finalScriptWitness = [] } = signed[0]!.getInput(0);
    return { script: finalScriptSig, witness: finalScriptWitness };
  }
  const signatures = signed.map((each) => each.getInput(0).partialSig![0]![1]);
  const { redeemScript, witnessScript } = fields;
  if (!witnessScript)
    return { script: Buffer.concat([Buffer.from([0]), ...[...signatures, redeemScript!].map(writePush)]), witness: [] };
  return {
    script: redeemScript ? writePush(redeemScript) : new Uint8Array(),
    witness: [new Uint8Array(), ...signatures, witnessScript]
  };
}

const isSegwit = ({ script, redeemScript }: Paid) =>
  [script, redeemScript].some((each) => each?.[0] === 0 || each?.[0] === 0x51);

/** Returns the fields of a form that a PSBT takes. */
function pick({ redeemScript, witnessScript, tapInternalKey, tapLeafScript, tapMerkleRoot }: Omit<Paid, 'script'>) {
  return {
    ...(redeemScript && { redeemScript }),
    ...(witnessScript && { witnessScript }),
    ...(tapLeafScript ? { tapLeafScript } : tapInternalKey && { tapInternalKey }),
    ...(tapMerkleRoot && { tapMerkleRoot })
  };
}

/**
 * The thief completes what the victim's keys sign by these types: the victim is paid by the first output, as it asked, and says
 * something by another. @returns the transaction's id
 */
async function complete(chain: Chain, form: Form, types: readonly number[], carrier: Carrier): Promise<string> {
  const [own, thiefs, payment] = await fund(chain, form);
  const thief = senderOf(THIEF, chain.network);
  const frame = writeFrame(ACTION);
  const expected =
    carrier === 'OP_RETURN'
      ? [{ amount: 0n, script: returnScript(own.txid, frame, MAGIC) }]
      : multisigScripts(own.txid, frame, publicKeyOf(THIEF), MAGIC).map((script) => ({ amount: 10_000n, script }));
  const spare = expected.reduce((sum, { amount }) => sum + amount, FEE);
  const outputs = [
    { amount: HELD, script: Buffer.from(form.paid.script) },
    ...expected,
    { amount: HELD - spare, script: thief.script }
  ];
  const places = [own, thiefs];
  // An offer is signed before anybody knows who takes it.
  const isOffer = types.every((type) => type === SigHash.SINGLE_ANYONECANPAY);
  const unlocked = isOffer
    ? unlock(form, types, payment, [own], outputs.slice(0, 1))
    : unlock(form, types, payment, places, outputs);
  const whole = new Transaction({ allowUnknownOutputs: true, disableScriptCheck: true });
  for (const { txid, vout } of places)
    whole.addInput({
      txid,
      index: vout,
      sequence: FINAL,
      witnessUtxo: { amount: HELD, script: vout === 0 ? form.paid.script : thief.script }
    });
  for (const output of outputs) whole.addOutput(output);
  whole.signIdx(THIEF, 1);
  whole.finalizeIdx(1);
  const unlocks = [unlocked, { script: new Uint8Array(), witness: whole.getInput(1).finalScriptWitness! }];
  const inputs = places.map((place, at) => ({ ...place, sequence: FINAL, unlock: unlocks[at]! }));
  const bytes = writeTransaction({ inputs, outputs });
  await chain.send(bytes.toString('hex'));
  return readRawTransaction(bytes).txid;
}

const OPEN = ['SINGLE_ANYONECANPAY', 'NONE_ANYONECANPAY', 'ALL_ANYONECANPAY', 'SINGLE', 'NONE'] as const;
const NO_ROW = { waiting: undefined, row: undefined, codes: ['SIGNATURE_NOT_WHOLE'] };

for (const name of ['litecoind', 'bcoin'])
  for (const [label, form] of Object.entries(FORMS)) {
    if (name === 'bcoin' && label.startsWith('P2TR')) continue; // it has no taproot
    test(`${name}, ${label}: who completes what another signed in part says nothing in the signer's name`, async () => {
      const chain = chains.get(name)!;
      for (const type of OPEN)
        for (const carrier of ['OP_RETURN', 'MULTISIGN'] as const) {
          const txid = await complete(chain, form, [SigHash[type]], carrier);
          assert.deepEqual(await decode(chain, txid), NO_ROW, `${type} ${carrier}`);
        }
      if (form.keys.length > 1) {
        const txid = await complete(chain, form, [SigHash.SINGLE_ANYONECANPAY, SigHash.ALL], 'OP_RETURN');
        assert.deepEqual(await decode(chain, txid), NO_ROW, 'one signature of two is open');
      }
      const source = addressOf(form.paid.script, chain.network.addresses);
      for (const type of label.startsWith('P2TR') ? [SigHash.DEFAULT, SigHash.ALL] : [SigHash.ALL]) {
        const whole = await complete(chain, form, [type], 'MULTISIGN');
        const { waiting, row, codes } = await decode(chain, whole);
        assert.deepEqual([waiting?.slice(0, 2), row?.slice(0, 2), codes], [[source, ACTION], [source, ACTION], []]);
      }
    });
  }

test('without the rule, a signed offer is taken with an action in the name of who made it', async () => {
  const chain = chains.get('litecoind')!;
  const txid = await complete(chain, FORMS['P2WPKH']!, [SigHash.SINGLE_ANYONECANPAY], 'OP_RETURN');
  const { row } = await decode(chain, txid, { signatureHeight: Number.POSITIVE_INFINITY });
  assert.deepEqual(row, [senderOf(VICTIM, chain.network).address, ACTION, OWN.toString('hex')]);
});
