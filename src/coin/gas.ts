import type { Profile } from './profile.ts';

/** What an action does, as far as it costs gas. */
export interface GasSubject {
  /** Of an ISSUE: the name has a point. */
  readonly subtoken?: boolean | undefined;
  /** Of AIRDROP, DIVIDEND and CALLBACK: how many get something. */
  readonly recipients?: number | undefined;
  /** Of a SWEEP what it moves, of a LIST what an edit changes. */
  readonly items?: number | undefined;
  /** Of an offer: how long it stays open. */
  readonly days?: number | undefined;
  /** Of an offer: it gives a token's ownership. */
  readonly ownership?: boolean | undefined;
  /** Of a LIST that other chains have too: it edits one. Lists of one chain cost nothing. */
  readonly edit?: boolean | undefined;
  /** Of a LIST: other chains are to have it, or have it. */
  readonly shared?: boolean | undefined;
}

type Schedule = Profile['gas'];
type Cost = (gas: Schedule, subject: GasSubject) => number;

/** An offer costs nothing for this long. */
const FREE_DAYS = 90;

const each: Cost = (gas, { recipients = 1 }) => recipients * gas.recipient;
const offer: Cost = (gas, { days = 0, ownership = false }) =>
  Math.max(0, days - FREE_DAYS) * gas.offerDay + (ownership ? gas.offerOwnership : 0);

const COSTS: Readonly<Record<string, Cost>> = {
  ISSUE: (gas, { subtoken = false }) => (subtoken ? gas.issueSubtoken : gas.issue),
  ...{ AIRDROP: each, DIVIDEND: each },
  CALLBACK: (gas, subject) => gas.callback + each(gas, subject),
  ...{ ORDER: offer, SWAP: offer, DISPENSER: offer },
  SWEEP: (gas, { items = 1 }) => gas.sweep + items * gas.item,
  LIST: (gas, { shared = false, edit = false, items = 0 }) =>
    shared ? (edit ? gas.listEdit + items * gas.listItem : gas.listShare) : 0
};

/** Gas that an action costs by a profile's schedule; 0 for actions that cost none. @param action its full name */
export function gasOf({ gas }: Pick<Profile, 'gas'>, action: string, subject: GasSubject = {}): number {
  return COSTS[action]?.(gas, subject) ?? 0;
}
