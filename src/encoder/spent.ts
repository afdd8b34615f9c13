import { readRawTransaction } from '../coin/raw/raw-transaction.ts';
import type { Funding } from './transaction/compose.ts';
import type { Spent } from './transaction/psbt.ts';
import type { Coin } from './transaction/select-coins.ts';
import type { Sender } from './transaction/sender.ts';

/** A coin, and the transaction that it is an output of where that is known. */
export interface SourcedCoin extends Coin {
  readonly transaction: Uint8Array | null;
}

/** Of coins that can be signed without their transactions, signers are told those of so many coins, in so many bytes. */
const MOST_SPARE = 100;
const MOST_SPARE_BYTES = 1_000_000;
/** With their witnesses, which signers are not told. */
const MOST_SPARE_READ_BYTES = 4_000_000;

/** Bytes of the whole transactions of these coins, witnesses included, that are worth reading for their signers; 0: none. */
export function mostToldBytes({ covers }: Sender, coins: readonly Coin[]): number {
  if (covers === 'no amount') return MOST_TOLD_BYTES;
  return covers === 'own amount' && coins.length <= MOST_SPARE ? MOST_SPARE_READ_BYTES : 0;
}

/**
 * What signers of a sender's coins are told: the whole transactions too, because a signature without a witness covers no amount and
 * many signers ask for them in any case. A taproot signature covers all amounts.
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

/** What signers of a reveal are told. @param transaction  the one that funds it; its witnesses may be missing */
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

/** Signers read the usual form of a transaction alone: none with a part of an extension block. */
function withoutWitnesses(transaction: Uint8Array): Uint8Array {
  return readRawTransaction(Buffer.from(transaction)).baseBytes;
}

/** Signers are told at most so many bytes of whole transactions, each as often as it is spent from. */
export const MOST_TOLD_BYTES = 10 * 2 ** 20;

/** Coins behind those whose transactions together are as long as signers are told. Without a witness there is no shorter way. */
export function tooLongToTell<C extends SourcedCoin>({ covers }: Sender, coins: readonly C[]): readonly C[] {
  let told = 0;
  return coins.filter(({ transaction }) => {
    told += transaction?.length ?? 0;
    return covers === 'no amount' && told > MOST_TOLD_BYTES;
  });
}
