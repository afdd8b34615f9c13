import type { Funding } from './compose.ts';
import type { Spent } from './psbt.ts';
import type { Coin } from './select-coins.ts';
import type { Sender } from './sender.ts';

/** A coin, and the transaction that it is an output of where that is known. */
export interface SourcedCoin extends Coin {
  readonly transaction: Uint8Array | null;
}

/** Signers need the whole transactions of a sender's coins: a signature without a witness covers no amount. */
export function needsTransactions({ isSegwit, redeemScript }: Sender): boolean {
  return !isSegwit && redeemScript === null;
}

/** What signers of a sender's coins are told. */
export function firstSpent(sender: Sender, coins: readonly SourcedCoin[]): readonly Spent[] {
  const { script, redeemScript } = sender;
  return coins.map(({ amount, transaction }) => ({
    amount,
    script,
    transaction: needsTransactions(sender) ? transaction : null,
    fields: redeemScript ? { redeemScript } : {}
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
