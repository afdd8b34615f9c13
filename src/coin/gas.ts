import type { Profile } from './profile.ts';

/** Facts about an action that decide its gas. */
export interface GasSubject {
  /** ISSUE: whether the name has a point. */
  readonly subtoken?: boolean | undefined;
  /** AIRDROP, DIVIDEND and CALLBACK: number of recipients. */
  readonly recipients?: number | undefined;
  /** SWEEP: number of items moved. LIST: number of items that an edit changes. */
  readonly items?: number | undefined;
  /** Offers: days that it stays open. */
  readonly days?: number | undefined;
  /** Edits of offers: days that it would have stayed open. */
  readonly formerDays?: number | undefined;
  /** Offers: whether it gives ownership of a token. */
  readonly ownership?: boolean | undefined;
  /** LIST: whether it edits a list. Lists of one chain cost nothing. */
  readonly edit?: boolean | undefined;
  /** LIST: whether other chains have the list, or will. */
  readonly shared?: boolean | undefined;
}

type Schedule = Profile['gas'];
type Cost = (gas: Schedule, subject: GasSubject) => number;

/** Days for which an offer is free. */
const FREE_DAYS = 90;

const each: Cost = (gas, { recipients = 1 }) => recipients * gas.recipient;
const paidDays = (days: number) => Math.max(0, days - FREE_DAYS);
const offer: Cost = (gas, { days = 0, ownership = false }) =>
  paidDays(days) * gas.offerDay + (ownership ? gas.offerOwnership : 0);
const offerEdit: Cost = (gas, { days = 0, formerDays = 0 }) =>
  Math.max(0, paidDays(days) - paidDays(formerDays)) * gas.offerDay;

const COSTS: Readonly<Record<string, Cost>> = {
  ISSUE: (gas, { subtoken = false }) => (subtoken ? gas.issueSubtoken : gas.issue),
  AIRDROP: each,
  DIVIDEND: each,
  CALLBACK: (gas, subject) => gas.callback + each(gas, subject),
  ORDER: offer,
  SWAP: offer,
  DISPENSER: offer,
  ORDER_EDIT: offerEdit,
  SWAP_EDIT: offerEdit,
  DISPENSER_EDIT: offerEdit,
  SWEEP: (gas, { items = 1 }) => gas.sweep + items * gas.item,
  LIST: (gas, { shared = false, edit = false, items = 0 }) =>
    shared ? (edit ? gas.listEdit + items * gas.listItem : gas.listShare) : 0
};

/** Returns the gas of an action by a profile's schedule; 0 for free actions. @param action its full name */
export function gasOf({ gas }: Pick<Profile, 'gas'>, action: string, subject: GasSubject = {}): number {
  return COSTS[action]?.(gas, subject) ?? 0;
}
