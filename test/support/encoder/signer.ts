import { secp256k1 } from '@noble/curves/secp256k1.js';
import { Transaction } from '@scure/btc-signer/transaction.js';
import { writePush } from '../../../src/coin/script/script.ts';

/** The key's 33 bytes. */
export const publicKeyOf = (privateKey: Uint8Array): Buffer => Buffer.from(secp256k1.getPublicKey(privateKey, true));

/** Signs every input of a PSBT with one key, whatever its form. @returns the transaction as hex */
export function signPsbt(psbtHex: string, privateKey: Uint8Array): string {
  const transaction = Transaction.fromPSBT(Buffer.from(psbtHex, 'hex'), {
    allowUnknownInputs: true,
    allowUnknownOutputs: true,
    disableScriptCheck: true,
    lowR: true
  });
  transaction.sign(privateKey);
  for (let index = 0; index < transaction.inputsLength; index++) finish(transaction, index);
  return transaction.hex;
}

/** A chunk's script is of no form that the library knows, so that its input is completed by hand. */
function finish(transaction: Transaction, index: number): void {
  const { partialSig, witnessScript, redeemScript } = transaction.getInput(index);
  const [[key, signature] = []] = partialSig ?? [];
  const chunk = witnessScript ?? (redeemScript && redeemScript[0] !== 0 ? redeemScript : undefined);
  if (!chunk || !key || !signature) {
    transaction.finalizeIdx(index);
    return;
  }
  const items = [signature, key, chunk];
  const isWitness = witnessScript !== undefined;
  transaction.updateInput(
    index,
    isWitness ? { finalScriptWitness: items } : { finalScriptSig: Buffer.concat(items.map(writePush)) },
    true
  );
}
