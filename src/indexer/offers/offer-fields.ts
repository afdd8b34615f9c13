import { parseTokenAmount } from '../../consensus/amount.ts';
import type { Check, Step } from '../rules/action-definition.ts';
import { readIndex } from '../rules/checks.ts';
import { LIST_OF_ADDRESSES, type Token } from '../state/state.ts';

const COIN_PLACES = 8;
const DEFAULT_TERM_S = 90 * 86_400;

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

/** The root of a list of addresses; null for none. `0` takes a list away. */
export function listRoot(text: string, { ledger }: Step): number | null {
  const index = readIndex(text);
  return index === null || index === 0 ? null : (ledger.list(index)?.root ?? null);
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
