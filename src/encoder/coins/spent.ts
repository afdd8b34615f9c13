import { readRawTransaction } from '../../coin/raw/raw-transaction.ts';
import type { Funding } from '../transaction/compose.ts';
import type { Spent } from '../transaction/psbt.ts';
import type { Coin } from '../transaction/select-coins.ts';
import type { Sender } from '../transaction/sender.ts';

/** A coin with the transaction that created it; null when that is not known. */
export interface SourcedCoin extends Coin {
  readonly transaction: Uint8Array | null;
}

/** Most coins whose transactions go into a PSBT although their signatures do not need them. */
const MOST_SPARE = 100;
/** Most bytes of such transactions, without witnesses. */
const MOST_SPARE_BYTES = 1_000_000;
/** Most bytes of such transactions to read, with witnesses, which the PSBT leaves out. */
const MOST_SPARE_READ_BYTES = 4_000_000;

/** Returns how many bytes of the coins' transactions, witnesses included, are worth reading for the PSBT; 0: none. */
export function mostSourceBytes({ covers }: Sender, coins: readonly Coin[]): number {
  if (covers === 'no amount') return MOST_PSBT_SOURCE_BYTES;
  return covers === 'own amount' && coins.length <= MOST_SPARE ? MOST_SPARE_READ_BYTES : 0;
}

/**
 * Returns the PSBT fields of the sender's coins.
 *
 * They include the whole transactions: a signature without a witness does not cover amounts, and many signers ask for
 * them anyway. A taproot signature covers all amounts and needs none.
 */
export function firstSpent({ script, fields, covers }: Sender, coins: readonly SourcedCoin[]): readonly Spent[] {
  const bases = new Map<Uint8Array, Uint8Array>();
  const transactions = coins.map(({ transaction }) => {
    if (covers === 'all amounts' || !transaction) return null;
    const base = bases.get(transaction) ?? withoutWitnesses(transaction);
    bases.set(transaction, base);
    return base;
  });
  const sizeBytes = transactions.reduce((sum, bytes) => sum + (bytes?.length ?? 0), 0);
  const isSpare = covers !== 'no amount' && (sizeBytes > MOST_SPARE_BYTES || transactions.includes(null));
  return coins.map(({ amount }, at) => ({
    amount,
    script,
    transaction: isSpare ? null : transactions[at]!,
    hasWitness: covers !== 'no amount',
    fields
  }));
}

/** Returns the PSBT fields of a reveal's inputs. @param transaction the one that funds it, with or without witnesses */
export function revealSpent({ locked }: Funding, transaction: Uint8Array): readonly Spent[] {
  const funding = withoutWitnesses(transaction);
  return locked.map(({ amount, lock }) => ({
    amount,
    script: lock.script,
    transaction: lock.covers === 'all amounts' ? null : funding,
    hasWitness: lock.covers !== 'no amount',
    fields: lock.fields
  }));
}

/** Removes witnesses and the part of an extension block: signers read the base form only. */
function withoutWitnesses(transaction: Uint8Array): Uint8Array {
  return readRawTransaction(Buffer.from(transaction)).baseBytes;
}

/** Most bytes of whole transactions in one PSBT, each counted as often as it is spent from. */
export const MOST_PSBT_SOURCE_BYTES = 10 * 2 ** 20;

/**
 * Returns the coins whose transactions do not fit one PSBT. A signature without a witness needs the whole transaction.
 */
export function tooLongForPsbt<C extends SourcedCoin>({ covers }: Sender, coins: readonly C[]): readonly C[] {
  let bytes = 0;
  return coins.filter(({ transaction }) => {
    bytes += transaction?.length ?? 0;
    return covers === 'no amount' && bytes > MOST_PSBT_SOURCE_BYTES;
  });
}
