/** Valid row of `stakes`. */
export interface Stake {
  /** Index of the action that wrote it. */
  readonly index: number;
  readonly source: string;
  readonly amount: bigint;
  /** First block in which it counts. */
  readonly from: number;
  /** First block in which it no longer counts; null while nobody has ended it. */
  readonly to: number | null;
}

/** Valid row of `delegations`: a second key that signs for a stake. */
export type Delegation = Omit<Stake, 'amount'>;

/** Units on their way back to a staker. */
export interface Cooling {
  /** Index of the UNSTAKE. */
  readonly index: number;
  readonly source: string;
  readonly amount: bigint;
  /** Block at whose end the units are back. */
  readonly until: number;
}

/** Everything that the ledger knows of one signing key. */
export interface Signer {
  readonly stakes: readonly Stake[];
  readonly delegations: readonly Delegation[];
  /** First block in which a stake's own key, once revoked, no longer signs; null while nobody revoked it. */
  readonly revokedFrom: number | null;
  /** Units of the key's stakes in cooldown. Some may be back by now. */
  readonly cooling: readonly Cooling[];
  /** Whether a SLASH has banned it: it never signs again, and nobody can stake behind it. */
  readonly isBanned: boolean;
}

/** State of a key that nobody has named. */
export const NO_SIGNER: Signer = { stakes: [], delegations: [], revokedFrom: null, cooling: [], isBanned: false };

const PUBKEY = /^[0-9a-f]{64}$/;

/** Returns a key as it is stored; null for any other text. */
export function readPubkey(text: string): string | null {
  const lower = text.toLowerCase();
  return PUBKEY.test(lower) ? lower : null;
}

/** Returns whether a stake or delegation counts in a block. */
export function isActive({ from, to }: Pick<Stake, 'from' | 'to'>, height: number): boolean {
  return from <= height && (to === null || to > height);
}

/** Returns the stakes of a key that an UNSTAKE ends and a top-up joins: they count, and have no end. */
export function openStakes({ stakes, isBanned }: Signer, height: number): readonly Stake[] {
  return isBanned ? [] : stakes.filter((stake) => stake.to === null && isActive(stake, height));
}

/**
 * Returns whether a key is taken: by a stake that has no end or cools down, or for ever once it was revoked or banned.
 */
export function isStaked({ stakes, revokedFrom, cooling, isBanned }: Signer, height: number): boolean {
  if (isBanned || revokedFrom !== null) return true;
  return cooling.some(({ until }) => until > height) || stakes.some(({ to }) => to === null);
}

/** Returns whether a delegation that has not ended holds the key. */
export function isDelegated({ delegations }: Signer, height: number): boolean {
  return delegations.some(({ to }) => to === null || to > height);
}

/** Returns the sum of amounts, in counts of 10^-18. */
export function sumOf(stakes: readonly Pick<Stake, 'amount'>[]): bigint {
  return stakes.reduce((sum, { amount }) => sum + amount, 0n);
}
