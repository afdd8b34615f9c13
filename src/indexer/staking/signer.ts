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

/** Units on their way back to a staker. */
export interface Cooling {
  /** Of the UNSTAKE. */
  readonly index: number;
  readonly source: string;
  readonly amount: bigint;
  /** At whose end they are back. */
  readonly until: number;
}

/** All that the ledger knows of one key. */
export interface Signer {
  readonly stakes: readonly Stake[];
  readonly delegations: readonly Delegation[];
  /** First block in which a stake's own key, once taken back, signs no more; null while nobody took it back. */
  readonly revokedFrom: number | null;
  /** Of stakes of the key; some may be back by now. */
  readonly cooling: readonly Cooling[];
  /** Whether a SLASH has barred it: it never signs or is staked behind again. */
  readonly isBarred: boolean;
}

/** A key that nobody has named. */
export const NO_SIGNER: Signer = { stakes: [], delegations: [], revokedFrom: null, cooling: [], isBarred: false };

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
export function openStakes({ stakes, isBarred }: Signer, height: number): readonly Stake[] {
  return isBarred ? [] : stakes.filter((stake) => stake.to === null && isActive(stake, height));
}

/** Whether the key is taken: by a stake that has no end or cools down, or for ever when it was taken back or barred. */
export function isStaked({ stakes, revokedFrom, cooling, isBarred }: Signer, height: number): boolean {
  if (isBarred || revokedFrom !== null) return true;
  return cooling.some(({ until }) => until > height) || stakes.some(({ to }) => to === null);
}

/** Whether a delegation holds the key: one that has not ended. */
export function isDelegated({ delegations }: Signer, height: number): boolean {
  return delegations.some(({ to }) => to === null || to > height);
}

/** Sum of amounts, in counts of 10^-18. */
export function sumOf(stakes: readonly Pick<Stake, 'amount'>[]): bigint {
  return stakes.reduce((sum, { amount }) => sum + amount, 0n);
}
