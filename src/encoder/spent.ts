import type { Funding } from './transaction/compose.ts';
import type { Spent } from './transaction/psbt.ts';
import type { Coin } from './transaction/select-coins.ts';
import type { Sender } from './transaction/sender.ts';

/** A coin, and the transaction that it is an output of where that is known. */
export interface SourcedCoin extends Coin {
  readonly transaction: Uint8Array | null;
}

/** Signers need the whole transactions of a sender's coins: a signature without a witness covers no amount. */
export function needsTransactions({ isSegwit, fields }: Sender): boolean {
  return !isSegwit && fields.redeemScript === undefined;
}

/** What signers of a sender's coins are told. */
export function firstSpent(sender: Sender, coins: readonly SourcedCoin[]): readonly Spent[] {
  const { script, fields } = sender;
  return coins.map(({ amount, transaction }) => ({
    amount,
    script,
    transaction: needsTransactions(sender) ? transaction : null,
    fields
  }));
}

/** What signers of a reveal are told. @param transaction  the one that funds it; its witnesses may be missing */
export function revealSpent({ locked }: Funding, transaction: Uint8Array): readonly Spent[] {
  return locked.map(({ amount, lock }) => ({
    amount,
    script: lock.script,
    transaction: lock.isLegacy ? transaction : null,
    fields: lock.fields
  }));
}
