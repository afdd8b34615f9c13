import { formatAmount } from '../../consensus/amount.ts';
import { type Step, type SystemAction, VALID } from '../rules/action-definition.ts';
import { FREE_LOOKS, fitsPlaces, hasLimits, isBlockFull, isExcluded, isLookedOut } from '../rules/checks.ts';
import { offerFact } from '../state/action-state.ts';
import type { FactKey } from '../state/facts.ts';
import { pairKey } from '../state/keys.ts';
import { marketOf, type Side, type Trade } from '../state/offer.ts';
import { compareMakers, type Entry, LISTED_MARKET } from '../state/offer-book.ts';
import { giveSide } from './escrow.ts';
import { type Fill, fillOf } from './fill.ts';
import { expireTrade, isPastEnd, setTradeStatus, settleTrade } from './trade-end.ts';

/** Seconds in which the coin side of a match is to be paid. */
const COINPAY_TERM_S = 7_200;
/** Id for the chain's own coin in `order_matches`. */
const NO_TICK = 0;

/** Most makers whose facts are loaded together, or as many as the trade has passed over. */
const MOST_MAKERS = 200;

/**
 * Most trades with lists that one trade passes over where limits hold. After that it looks at those without lists only.
 */
const MOST_LISTED = 1_000;

/** Progress of a trade on its market. */
interface Progress {
  /** Maker that was matched last. Those in front of it are taken, or cannot be. */
  readonly from?: Entry;
  /** Number of makers that it was not matched with. */
  readonly passed: number;
  /** Number of those that have lists. */
  readonly listed: number;
}

/**
 * Matches a trade with the best one against it, then goes on with the rest.
 *
 * A trade against it that can match nothing more ends now: its end waits for a block with room, or the lists of its
 * tokens bar its receiver. Otherwise everybody would look at it again.
 *
 * A trade that cannot go on expires at once: in a full block, in one that has looked at enough, and after it has passed
 * over as many others as an action may be about. If it stayed open beside others that fit it, whoever comes next would
 * take the difference in price from both.
 */
export function matchTrade({ kind, index, source }: Trade, before: Progress = { passed: 0, listed: 0 }): SystemAction {
  return {
    name: `${kind.toUpperCase()}_MATCH`,
    source,
    run: (step) => {
      const taker = step.ledger.offer(kind, index);
      if (taker?.status !== 'open' || !isStillExact(taker, step) || isBarred(taker, step)) return false;
      let { passed, listed } = before;
      const isSeen = () => isLookedOut(passed, step);
      const isListedSeen = () => hasLimits(step) && (listed >= MOST_LISTED || (listed >= FREE_LOOKS / 2 && isSeen()));
      for (const { entry, isListed } of makersOf(taker, before.from, isListedSeen, step)) {
        if (isBlockFull(step) || passed >= step.limits.parts || isSeen()) {
          step.next.push(expireTrade(taker));
          return false;
        }
        const maker = entry.source === source ? undefined : step.ledger.offer(kind, entry.index)!;
        const isOver = maker && (isPastEnd(maker, step.action.block) || isBarred(maker, step));
        const fill = maker && !isOver && fillWith(maker, taker, step);
        if (fill) {
          settle(maker, taker, fill, step);
          step.next.push(matchTrade(taker, { from: entry, passed, listed }));
          return true;
        }
        step.ledger.looks.offers += 1;
        passed += 1;
        listed += Number(isListed);
        if (!isOver) continue;
        step.next.push(expireTrade(maker), matchTrade(taker, { from: entry, passed, listed }));
        return false;
      }
      return false;
    }
  };
}

/** Returns what two trades exchange now; null when they cannot. */
function fillWith(maker: Trade, taker: Trade, step: Step): Fill | null {
  if (!isStillExact(maker, step)) return null;
  const fill = fillOf(maker, taker, step);
  return fill && !isKeptApart(maker, taker, step) ? fill : null;
}

interface MarketEntry {
  readonly entry: Entry;
  readonly isListed: boolean;
}

/**
 * Yields open trades that get what this one gives, at its price or a better one: best price first, then the oldest.
 *
 * @param isListedSeen asked before each: whether trades with lists are left out from now on
 */
function* makersOf(
  taker: Trade,
  from: Entry | undefined,
  isListedSeen: () => boolean,
  step: Step
): Generator<MarketEntry> {
  const { ledger } = step;
  const market = marketOf({ kind: taker.kind, give: taker.get, get: taker.give });
  const isTaken = (maker: Entry) => from !== undefined && compareMakers(maker, from) < 0;
  const meets = ({ give, get }: Entry) => give * taker.give.amount >= taker.get.amount * get;
  const places = { plain: market, listed: market + LISTED_MARKET };
  const plain = ledger.offersAt(places.plain, isTaken)[Symbol.iterator]();
  const listed = ledger.offersAt(places.listed, isTaken)[Symbol.iterator]();
  let [first, second] = [plain.next(), listed.next()];
  let seen = 0;
  for (;;) {
    if (isListedSeen()) second = { done: true, value: undefined };
    const isListed = !second.done && (first.done === true || compareMakers(second.value, first.value) < 0);
    const { done, value: entry } = isListed ? second : first;
    if (done || !meets(entry)) return;
    if (entry.source !== taker.source && ledger.lacks(factsOf(entry, taker))) {
      requestMakers(isListed ? places.listed : places.plain, entry);
    }
    yield { entry, isListed };
    seen += 1;
    if (isListed) second = listed.next();
    else first = plain.next();
  }

  /** Requests the facts of a maker and of those behind it that the taker would fill, if nobody had before. */
  function requestMakers(place: string, begin: Entry): void {
    const wanted: FactKey[] = [];
    const most = Math.max(MOST_MAKERS, seen);
    const least = ledger.lacks([offerFact(begin.index)]) ? Math.max(ledger.aheadAt(place), seen) : 1;
    let makers = 0;
    let filled = 0n;
    for (const maker of ledger.offersAt(place, (other) => compareMakers(other, begin) < 0)) {
      if (!meets(maker) || makers === most || (makers >= least && filled >= taker.giveLeft)) break;
      if (maker.source === taker.source) continue;
      makers++;
      filled += maker.get;
      for (const fact of factsOf(maker, taker)) wanted.push(fact);
    }
    ledger.request(wanted);
  }
}

