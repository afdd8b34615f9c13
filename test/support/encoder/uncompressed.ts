import { hash } from 'node:crypto';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { Transaction } from '@scure/btc-signer/transaction.js';
import { readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { writeBase, writeTransaction } from '../../../src/coin/raw/transaction-form.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { hash160, payTo } from '../../../src/coin/script/pay-scripts.ts';
import { writePush } from '../../../src/coin/script/script.ts';
import { LOOP_NETWORK } from './service.ts';

/** The key's 65 bytes. */
const longKeyOf = (privateKey: Uint8Array) => Buffer.from(secp256k1.getPublicKey(privateKey, false));
const SIGHASH_ALL = Buffer.from([1]);
const NOTHING = { script: Buffer.alloc(0), witness: [] } as const;

/** The plain script of a key's 65 bytes, and its address on Litecoin's regtest. */
export function longKeyAddress(privateKey: Uint8Array) {
  const script = payTo({ kind: 'keyHash', bytes: hash160(longKeyOf(privateKey)) });
  return { script, address: addressOf(script, LOOP_NETWORK.addresses)! };
}

/** Signs every input of a PSBT with a key that is written in 65 bytes. @returns the transaction as hex */
export function signWithLongKey(psbtHex: string, privateKey: Uint8Array): string {
  const psbt = Transaction.fromPSBT(Buffer.from(psbtHex, 'hex'), {
    allowUnknownInputs: true,
    allowUnknownOutputs: true,
    disableScriptCheck: true
  });
  const { inputs: spent, outputs } = readRawTransaction(Buffer.from(psbt.unsignedTx));
  const places = spent.map(({ txid, vout }, at) => ({ txid, vout, sequence: psbt.getInput(at).sequence! }));
  const sign = (digest: Uint8Array) =>
    Buffer.concat([secp256k1.sign(digest, privateKey, { prehash: false, format: 'der' }), SIGHASH_ALL]);
  const inputs = places.map((place, at) => {
    const { redeemScript, witnessScript, witnessUtxo, nonWitnessUtxo } = psbt.getInput(at);
    if (witnessScript) {
      const signature = sign(psbt.preimageWitnessV0(at, witnessScript, 1, witnessUtxo!.amount));
      return { ...place, unlock: { ...NOTHING, witness: [signature, longKeyOf(privateKey), witnessScript] } };
    }
    const code = redeemScript ?? nonWitnessUtxo!.outputs[place.vout]!.script!;
    const asked = places.map((each, other) => ({
      ...each,
      unlock: other === at ? { ...NOTHING, script: code } : NOTHING
    }));
    const preimage = Buffer.concat([writeBase({ inputs: asked, outputs }), Buffer.from([1, 0, 0, 0])]);
    const signature = sign(hash('sha256', hash('sha256', preimage, 'buffer'), 'buffer'));
    const items = [signature, longKeyOf(privateKey), ...(redeemScript ? [redeemScript] : [])];
    return { ...place, unlock: { ...NOTHING, script: Buffer.concat(items.map(writePush)) } };
  });
  return writeTransaction({ inputs, outputs }).toString('hex');
}
