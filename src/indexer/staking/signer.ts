/** A valid row of `stakes`. */
export interface Stake {
  /** Of the action that wrote it. */
  readonly index: number;
  readonly source: string;
  readonly amount: bigint;
  /** First block in which it counts. */
  readonly from: number;
  /** First block in which it counts no more; null while nobody has ended it. */
  readonly to: number | null;
}

/** A valid row of `delegations`: a second key that signs for a stake. */
export type Delegation = Omit<Stake, 'amount'>;

/** All that the ledger knows of one key. */
export interface Signer {
  readonly stakes: readonly Stake[];
  readonly delegations: readonly Delegation[];
  /** Whether a stake's own key was taken back. */
  readonly isRevoked: boolean;
  /** The last block in which a stake of the key cools down; 0 when none ever did. */
  readonly coolsUntil: number;
}

/** A key that nobody has named. */
export const NO_SIGNER: Signer = { stakes: [], delegations: [], isRevoked: false, coolsUntil: 0 };

/** Units on their way back to a staker. */
export interface Cooling {
  /** Of the UNSTAKE. */
  readonly index: number;
  readonly source: string;
  readonly amount: bigint;
}

const PUBKEY = /^[0-9a-f]{64}$/;

/** A key as it is stored; null for a text that is none. */
export function readPubkey(text: string): string | null {
  const lower = text.toLowerCase();
  return PUBKEY.test(lower) ? lower : null;
}

/** Whether it counts in a block. */
export function isActive({ from, to }: Pick<Stake, 'from' | 'to'>, height: number): boolean {
  return from <= height && (to === null || to > height);
}

/** The stakes of a key that an UNSTAKE ends and a top-up joins: they count, and have no end. */
export function openStakes({ stakes }: Signer, height: number): readonly Stake[] {
  return stakes.filter((stake) => stake.to === null && isActive(stake, height));
}

/** Whether a stake holds the key: one that has no end, one that cools down, or one whose key was taken back. */
export function isStaked({ stakes, isRevoked, coolsUntil }: Signer, height: number): boolean {
  return isRevoked || coolsUntil > height || stakes.some(({ to }) => to === null);
}

/** Whether a delegation holds the key: one that has not ended. */
export function isDelegated({ delegations }: Signer, height: number): boolean {
  return delegations.some(({ to }) => to === null || to > height);
}

/** Sum of amounts, in counts of 10^-18. */
export function sumOf(stakes: readonly Pick<Stake, 'amount'>[]): bigint {
  return stakes.reduce((sum, { amount }) => sum + amount, 0n);
}
