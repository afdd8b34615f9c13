// A signer: makes keys, and signs transactions with one. It talks to nobody.
// Run: scripts/run-node docs/examples/signer.ts new KEYFILE, then ... sign KEYFILE PSBT
import { readFileSync, writeFileSync } from 'node:fs';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { p2wpkh, Script, Transaction } from '@scure/btc-signer';

/** How litecoin's regtest writes addresses. */
const network = { bech32: 'rltc', pubKeyHash: 0x6f, scriptHash: 0x3a, wif: 0xef };
const [order, file = '', psbt = ''] = process.argv.slice(2);

if (order === 'new') {
  const key = secp256k1.utils.randomSecretKey();
  writeFileSync(file, key, { mode: 0o600 });
  console.log(p2wpkh(secp256k1.getPublicKey(key, true), network).address);
} else if (order === 'sign') {
  const unusual = { allowUnknownOutputs: true, allowUnknownInputs: true, disableScriptCheck: true };
  const transaction = Transaction.fromPSBT(Buffer.from(psbt, 'hex'), unusual);
  transaction.sign(readFileSync(file));
  for (let index = 0; index < transaction.inputsLength; index++) finish(transaction, index);
  console.log(transaction.hex);
} else throw new Error('usage: signer.ts new KEYFILE | sign KEYFILE PSBT');

/** Completes an input. A script that holds a part of an action is unlocked by signature, key and the script itself. */
function finish(transaction: Transaction, index: number): void {
  const { partialSig, witnessScript, redeemScript } = transaction.getInput(index);
  const script = witnessScript ?? redeemScript;
  const [[key, signature] = []] = partialSig ?? [];
  if (!script || !key || !signature) {
    transaction.finalizeIdx(index);
    return;
  }
  const items = [signature, key, script];
  const unlocked = witnessScript ? { finalScriptWitness: items } : { finalScriptSig: Script.encode(items) };
  transaction.updateInput(index, unlocked, true);
}
