import type { NodeRpc } from '../../src/coin/node/node-rpc.ts';
import { returnScript } from '../../src/coin/payload/lane-writer.ts';
import { writeFrame } from '../../src/coin/payload/payload.ts';
import { DEFAULT_PROFILE } from '../../src/coin/profile.ts';
import { addressOf } from '../../src/coin/script/address.ts';
import { payToScript } from '../../src/coin/script/pay-scripts.ts';
import { DEVNET } from '../../src/devnet/settings.ts';
import { firstSpent } from '../../src/encoder/coins/spent.ts';
import { writePsbt } from '../../src/encoder/transaction/psbt.ts';
import { readSender } from '../../src/encoder/transaction/sender.ts';
import { publicKeyOf, signPsbt } from '../../test/support/encoder/signer.ts';
import type { Person } from './person.ts';

const HELD = 500_000n;
const FEE = 50_000n;

/** Says an action from somebody's nested segwit address, with a coin that another paid there. @returns the transaction's id */
export async function sayNested(rpc: NodeRpc, payer: Person, speaker: Person, action: string): Promise<string> {
  const script = payToScript(speaker.script, 'p2sh');
  const key = publicKeyOf(speaker.key).toString('hex');
  const nested = readSender(addressOf(script, DEVNET.addresses)!, key, DEVNET);
  const txid = await payer.pay([{ amount: HELD, script }]);
  const form = {
    inputs: [{ txid, vout: 0, sequence: 0xffffffff, unlock: nested.unlock }],
    outputs: [
      { amount: 0n, script: returnScript(txid, writeFrame(action), DEFAULT_PROFILE.payloadMagic) },
      { amount: HELD - FEE, script }
    ]
  };
  const spent = firstSpent(nested, [{ txid, vout: 0, amount: HELD, transaction: null }]);
  const signed = signPsbt(writePsbt(form, spent).toString('hex'), speaker.key);
  return String(await rpc.call('sendrawtransaction', [signed]));
}
