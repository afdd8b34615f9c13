import type { TransactionInputUpdate } from '@scure/btc-signer/psbt.js';
import { Transaction } from '@scure/btc-signer/transaction.js';
import { type TransactionForm, writeBase } from '../../coin/raw/transaction-form.ts';
import { PlatformError } from '../../errors.ts';

/** What a PSBT tells a signer of one input, beside its place. */
export interface Spent {
  readonly amount: bigint;
  readonly script: Uint8Array;
  /** The whole transaction without its witnesses; null: signers are not told. */
  readonly transaction: Uint8Array | null;
  /** A witness spends it, whose signature covers the amount. */
  readonly hasWitness: boolean;
  readonly fields: Omit<TransactionInputUpdate, 'txid' | 'index'>;
}

const NO_BYTES = new Uint8Array();

/**
 * The PSBT, version 0, of an unsigned transaction.
 *
 * @param spent  in the order of the inputs
 * @throws {PlatformError} SELF_CHECK_FAILED when it is not the transaction of the form
 * @see BIP 174
 */
export function writePsbt(form: TransactionForm, spent: readonly Spent[]): Buffer {
  const psbt = new Transaction({ allowUnknownOutputs: true, allowUnknownInputs: true, disableScriptCheck: true });
  for (const [position, { txid, vout, sequence }] of form.inputs.entries()) {
    const { amount, script, transaction, hasWitness, fields } = spent[position]!;
    const value = {
      ...(transaction && { nonWitnessUtxo: transaction }),
      ...(hasWitness && { witnessUtxo: { amount, script } })
    };
    psbt.addInput({ txid, index: vout, sequence, ...value, ...fields });
  }
  for (const { amount, script } of form.outputs) psbt.addOutput({ amount, script });
  const inputs = form.inputs.map((input) => ({ ...input, unlock: { script: NO_BYTES, witness: [] } }));
  if (!writeBase({ ...form, inputs }).equals(psbt.unsignedTx))
    throw new PlatformError('SELF_CHECK_FAILED', { reason: 'the PSBT holds another transaction than was composed' });
  return Buffer.from(psbt.toPSBT(0));
}
