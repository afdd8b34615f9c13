// A signer: makes keys, and signs transactions with one. It talks to nobody.
// Run: scripts/run-node examples/signer.ts new KEYFILE, then ... sign KEYFILE PSBT
import { readFileSync, writeFileSync } from 'node:fs';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { p2wpkh, Transaction } from '@scure/btc-signer';

/** How litecoin's regtest writes addresses. */
const network = { bech32: 'rltc', pubKeyHash: 0x6f, scriptHash: 0x3a, wif: 0xef };
const [order, file = '', psbt = ''] = process.argv.slice(2);

if (order === 'new') {
  const key = secp256k1.utils.randomSecretKey();
  writeFileSync(file, key, { mode: 0o600 });
  console.log(p2wpkh(secp256k1.getPublicKey(key, true), network).address);
} else if (order === 'sign') {
  const transaction = Transaction.fromPSBT(Buffer.from(psbt, 'hex'), { allowUnknownOutputs: true });
  transaction.sign(readFileSync(file));
  transaction.finalize();
  console.log(transaction.hex);
} else throw new Error('usage: signer.ts new KEYFILE | sign KEYFILE PSBT');
