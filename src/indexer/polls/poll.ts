export const TALLY_MODES = ['approval', 'split'] as const;
export type TallyMode = (typeof TALLY_MODES)[number];

export const WEIGHT_MODES = ['balance', 'stake', 'flat', 'quadratic'] as const;
export type WeightMode = (typeof WEIGHT_MODES)[number];

/** A valid poll. Amounts are counts of 10^-18. */
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
  readonly quorum: bigint;
  readonly minVoters: number;
  readonly minBalance: bigint;
  /** Weight by which an option wins before the end; null where none does. */
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

/** Reads `0,2`, or `0:60,2:40` where votes are split; a choice without a share has the share 1. @returns null for what is no ballot of the poll */
export function readBallot(text: string, { options, maxSelections, tallyMode }: Poll): Ballot | null {
  const form = tallyMode === 'split' ? /^(\d{1,2})(?::(\d{1,7}))?$/ : /^(\d{1,2})$/;
  const parts = text.split(',', MOST_OPTIONS + 1).map((part) => form.exec(part.trim()));
  const choices = parts.map((part) => ({ option: Number(part?.[1] ?? options), share: Number(part?.[2] ?? 1) }));
  const isGood = choices.every(({ option, share }) => option < options && share >= 1 && share <= MOST_SHARE);
  const isDistinct = new Set(choices.map(({ option }) => option)).size === choices.length;
  return isGood && isDistinct && choices.length <= maxSelections ? choices : null;
}
