import { parseAmount } from '../../consensus/amount.ts';

export const TALLY_MODES = ['approval', 'split'] as const;
export type TallyMode = (typeof TALLY_MODES)[number];

export const WEIGHT_MODES = ['balance', 'stake', 'flat', 'quadratic'] as const;
export type WeightMode = (typeof WEIGHT_MODES)[number];

/** The share of a token's supply that is all of it. */
export const WHOLE_SUPPLY = parseAmount('1')!;

/** A valid poll. Amounts are counts of 10^-18, and so are shares of the token's supply. */
export interface Poll {
  /** Of the action that made it. */
  readonly index: number;
  readonly source: string;
  /** Who holds it may vote. */
  readonly tick: string;
  /** At whose end it closes. */
  readonly endBlock: number;
  /** How many there are. */
  readonly options: number;
  readonly maxSelections: number;
  readonly tallyMode: TallyMode;
  readonly weightMode: WeightMode;
  /** Share of the supply that voters must hold. */
  readonly quorum: bigint;
  readonly minVoters: number;
  readonly minBalance: bigint;
  /** Share of the supply that an option's voters hold where it wins before the end; null where none does. */
  readonly threshold: bigint | null;
  readonly deposit: bigint;
  readonly isOpen: boolean;
  /** Block of its newest ballot; 0 before the first. */
  readonly lastBallot: number;
}

/** One option that a voter is for. */
export interface Choice {
  readonly option: number;
  /** Against the shares of the other choices of a split vote. */
  readonly share: number;
}
export type Ballot = readonly Choice[];

/** The one key of the fact that lists the open polls. */
export const OPEN_POLLS = 'all';

export const MOST_OPTIONS = 32;
const MOST_SHARE = 1_000_000;

/** The key of a voter's ballot. */
export function ballotKey(poll: number, address: string): string {
  return `${poll}|${address}`;
}

/** A ballot, or the status of what is none. */
export type ReadBallot = { readonly ballot: Ballot } | { readonly fault: BallotFault };
/** In the order in which they are told. */
export const BALLOT_FAULTS = [
  'BALLOT (empty)',
  'BALLOT (exceeds MAX_SELECTIONS)',
  'BALLOT (option index out of range)',
  'BALLOT (duplicate option)',
  'BALLOT (share must be > 0 in split mode)'
] as const;
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

/** @returns 0 for what is no share */
function readShare(text: string): number {
  const share = /^\d{1,7}$/.test(text.trim()) ? Number(text) : 0;
  return share <= MOST_SHARE ? share : 0;
}