/**
 * Returns whether both amounts of a trade are still amounts of their tokens, whose DECIMALS may have fallen since it
 * was made.
 */
function isStillExact({ give, get }: Trade, { action, ledger, rules }: Step): boolean {
  if (!rules.isActive('EXACT_AMOUNTS', action.block.height)) return true;
  return [give, get].every(({ tick, amount }) => tick === null || fitsPlaces(amount, ledger.token(tick)!));
}

/** Returns the facts that a match with a maker reads, or the end of that maker. */
function factsOf({ index, getAddress, source }: Entry, { give, get }: Trade): FactKey[] {
  const receives = ({ tick }: Side, address: string): FactKey[] => [
    { kind: 'addressId', key: address },
    ...(tick === null ? [] : [{ kind: 'balance', key: pairKey(tick, address) } as const])
  ];
  return [offerFact(index), ...receives(give, getAddress), ...receives(get, source)];
}

/** Returns whether limits hold, and the lists of its tokens exclude the receiver of a trade: it matches nothing. */
export function isBarred({ give, get, getAddress }: Pick<Trade, 'give' | 'get' | 'getAddress'>, step: Step): boolean {
  const excludes = ({ tick }: Side) => tick !== null && isExcluded(step.ledger, step.ledger.token(tick)!, getAddress);
  return hasLimits(step) && (excludes(give) || excludes(get));
}

/** Returns whether a list of a token or of either trade excludes one of the receivers. */
function isKeptApart(maker: Trade, taker: Trade, { ledger }: Step): boolean {
  const tokens = [taker.give.tick, taker.get.tick].flatMap((tick) => (tick === null ? [] : ledger.token(tick)!));
  return [...tokens, maker, taker].some((lists) =>
    [maker.getAddress, taker.getAddress].some((address) => isExcluded(ledger, lists, address))
  );
}

function settle(maker: Trade, taker: Trade, { give, get }: Fill, step: Step): void {
  const { action, ledger, rules } = step;
  const isInstant = taker.give.tick !== null && taker.get.tick !== null;
  const moved = [
    { side: taker.give, amount: give },
    { side: taker.get, amount: get }
  ].map(({ side, amount }) => ({ tick: side.tick ?? NO_TICK, amount: side.isOwnership ? null : formatAmount(amount) }));
  // The give side of the row is that of the newer order, but of the older swap.
  const [given, got] = (taker.kind === 'order' ? moved : moved.toReversed()) as [(typeof moved)[0], (typeof moved)[0]];
  ledger.record(`${taker.kind}_matches`, {
    action_index: action.index,
    give_action_index: maker.index,
    give_coin_id: rules.coin,
    give_tick_id: given.tick,
    give_amount: given.amount,
    get_action_index: taker.index,
    get_coin_id: rules.coin,
    get_tick_id: got.tick,
    get_amount: got.amount,
    ...(taker.kind === 'order' ? { settlement_type: isInstant ? 'instant' : 'coinpay' } : {}),
    status_id: isInstant ? VALID : 'pending_coinpay'
  });
  const after = [
    { ...maker, giveLeft: maker.giveLeft - get, getLeft: maker.getLeft - give },
    { ...taker, giveLeft: taker.giveLeft - give, getLeft: taker.getLeft - get }
  ];
  for (const trade of after) ledger.setOffer(trade);
  if (isInstant) {
    giveSide({ ...taker.give, amount: give }, { named: maker.getAddress, to: maker.getAddress }, step);
    giveSide({ ...maker.give, amount: get }, { named: taker.getAddress, to: taker.getAddress }, step);
  } else awaitPayment(maker, taker, { give, get }, step);
  for (const trade of after) settleTrade(trade, step);
}

function awaitPayment(maker: Trade, taker: Trade, { give, get }: Fill, { action, ledger, rules }: Step): void {
  const [payer, seller, coinAmount, sold] =
    taker.give.tick === null ? [taker, maker, give, get] : [maker, taker, get, give];
  const expiration = action.block.time + COINPAY_TERM_S;
  ledger.record('coinpay_obligations', {
    action_index: action.index,
    payer_address_id: payer.source,
    payee_address_id: seller.getAddress,
    coin_id: rules.coin,
    coin_amount: formatAmount(coinAmount),
    expiration,
    block_index: action.block.height
  });
  ledger.record('coinpay_statuses', {
    action_index: action.index,
    coinpay_action_index: action.index,
    status_id: 'pending_coinpay'
  });
  ledger.setOffer({
    kind: 'coinpay',
    index: action.index,
    status: 'pending_coinpay',
    expiration,
    payee: seller.getAddress,
    coinAmount,
    seller: seller.index,
    buyer: payer.index,
    give: { ...seller.give, amount: sold }
  });
}

/** Puts a new trade on its market and looks for others. */
export function openTrade(trade: Trade, step: Step): void {
  setTradeStatus(trade, 'open', step);
  step.next.push(matchTrade(trade));
}
