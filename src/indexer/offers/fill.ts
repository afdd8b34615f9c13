import { multiplyRatio, roundHalfUp } from '../../consensus/amount.ts';
import type { Step } from '../rules/action-definition.ts';
import { isWhole, type Side, type Trade } from '../state/offer.ts';

/** Amounts that change hands in one match. */
export interface Fill {
  /** Amount that the taker gives. */
  readonly give: bigint;
  /** Amount that the taker gets. */
  readonly get: bigint;
}

const COIN_PLACES = 8;
/** Looks that count for the search of a fill: two long amounts take it some hundred divisions. */
const SEARCH_LOOKS = 20;

/** Returns what two trades exchange at the price of the maker, which was there first; null when they cannot. */
export function fillOf(maker: Trade, taker: Trade, step: Step): Fill | null {
  if (isWhole(taker)) return wholeFill(maker, taker);
  return isFair(step) ? fairFill(maker, taker, step) : roundedFill(maker, taker, step);
}

/**
 * Returns whether a trade can change hands no more: a side is used up, or what it still gets does not pay for one unit
 * of what it gives.
 */
export function isUsedUp({ give, get, giveLeft, getLeft }: Trade, step: Step): boolean {
  if (giveLeft <= 0n || getLeft <= 0n) return true;
  return isFair(step) && getLeft * give.amount < unitOf(give, step) * get.amount;
}

function isFair({ action, rules }: Step): boolean {
  return rules.isActive('FAIR_FILLS', action.block.height);
}

function wholeFill(maker: Trade, taker: Trade): Fill | null {
  const isExact = maker.giveLeft === taker.getLeft && maker.getLeft === taker.giveLeft;
  return isExact ? { give: taker.giveLeft, get: taker.getLeft } : null;
}

/** Price as a fraction: units of the taker's GIVE for a unit of his GET. */
interface Price {
  readonly give: bigint;
  readonly get: bigint;
}

/**
 * Returns the largest fill by which neither gets a worse price than he asked. The taker gives the fewest units that the
 * maker's price allows.
 */
function fairFill(maker: Trade, taker: Trade, step: Step): Fill | null {
  const unit = { give: unitOf(taker.give, step), get: unitOf(taker.get, step) };
  const low = { give: maker.get.amount * unit.get, get: maker.give.amount * unit.give };
  const high = { give: taker.give.amount * unit.get, get: taker.get.amount * unit.give };
  const costOf = (get: bigint) => (get * low.give + low.get - 1n) / low.get;
  const affordable = ((least(maker.getLeft, taker.giveLeft) / unit.give) * low.get) / low.give;
  let get = least(least(maker.giveLeft, taker.getLeft) / unit.get, affordable);
  if (costOf(get) * high.get > get * high.give) {
    step.ledger.looks.offers += SEARCH_LOOKS;
    get = mostBetween(low, high, get);
  }
  return get === 0n ? null : { give: costOf(get) * unit.give, get: get * unit.get };
}

/**
 * Returns the greatest number of units to get, up to a number, that costs a whole number of units to give at some price
 * between two; 0 where none does.
 *
 * Where a whole number is between the prices, every number does. Otherwise the whole part of both prices is the same:
 * it is taken off, and the same is asked of the units to give.
 */
function mostBetween(low: Price, high: Price, most: bigint): bigint {
  const whole = low.give / low.get;
  const rest = { low: low.give - whole * low.get, high: high.give - whole * high.get };
  if (most === 0n || rest.low === 0n || rest.high >= high.get) return most;
  const give = mostBetween(
    { give: high.get, get: rest.high },
    { give: low.get, get: rest.low },
    (most * rest.high) / high.get
  );
  return least(most, (give * low.get) / rest.low);
}

/**
 * Returns a fill of as much as both have left, each side rounded to its decimals, as in blocks below FAIR_FILLS.
 *
 * An amount to get may have more decimals than its token has by now, and the fill may then exceed it. An amount in
 * escrow never has.
 */
function roundedFill(maker: Trade, taker: Trade, step: Step): Fill | null {
  const most = { give: least(maker.getLeft, taker.giveLeft), get: least(maker.giveLeft, taker.getLeft) };
  const { give, get } = maker;
  const [getPlaces, givePlaces] = [placesOf(get, step), placesOf(give, step)];
  const rounded = { give: roundHalfUp(most.give, getPlaces), get: roundHalfUp(most.get, givePlaces) };
  const isBoundByGive = most.get * get.amount > most.give * give.amount;
  const fill = isBoundByGive
    ? { ...rounded, get: least(rounded.get, multiplyRatio(most.give, give.amount, get.amount, givePlaces)) }
    : { ...rounded, give: least(rounded.give, multiplyRatio(most.get, get.amount, give.amount, getPlaces)) };
  return fill.give === 0n || fill.get === 0n ? null : fill;
}

const least = (a: bigint, b: bigint) => (a < b ? a : b);

function placesOf({ tick }: Side, { ledger }: Step): number {
  return tick === null ? COIN_PLACES : ledger.token(tick)!.decimals;
}

/** Returns the smallest amount of a side. */
function unitOf(side: Side, step: Step): bigint {
  return 10n ** BigInt(18 - placesOf(side, step));
}
