import { hash } from 'node:crypto';
import { createBase58check } from '@scure/base';
import { writeBase } from '../../src/coin/raw/transaction-form.ts';
import { scriptOf } from '../../src/coin/script/address.ts';
import type { PrivateLitecoind } from '../../src/devnet/processes/litecoin.ts';
import { LOOP_NETWORK } from '../../test/support/encoder/service.ts';

const base58check = createBase58check((bytes: Uint8Array) => hash('sha256', bytes, 'buffer'));

/** An address of the node's wallet, whose coins the loop spends. */
export interface Account {
  readonly form: 'legacy' | 'p2sh-segwit' | 'bech32';
  readonly address: string;
  /** Hex of 33 bytes. */
  readonly publicKey: string;
  readonly privateKey: Uint8Array;
}

export const FORMS = ['legacy', 'p2sh-segwit', 'bech32'] as const;
/** Satoshis. */
const COIN = 20_000_000n;

/** One address of each form, each with so many coins that a block holds. */
export async function openAccounts(
  node: PrivateLitecoind,
  coins: number,
  forms: readonly Account['form'][] = FORMS
): Promise<readonly Account[]> {
  await node.mine(110);
  const accounts = await Promise.all(forms.map((form) => openAccount(node, form)));
  const payees = accounts.flatMap(({ address }) => Array.from({ length: coins }, () => address));
  for (let start = 0; start < payees.length; start += 300) await payAll(node, payees.slice(start, start + 300));
  await node.mine(1);
  return accounts;
}

async function openAccount({ rpc }: PrivateLitecoind, form: Account['form']): Promise<Account> {
  const address = String(await rpc.call('getnewaddress', ['', form]));
  const info = (await rpc.call('getaddressinfo', [address])) as { pubkey?: string; embedded?: { pubkey: string } };
  const wif = base58check.decode(String(await rpc.call('dumpprivkey', [address])));
  return { form, address, publicKey: info.pubkey ?? info.embedded!.pubkey, privateKey: wif.subarray(1, 33) };
}

/** One transaction with many outputs, several of them to one address, which `sendmany` refuses. */
async function payAll({ rpc }: PrivateLitecoind, addresses: readonly string[]): Promise<void> {
  const outputs = addresses.map((address) => ({ amount: COIN, script: scriptOf(address, LOOP_NETWORK.addresses)! }));
  const raw = writeBase({ inputs: [], outputs }).toString('hex');
  const { hex } = (await rpc.call('fundrawtransaction', [raw, {}, false])) as { hex: string };
  const signed = (await rpc.call('signrawtransactionwithwallet', [hex])) as { hex: string };
  await rpc.call('sendrawtransaction', [signed.hex]);
}
