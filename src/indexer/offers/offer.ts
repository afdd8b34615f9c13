import { tickKey } from '../state/keys.ts';

/** What one side of an offer is about; the ownership of a token counts as one unit of it. */
export interface Side {
  /** Null is the chain's own coin. */
  readonly tick: string | null;
  readonly amount: bigint;
  readonly isOwnership: boolean;
}

interface BaseOffer {
  /** Of the action that made it. */
  readonly index: number;
  /** The newest of its statuses, as it is stored. */
  readonly status: string;
  /** Epoch seconds; the offer ends in the first block whose median time is above. */
  readonly expiration: number;
}

/** An ORDER or a SWAP. */
export interface Trade extends BaseOffer {
  readonly kind: 'order' | 'swap';
  readonly source: string;
  readonly give: Side;
  readonly get: Side;
  /** What no match has used up. */
  readonly giveLeft: bigint;
  readonly getLeft: bigint;
  readonly getAddress: string;
  readonly allowList: number | null;
  readonly blockList: number | null;
  /** Gets what an awaited payment leaves when it never comes. */
  readonly heir: string;
}

/** The lists of a dispenser from a time on. */
export interface DispenserLists {
  readonly from: number;
  readonly allowList: number | null;
  readonly blockList: number | null;
}

/** A DISPENSER. */
export interface Dispenser extends BaseOffer {
  readonly kind: 'dispenser';
  readonly source: string;
  /** One fill. */
  readonly give: Side;
  readonly get: Omit<Side, 'isOwnership'>;
  /** What a fill costs in a currency; null where it costs what `get` says. Such a dispenser gets any payment: then `get` is the least. */
  readonly fiat: { readonly code: string; readonly amount: bigint } | null;
  readonly getAddress: string;
  /** What it holds. */
  readonly left: bigint;
  readonly refills: number;
  /** Since the last refill. */
  readonly dispenses: number;
  /** Payments that it refused since the last refill. */
  readonly refusals: number;
  /** The last that has begun counts. */
  readonly lists: readonly DispenserLists[];
  /** When it closes; null while nobody has cancelled it. */
  readonly closesAt: number | null;
  /** Gets what is left. */
  readonly heir: string;
}

/** A match that waits for a payment in the chain's coin. */
export interface Obligation extends BaseOffer {
  readonly kind: 'coinpay';
  readonly payee: string;
  readonly coinAmount: bigint;
  /** The orders of both sides. */
  readonly seller: number;
  readonly buyer: number;
  /** What the seller gives. */
  readonly give: Side;
}

export type Offer = Trade | Dispenser | Obligation;
export type OfferKind = Offer['kind'];

/** Statuses of offers that may still do something. */
export const LIVE_STATUSES = ['open', 'cancelling', 'expiring', 'pending_coinpay'] as const;
const LIVE: ReadonlySet<string> = new Set(LIVE_STATUSES);

export function isLive({ status }: Pick<Offer, 'status'>): boolean {
  return LIVE.has(status);
}

type Market = Pick<Trade, 'kind' | 'give' | 'get'>;

/** Where those who take what a trade gives look for it. What is taken as a whole only stands apart by its amounts. */
export function marketOf({ kind, give, get }: Market): string {
  const amounts = isWhole({ kind, give, get }) ? [give.amount, get.amount] : [];
  return [kind, sideKey(give), sideKey(get), ...amounts].join('|');
}

/** Whether a trade is matched in whole or not at all. */
export function isWhole({ kind, give, get }: Market): boolean {
  return kind === 'swap' || give.isOwnership || get.isOwnership;
}

/** Where a payment to an address looks for dispensers. */
export function counterOf(address: string, tick: string | null): string {
  return ['dispenser', address, tick === null ? '' : tickKey(tick)].join('|');
}

function sideKey({ tick, isOwnership }: Omit<Side, 'amount'>): string {
  return `${tick === null ? '' : tickKey(tick)}${isOwnership ? '|owner' : ''}`;
}
