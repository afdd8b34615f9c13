import { DEFAULT_TERM_S } from '../../coin/action/dispenser.ts';
import { parseTokenAmount } from '../../consensus/amount.ts';
import type { Check, Step } from '../rules/action-definition.ts';
import { orNull, readIndex } from '../rules/checks.ts';
import { LIST_OF_ADDRESSES } from '../state/facts.ts';
import type { Token } from '../state/token.ts';

const COIN_PLACES = 8;
const DAY_S = 86_400;

/** What every offer and every edit of one says. */
export interface OfferFields {
  readonly expirationText: string;
  /** Epoch seconds; null for what is no time. */
  readonly expiration: number | null;
  readonly allowText: string;
  readonly blockText: string;
  readonly memo: string;
}

/** @param fallback  expiration of an offer that says none */
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

/** When an offer ends that does not say it. */
export function defaultExpiration({ action: { block } }: Step): number {
  return block.time + DEFAULT_TERM_S;
}

/** Days that an offer is open for, to the nearest one. */
export function termOf(expiration: number, { action: { block } }: Step): { readonly days: number } {
  return { days: Math.round((expiration - block.time) / DAY_S) };
}

/** The root of a list of addresses; null for none. `0` takes a list away. */
export function listRoot(text: string, { ledger }: Step): number | null {
  const index = readIndex(text);
  return index === null || index === 0 ? null : (ledger.list(index)?.root ?? null);
}

/** The terms of a new offer as columns. */
export function termColumns({ expiration, allowText, blockText, memo }: OfferFields, step: Step) {
  return {
    expiration,
    allow_list: listRoot(allowText, step),
    block_list: listRoot(blockText, step),
    memo_id: orNull(memo)
  };
}

/** The terms of an edit as columns: a list of 0 is taken away, NULL leaves it. */
export function editedColumns({ expiration, allowText, blockText }: OfferFields, step: Step) {
  const editedList = (text: string) => (text === '0' ? 0 : listRoot(text, step));
  return { expiration, allow_list: editedList(allowText), block_list: editedList(blockText) };
}

/** Both lists after an edit: an empty field leaves one as it is. */
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

/** An amount of a token, or of the chain's own coin where there is none. */
export function readSideAmount(text: string, token: Pick<Token, 'decimals'> | null): bigint | null {
  return parseTokenAmount(text, token?.decimals ?? COIN_PLACES);
}

/** `EXPIRATION (format)`. */
export const expirationFormat: Check<OfferFields> = [
  'EXPIRATION (format)',
  ({ expirationText, expiration }) => expirationText !== '' && expiration === null
];

const listChecks = (name: 'ALLOW_LIST' | 'BLOCK_LIST', textOf: (leg: OfferFields) => string): Check<OfferFields>[] => {
  const find = (leg: OfferFields, { ledger }: Step) => ledger.list(readIndex(textOf(leg)) ?? 0);
  const isNamed = (leg: OfferFields) => textOf(leg) !== '' && textOf(leg) !== '0';
  return [
    [`${name} (unknown)`, (leg, step) => isNamed(leg) && find(leg, step) === null],
    [`${name} (unsupported)`, (leg, step) => isNamed(leg) && find(leg, step)!.list.type !== LIST_OF_ADDRESSES]
  ];
};

/** `EXPIRATION (past)` and the checks of both lists. */
export const TERM_CHECKS: readonly Check<OfferFields>[] = [
  ['EXPIRATION (past)', ({ expiration }, { action }) => expiration !== null && expiration <= action.block.time],
  ...listChecks('ALLOW_LIST', ({ allowText }) => allowText),
  ...listChecks('BLOCK_LIST', ({ blockText }) => blockText)
];
