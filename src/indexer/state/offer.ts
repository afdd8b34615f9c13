import { tickKey } from './keys.ts';

/** Side of an offer: a ticker and an amount. The ownership of a token counts as one unit of it. */
export interface Side {
  /** Ticker; null for the chain's own coin. */
  readonly tick: string | null;
  readonly amount: bigint;
  readonly isOwnership: boolean;
}

interface BaseOffer {
  /** Index of the action that made it. */
  readonly index: number;
  /** Newest status, as it is stored. */
  readonly status: string;
  /** Epoch seconds; the offer ends in the first block whose median time is above. */
  readonly expiration: number;
}

/** ORDER or SWAP. */
export interface Trade extends BaseOffer {
  readonly kind: 'order' | 'swap';
  readonly source: string;
  readonly give: Side;
  readonly get: Side;
  /** Amounts that no match has used. */
  readonly giveLeft: bigint;
  readonly getLeft: bigint;
  readonly getAddress: string;
  readonly allowList: number | null;
  readonly blockList: number | null;
  /** Address that gets the escrow of a match that is never paid. */
  readonly refundAddress: string;
}

/** Lists of a dispenser from a time on. */
export interface DispenserLists {
  readonly from: number;
  readonly allowList: number | null;
  readonly blockList: number | null;
}

/** A DISPENSER. */
export interface Dispenser extends BaseOffer {
  readonly kind: 'dispenser';
  readonly source: string;
  /** Amount of one fill. */
  readonly give: Side;
  readonly get: Omit<Side, 'isOwnership'>;
  /**
   * Price of a fill in a currency; null where `get` is the price. A dispenser with such a price takes any payment from
   * `get` on.
   */
  readonly fiat: { readonly code: string; readonly amount: bigint } | null;
  readonly getAddress: string;
  /** Amount that it holds. */
  readonly left: bigint;
  readonly refills: number;
  /** Number of dispenses since the last refill. */
  readonly dispenses: number;
  /** Payments that it refused since the last refill. */
  readonly refusals: number;
  /** Lists in the order of their times. The last one whose time has come counts. */
  readonly lists: readonly DispenserLists[];
  /** Epoch seconds at which it closes; null while nobody has cancelled it. */
  readonly closesAt: number | null;
  /** Address that gets the rest at the end. */
  readonly refundAddress: string;
}

/** Match that waits for a payment in the chain's coin. */
export interface Obligation extends BaseOffer {
  readonly kind: 'coinpay';
  readonly payee: string;
  readonly coinAmount: bigint;
  /** Orders of both sides. */
  readonly seller: number;
  readonly buyer: number;
  /** Side that the seller gives. */
  readonly give: Side;
}

/** Offer of any kind. */
export type Offer = Trade | Dispenser | Obligation;
/** Kind of an offer. */
export type OfferKind = Offer['kind'];

/** Returns the spelling of an address that counts. */
export type Spelling = (address: string) => string;

/** Returns an offer with each of its addresses in the spelling that counts. */
export function respelled(offer: Offer, spell: Spelling): Offer {
  if (offer.kind === 'coinpay') return { ...offer, payee: spell(offer.payee) };
  return { ...offer, getAddress: spell(offer.getAddress), refundAddress: spell(offer.refundAddress) };
}

/** Statuses of offers that may still do something. */
export const LIVE_STATUSES = ['open', 'cancelling', 'expiring', 'pending_coinpay'] as const;
const LIVE: ReadonlySet<string> = new Set(LIVE_STATUSES);

/** Returns whether an offer may still do something. */
export function isLive({ status }: Pick<Offer, 'status'>): boolean {
  return LIVE.has(status);
}

type Market = Pick<Trade, 'kind' | 'give' | 'get'>;

/**
 * Returns the key of the market on which takers look for a trade. A trade that is only taken whole is keyed by its
 * amounts too.
 */
export function marketOf({ kind, give, get }: Market): string {
  const amounts = isWhole({ kind, give, get }) ? [give.amount, get.amount] : [];
  return [kind, sideKey(give), sideKey(get), ...amounts].join('|');
}

/** Returns whether a trade is matched in whole or not at all. */
export function isWhole({ kind, give, get }: Market): boolean {
  return kind === 'swap' || give.isOwnership || get.isOwnership;
}

/** Returns the key of the counter at which a payment to an address looks for dispensers. */
export function counterOf(address: string, tick: string | null): string {
  return ['dispenser', address, tick === null ? '' : tickKey(tick)].join('|');
}

function sideKey({ tick, isOwnership }: Omit<Side, 'amount'>): string {
  return `${tick === null ? '' : tickKey(tick)}${isOwnership ? '|owner' : ''}`;
}
