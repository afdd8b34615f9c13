import { DEFAULT_TERM_S } from '../../coin/action/dispenser.ts';
import { parseTokenAmount } from '../../consensus/amount.ts';
import type { Check, Step } from '../rules/action-definition.ts';
import { orNull, readIndex } from '../rules/checks.ts';
import { LIST_OF_ADDRESSES } from '../state/facts.ts';
import type { Token } from '../state/token.ts';

const COIN_PLACES = 8;
const DAY_S = 86_400;

/** Fields that every offer and every edit of one has. */
export interface OfferFields {
  readonly expirationText: string;
  /** Epoch seconds; null for a text that is no time. */
  readonly expiration: number | null;
  readonly allowText: string;
  readonly blockText: string;
  readonly memo: string;
}

/** Reads the terms of an offer or edit. @param fallback expiration of an offer that names none */
export function readOfferFields({ action: { fields } }: Step, fallback: number | null): OfferFields {
  const expirationText = fields.get('EXPIRATION');
  return {
    expirationText,
    expiration: expirationText === '' ? fallback : readIndex(expirationText),
    allowText: fields.get('ALLOW_LIST'),
    blockText: fields.get('BLOCK_LIST'),
    memo: fields.get('MEMO')
  };
}

/** Returns the expiration of an offer that names none, in epoch seconds. */
export function defaultExpiration({ action: { block } }: Step): number {
  return block.time + DEFAULT_TERM_S;
}

/** Returns the days that an offer is open for, to the nearest one. */
export function termOf(expiration: number, { action: { block } }: Step): { readonly days: number } {
  return { days: Math.round((expiration - block.time) / DAY_S) };
}

/**
 * Returns the days that an edit leaves an offer open for, and those that it had before. An edit that names no
 * EXPIRATION has none, and so has every edit below the height of PAID_EDITS.
 */
export function extensionOf(
  { expiration: before }: { readonly expiration: number },
  { expiration }: Pick<OfferFields, 'expiration'>,
  step: Step
): { readonly days?: number; readonly formerDays?: number } {
  if (expiration === null || !step.rules.isActive('PAID_EDITS', step.action.block.height)) return {};
  return { ...termOf(expiration, step), formerDays: termOf(before, step).days };
}

/** Returns the root of a list of addresses; null for none. The text `0` removes a list. */
export function listRoot(text: string, { ledger }: Step): number | null {
  const index = readIndex(text);
  return index === null || index === 0 ? null : ledger.listRoot(index);
}

/** Returns the terms of a new offer as columns. */
export function termColumns({ expiration, allowText, blockText, memo }: OfferFields, step: Step) {
  return {
    expiration,
    allow_list: listRoot(allowText, step),
    block_list: listRoot(blockText, step),
    memo_id: orNull(memo)
  };
}

/** Returns the terms of an edit as columns. A list of 0 is removed, NULL keeps it. */
export function editedColumns({ expiration, allowText, blockText }: OfferFields, step: Step) {
  const editedList = (text: string) => (text === '0' ? 0 : listRoot(text, step));
  return { expiration, allow_list: editedList(allowText), block_list: editedList(blockText) };
}

/** Returns both lists after an edit. An empty field keeps a list. */
export function editedLists(
  before: { readonly allowList: number | null; readonly blockList: number | null },
  { allowText, blockText }: OfferFields,
  step: Step
) {
  return {
    allowList: allowText === '' ? before.allowList : listRoot(allowText, step),
    blockList: blockText === '' ? before.blockList : listRoot(blockText, step)
  };
}

/** Reads an amount of a token, or of the chain's own coin where there is no token. */
export function readSideAmount(text: string, token: Pick<Token, 'decimals'> | null): bigint | null {
  return parseTokenAmount(text, token?.decimals ?? COIN_PLACES);
}

/** Check `EXPIRATION (format)`. */
export const expirationFormat: Check<OfferFields> = [
  'EXPIRATION (format)',
  ({ expirationText, expiration }) => expirationText !== '' && expiration === null
];

const listChecks = (name: 'ALLOW_LIST' | 'BLOCK_LIST', textOf: (leg: OfferFields) => string): Check<OfferFields>[] => {
  const find = (leg: OfferFields, { ledger }: Step) => {
    const index = readIndex(textOf(leg));
    return index === null ? null : ledger.listHead(index);
  };
  const isNamed = (leg: OfferFields) => textOf(leg) !== '' && textOf(leg) !== '0';
  return [
    [`${name} (unknown)`, (leg, step) => isNamed(leg) && find(leg, step) === null],
    [`${name} (unsupported)`, (leg, step) => isNamed(leg) && find(leg, step)!.type !== LIST_OF_ADDRESSES]
  ];
};

/** Checks `EXPIRATION (past)` and those of both lists. */
export const TERM_CHECKS: readonly Check<OfferFields>[] = [
  ['EXPIRATION (past)', ({ expiration }, { action }) => expiration !== null && expiration <= action.block.time],
  ...listChecks('ALLOW_LIST', ({ allowText }) => allowText),
  ...listChecks('BLOCK_LIST', ({ blockText }) => blockText)
];
