import { formatAmount } from '../../consensus/amount.ts';
import { COINS } from '../profile/rules.ts';
import type { Step } from '../rules/action-definition.ts';
import { orNull, tickColumn } from '../rules/checks.ts';
import type { Side } from '../state/offer.ts';
import type { Token } from '../state/token.ts';
import { readSideAmount } from './offer-fields.ts';
import { ONE } from './units.ts';

/** Fields of one side of a new offer. */
export interface SideFields {
  /** Ticker of the coin, in capitals. */
  readonly coin: string;
  readonly tickText: string;
  /** Token; null for the chain's own coin and for an unknown ticker. */
  readonly token: Token | null;
  readonly amountText: string;
  /** Amount; null for a text that is no amount of the token. */
  readonly amount: bigint | null;
  /** `1` where the side is an ownership. */
  readonly ownership: string;
}

/** Both sides of a new offer. */
export interface OfferSides {
  readonly give: SideFields;
  readonly get: SideFields;
}

/** Reads the fields of both sides. A field that the format lacks is empty. */
export function readSides(step: Step): OfferSides {
  return { give: readSide(step, 'GIVE'), get: readSide(step, 'GET') };
}

function readSide({ action: { fields }, ledger }: Step, name: 'GIVE' | 'GET'): SideFields {
  const tickText = fields.get(`${name}_TICK`);
  const token = ledger.token(tickText);
  const amountText = fields.get(`${name}_AMOUNT`);
  return {
    coin: fields.get(`${name}_COIN`).toUpperCase(),
    tickText,
    token,
    amountText,
    amount: readSideAmount(amountText, token),
    ownership: fields.get(`${name}_OWNERSHIP`)
  };
}

/** Returns whether a side is an ownership. */
export const isOwnership = ({ ownership }: Pick<SideFields, 'ownership'>): boolean => ownership === '1';

/** Returns the side as the offer keeps it. */
export function sideOf(fields: SideFields): Side {
  return {
    tick: fields.token?.tick ?? null,
    amount: isOwnership(fields) ? ONE : fields.amount!,
    isOwnership: isOwnership(fields)
  };
}

/** Returns the columns of both sides that every table of offers has, for refused offers too. */
export function sideColumns({ give, get }: OfferSides, step: Step) {
  return {
    give_coin_id: COINS.has(give.coin) ? give.coin : null,
    give_tick_id: tickColumn(step, give.tickText, give.token),
    give_amount: amountColumn(give.amount, give.amountText),
    give_ownership: Number(isOwnership(give)),
    get_coin_id: COINS.has(get.coin) ? get.coin : null,
    get_tick_id: tickColumn(step, get.tickText, get.token),
    get_amount: amountColumn(get.amount, get.amountText)
  };
}

/** Returns an amount as rows keep it. A text that is no amount stays as written, an empty text is NULL. */
export function amountColumn(amount: bigint | null, text: string): string | null {
  return amount === null || text === '' ? orNull(text) : formatAmount(amount);
}
