import type { TransactionInputUpdate } from '@scure/btc-signer/psbt.js';
import { Transaction } from '@scure/btc-signer/transaction.js';
import { ByteCursor } from '../../coin/raw/byte-cursor.ts';
import { varInt } from '../../coin/raw/byte-writer.ts';
import { type TransactionForm, writeBase } from '../../coin/raw/transaction-form.ts';
import { PlatformError } from '../../errors.ts';

/** PSBT fields of one input, beside its outpoint. */
export interface Spent {
  readonly amount: bigint;
  readonly script: Uint8Array;
  /** The whole transaction without witnesses; null to leave it out. */
  readonly transaction: Uint8Array | null;
  /** Whether a witness spends it: its signature covers the amount. */
  readonly hasWitness: boolean;
  readonly fields: Omit<TransactionInputUpdate, 'txid' | 'index'>;
}

const NO_BYTES = new Uint8Array();

/**
 * Writes the PSBT, version 0, of an unsigned transaction.
 *
 * @param spent in the order of the inputs
 * @throws {PlatformError} SELF_CHECK_FAILED when the PSBT holds another transaction than the form
 * @see BIP 174
 */
export function writePsbt(form: TransactionForm, spent: readonly Spent[]): Buffer {
  const psbt = new Transaction({ allowUnknownOutputs: true, allowUnknownInputs: true, disableScriptCheck: true });
  for (const [position, { txid, vout, sequence }] of form.inputs.entries()) {
    const { amount, script, hasWitness, fields } = spent[position]!;
    const value = hasWitness && { witnessUtxo: { amount, script } };
    psbt.addInput({ txid, index: vout, sequence, ...value, ...fields });
  }
  for (const { amount, script } of form.outputs) psbt.addOutput({ amount, script });
  const inputs = form.inputs.map((input) => ({ ...input, unlock: { script: NO_BYTES, witness: [] } }));
  if (!writeBase({ ...form, inputs }).equals(psbt.unsignedTx))
    throw new PlatformError('SELF_CHECK_FAILED', { reason: 'the PSBT holds another transaction than was composed' });
  const transactions = spent.map(({ transaction }) => transaction);
  return withTransactions(Buffer.from(psbt.toPSBT(0)), transactions);
}

/** Key of the field for a whole transaction, the first in the map of an input. @see BIP 174 */
const NON_WITNESS_UTXO = Buffer.from([1, 0]);
const MAGIC_BYTES = 5;

/**
 * Adds whole transactions to the inputs of a PSBT by copying bytes.
 *
 * The library would parse and hash each transaction once per input, which takes minutes when hundreds of coins come
 * from one large transaction.
 */
function withTransactions(psbt: Buffer, transactions: readonly (Uint8Array | null)[]): Buffer {
  const cursor = new ByteCursor(psbt);
  cursor.skip(MAGIC_BYTES);
  skipMap(cursor);
  const parts = [psbt.subarray(0, cursor.offset)];
  for (const transaction of transactions) {
    const start = cursor.offset;
    skipMap(cursor);
    if (transaction) parts.push(NON_WITNESS_UTXO, varInt(transaction.length), Buffer.from(transaction));
    parts.push(psbt.subarray(start, cursor.offset));
  }
  parts.push(psbt.subarray(cursor.offset));
  return Buffer.concat(parts);
}

/** Skips keys and values up to the empty key that ends the map. */
function skipMap(cursor: ByteCursor): void {
  for (let key = cursor.varInt(); key > 0; key = cursor.varInt()) {
    cursor.skip(key);
    cursor.skip(cursor.varInt());
  }
}
