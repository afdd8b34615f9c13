import { parseAmount } from '../../consensus/amount.ts';

/** Ways to count a ballot with several options; the first is the default. */
export const TALLY_MODES = ['approval', 'split'] as const;
/** Way to count a ballot with several options. */
type TallyMode = (typeof TALLY_MODES)[number];

/** Ways to weigh a voter; the first is the default. */
export const WEIGHT_MODES = ['balance', 'stake', 'flat', 'quadratic'] as const;
/** Way to weigh a voter. */
type WeightMode = (typeof WEIGHT_MODES)[number];

/** Share of a token's supply that is all of it. */
export const WHOLE_SUPPLY = parseAmount('1')!;

/** Valid poll. Amounts and shares of the token's supply are counts of 10^-18. */
export interface Poll {
  /** Index of the action that made it. */
  readonly index: number;
  readonly source: string;
  /** Ticker of the token whose holders may vote. */
  readonly tick: string;
  /** Block at whose end it closes. */
  readonly endBlock: number;
  /** Number of options. */
  readonly options: number;
  readonly maxSelections: number;
  readonly tallyMode: TallyMode;
  readonly weightMode: WeightMode;
  /** Share of the supply that voters must hold. */
  readonly quorum: bigint;
  readonly minVoters: number;
  readonly minBalance: bigint;
  /** Share of the supply with which an option wins before the end; null where none does. */
  readonly threshold: bigint | null;
  readonly deposit: bigint;
  readonly isOpen: boolean;
  /** Block of its newest ballot; 0 before the first. */
  readonly lastBallot: number;
}

/** Option that a voter chose. */
export interface Choice {
  readonly option: number;
  /** Weight among the shares of the voter's other choices. */
  readonly share: number;
}
/** Choices of a voter. */
export type Ballot = readonly Choice[];

/** Most options of a poll. */
export const MOST_OPTIONS = 32;
const MOST_SHARE = 1_000_000;

/** Returns the key of a voter's ballot. */
export function ballotKey(poll: number, address: string): string {
  return `${poll}|${address}`;
}

/** Ballot, or the status of a text that is none. */
type ReadBallot = { readonly ballot: Ballot } | { readonly fault: BallotFault };
/** Faults of a ballot, in the order in which they are checked. */
export const BALLOT_FAULTS = [
  'BALLOT (empty)',
  'BALLOT (exceeds MAX_SELECTIONS)',
  'BALLOT (option index out of range)',
  'BALLOT (duplicate option)',
  'BALLOT (share must be > 0 in split mode)'
] as const;
/** Status of a badly formed ballot. */
export type BallotFault = (typeof BALLOT_FAULTS)[number];

/** Reads `0,2`, or `0:60,2:40` where votes are split; a choice without a share has the share 1. */
export function readBallot(text: string, { options, maxSelections, tallyMode }: Poll): ReadBallot {
  if (text === '') return { fault: 'BALLOT (empty)' };
  const form = tallyMode === 'split' ? /^(\d{1,2})(?::(.*))?$/ : /^(\d{1,2})$/;
  const parts = text.split(',', MOST_OPTIONS + 1).map((part) => form.exec(part.trim()));
  const choices = parts.map((part) => ({ option: Number(part?.[1] ?? options), share: readShare(part?.[2] ?? '1') }));
  if (choices.length > maxSelections) return { fault: 'BALLOT (exceeds MAX_SELECTIONS)' };
  if (choices.some(({ option }) => option >= options)) return { fault: 'BALLOT (option index out of range)' };
  if (new Set(choices.map(({ option }) => option)).size < choices.length) return { fault: 'BALLOT (duplicate option)' };
  if (choices.some(({ share }) => share === 0)) return { fault: 'BALLOT (share must be > 0 in split mode)' };
  return { ballot: choices };
}

/** Reads a share from 1 up. @returns 0 for any other text */
function readShare(text: string): number {
  const share = /^\d{1,7}$/.test(text.trim()) ? Number(text) : 0;
  return share <= MOST_SHARE ? share : 0;
}
