// A wallet: makes a key, waits to be paid, issues a token and sends some of it. The encoder never sees the private key.
// Run: scripts/run-node examples/wallet.ts http://127.0.0.1:3003 rltc1qto...
import { setTimeout as sleep } from 'node:timers/promises';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { p2wpkh, Transaction } from '@scure/btc-signer';

const [encoder = 'http://127.0.0.1:3003', receiver] = process.argv.slice(2);
if (receiver === undefined)
  throw new Error('usage: wallet.ts <url of the encoder> <address that gets some of the token>');

/** How litecoin's regtest writes addresses. */
const network = { bech32: 'rltc', pubKeyHash: 0x6f, scriptHash: 0x3a, wif: 0xef };
const privateKey = secp256k1.utils.randomSecretKey();
const publicKey = secp256k1.getPublicKey(privateKey, true);
const address = p2wpkh(publicKey, network).address!;

async function call<T>(method: string, params: object): Promise<T> {
  const response = await fetch(encoder, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  });
  const { result, error } = (await response.json()) as { result: T; error?: { message: string } };
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}

interface Coin {
  readonly txid: string;
  readonly confirmations: number;
}

/** Waits for a block that holds a coin of ours. @param isWanted  which coin */
async function waitForCoin(isWanted: (coin: Coin) => boolean): Promise<void> {
  while (!(await call<readonly Coin[]>('get_utxos', { address })).some(isWanted)) await sleep(2_000);
}

/** Builds, signs and broadcasts an action, and waits until it is confirmed: its change is then a coin of ours. */
async function act(data: string): Promise<void> {
  const { psbt, encoding, fee } = await call<{
    readonly psbt: string;
    readonly encoding: string;
    readonly fee: string;
  }>('create_tx', { pubkey: address, data, encoding: 'OP_RETURN' });
  const transaction = Transaction.fromPSBT(Buffer.from(psbt, 'hex'), { allowUnknownOutputs: true });
  transaction.sign(privateKey);
  transaction.finalize();
  const { txid } = await call<{ readonly txid: string }>('broadcast_tx', { tx_hex: transaction.hex });
  console.log(`${data}\n  in ${txid} by ${encoding} for ${fee} satoshis`);
  await waitForCoin((coin) => coin.txid === txid);
  console.log('  confirmed');
}

console.log(`pay some coins to ${address}`);
await waitForCoin(() => true);
await act('ISSUE|0|WALLET|1000000|1000|2|made by an example|5000');
await act(`SEND|0|WALLET|5|${receiver}`);
