import { type ActionPlace, type Attestation, isOpen, type Matter, type MatterKind, type Reorg } from './records.ts';

/** Rules of matters that all hubs of a set share. */
export interface MatterRules {
  /** Keys of the set, in ascending order. */
  readonly keys: readonly string[];
  /** Hubs that may lie. */
  readonly faulty: number;
  /** Time for which a proposal can be voted on, in milliseconds. */
  readonly votingPeriodMs: number;
  /** Values of parameters that all hubs of the set have alike, by their names in capital letters. */
  readonly settings: ReadonlyMap<string, string>;
  /** Whether a hub signed a statement, for this set. */
  readonly isSigned: (statement: Statement, pubkey: string, sig: string) => boolean;
}

/** Facts of the log that a step is decided by. */
export interface MatterFacts {
  /** At least those that the step names or may concern. @see wantedBy */
  readonly matters: readonly Matter[];
  /** Hubs that qualify for statements about chains, in ascending order. */
  readonly qualified: readonly string[];
  /** Number of the next matter of the step's kind. */
  readonly next: number;
  /** Open matters of the step's kind that its submitter began. */
  readonly open: number;
  /** Matters of that kind that it began lately. @see BOUNDS */
  readonly lately: number;
}

/** Bounds of what one hub begins, by kind. */
interface Bounds {
  /** Matters that are open at once. */
  readonly open: number;
  /** Matters that are begun within a time. */
  readonly lately: number;
  readonly withinMs: number;
}

const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** @see Bounds */
export const BOUNDS: Readonly<Record<MatterKind, Bounds>> = {
  attestation: { open: 100, lately: 200, withinMs: HOUR_MS },
  // As many as are begun within the time that one takes, and some that take longer.
  swap: { open: 1_500, lately: 200, withinMs: HOUR_MS },
  reorg: { open: 20, lately: 60, withinMs: HOUR_MS },
  proposal: { open: 10, lately: 40, withinMs: 14 * DAY_MS }
};
/** Time for words about an action: its chain may have to grow by some blocks. */
export const ATTESTATION_MS = 6 * HOUR_MS;
/** Time for which both actions of a swap must have been attested before it is settled: a reorg would show meanwhile. */
export const SETTLE_MS = 6 * HOUR_MS;
/** Time for words about a reorg. */
export const REORG_MS = HOUR_MS;
/** Pause between two reports of one hub about one chain. */
export const REPORT_PAUSE_MS = 60_000;
/** Matters of each kind that are kept of each hub when they are over: more than it may begin lately, so that all of these count. */
export const KEPT_MATTERS = 250;
/** Time for which each matter is kept: a swap needs the attestations of its actions until it is settled. */
export const KEPT_FOR_MS = ATTESTATION_MS + SETTLE_MS + HOUR_MS;
/** Time for which a confirmed report is kept, so that it counts once: until no node takes the same blocks for news. */
export const REORG_KEPT_MS = 7 * DAY_MS;
/** Age from which a swap is over that was neither settled nor failed: its other action never came. */
export const SWAP_LIFE_MS = 30 * DAY_MS;

/** Statuses of a swap that is under way. */
export const SWAP_UNDER_WAY = ['initiated', 'attested', 'executed'] as const;

/** Returns whether a matter counts as one that its hub has begun and that is not over. @param time  clock of the log */
export function isUnderWay(matter: Matter, time: number): boolean {
  if (matter.kind !== 'swap') return isOpen(matter);
  return SWAP_UNDER_WAY.some((status) => status === matter.status) && matter.begunAt > time - SWAP_LIFE_MS;
}

/** Statement about a chain, as hubs sign it one by one. */
export type Statement =
  | ({
      readonly attestation: string;
      readonly chain: string;
      readonly index: number;
      readonly destination: string;
    } & ActionPlace)
  | {
      readonly reorg: string;
      readonly chain: string;
      readonly height: number;
      readonly oldHash: string;
      readonly newHash: string;
    };

/** Returns what hubs sign of an action that they found. */
export function actionStatement(
  { id, chain, index, destination }: Pick<Attestation, 'id' | 'chain' | 'index' | 'destination'>,
  { action, height, hash }: ActionPlace
): Statement {
  return { attestation: id, chain, index, destination, action, height, hash };
}

/** Returns what hubs sign of a reorg that they have seen. */
export function reorgStatement({
  id,
  chain,
  height,
  oldHash,
  newHash
}: Pick<Reorg, 'id' | 'chain' | 'height' | 'oldHash' | 'newHash'>): Statement {
  return { reorg: id, chain, height, oldHash, newHash };
}
