import { MAX_DISPENSES } from '../../coin/action/dispenser.ts';
import { formatAmount } from '../../consensus/amount.ts';
import { paymentPrices } from '../fees/rounds.ts';
import { type Step, type SystemAction, statusText } from '../rules/action-definition.ts';
import { countLists, hasLimits, isAllowed, isBlocked, isBlockFull, isLookedOut } from '../rules/checks.ts';
import { offerFact } from '../state/action-state.ts';
import { counterOf, type Dispenser, type DispenserLists } from '../state/offer.ts';
import { EMPTY_COUNTER, type Entry, OWN_COUNTER } from '../state/offer-book.ts';
import { firstFrom } from '../state/sorted-chunks.ts';
import { closeDispenser, isOverdue } from './dispenser-end.ts';
import { giveSide } from './escrow.ts';
import { COIN_STEP, ONE } from './units.ts';

/** Payment to an address. */
export interface Payment {
  readonly payer: string;
  readonly payee: string;
  /** Ticker; null for the chain's own coin. */
  readonly tick: string | null;
  readonly amount: bigint;
}

/** Progress of a payment over dispensers. */
interface Asked {
  /** Place of the present group of counters. @see groupsOf */
  readonly group: number;
  /** Index of the last dispenser that was asked; 0 before the first. */
  readonly last: number;
  readonly dispensers: number;
  /** Number of asked dispensers that had nothing to give. */
  readonly empty: number;
  /** Number of asked dispensers that refused. */
  readonly refused: number;
  /** Number of dispensers that would have refused, and were passed over. */
  readonly passed: number;
  /** Whether any dispenser has served it. */
  readonly isServed: boolean;
}

/** Dispensers that may refuse one payment on record. Further ones that would are passed over. */
const MOST_REFUSALS = 10;
/** Looks of a dispenser that is passed over: it is read with its token. */
const LOOKS_OF_DISPENSER = 2;
/** Looks of each list that bars somebody from it: the payer and the payee are looked for. */
const LOOKS_OF_LIST = 2;
/** Units of a dispense, which makes as many rows as three actions. */
const UNITS = 2;
const NONE_ASKED: Asked = { group: 0, last: 0, dispensers: 0, empty: 0, refused: 0, passed: 0, isServed: false };

/**
 * Serves a payment at the oldest dispenser that takes it, then goes on at the next with the rest of the payment. From
 * the height of DISPENSER_LIMITS on, those that the paid address opened come before those of others, and what an
 * address pays to itself is no payment: its change would use up its dispensers.
 *
 * A payment asks as many dispensers as the limits allow; in a full block one serves it. It passes over empty dispensers
 * after the first ones, and over those that would refuse it after the first ten, in a full block after the first:
 * nobody can put so many in front of another's that a payment does not reach it.
 */
export function dispense(payment: Payment, asked = NONE_ASKED): SystemAction {
  const { payer, amount } = payment;
  return {
    name: 'DISPENSE',
    source: payer,
    hasTransaction: true,
    run: (step) => {
      if (payer === payment.payee && step.rules.isActive('DISPENSER_LIMITS', step.action.block.height)) return false;
      let at = asked;
      const takesEmpty = () => at.empty < step.limits.emptyDispensers;
      for (const { group, entry } of dispensersFrom(payment, asked, takesEmpty, step)) {
        requestAhead(entry, { amount, passed: at.passed }, step);
        const dispenser = step.ledger.offer('dispenser', entry.index)!;
        const isFull = isBlockFull(step);
        if (at.isServed && isFull) return false;
        const bought = boughtOf(dispenser, amount, step);
        const fills = bought === null ? 0n : least(bought.fills, dispenser.left / dispenser.give.amount);
        const own = refusalOf(dispenser, payment, bought && fills, step);
        const mostRefusals = isFull ? 1 : MOST_REFUSALS;
        const isPassing = own !== undefined && at.refused >= mostRefusals && hasLimits(step);
        const isOneTooMany = at.dispensers >= step.limits.dispenses || (isPassing && isLookedOut(at.passed, step));
        const empty = at.empty + Number(dispenser.left < dispenser.give.amount);
        const place = { group, last: dispenser.index, empty };
        if (isPassing && !isOneTooMany) {
          step.ledger.looks.offers += looksOf(dispenser, payment, step);
          at = { ...at, ...place, passed: at.passed + 1 };
          continue;
        }
        step.ledger.looked += UNITS;
        const refusal = isOneTooMany ? 'DISPENSE (limit)' : own;
        const paid = bought === null ? 0n : bought.costOf(fills);
        recordDispense(dispenser, payment, { fills, paid, refusal }, step);
        if (refusal === undefined) serve(dispenser, payer, fills, step);
        else countRefusal(dispenser, step);
        if (isOneTooMany) return true;
        const left = refusal === undefined ? amount - paid : amount;
        const asked = { ...at, ...place, dispensers: at.dispensers + 1 };
        const further = refusal === undefined ? { isServed: true } : { refused: at.refused + 1 };
        step.next.push(dispense({ ...payment, amount: left }, { ...asked, ...further }));
        return true;
      }
      return false;
    }
  };
}

/**
 * Requests a dispenser with some behind it that take so small a payment, for one load: at least as many as the payment
 * has passed over.
 */
function requestAhead(
  { index, place }: Entry,
  { amount, passed }: Pick<Payment, 'amount'> & Pick<Asked, 'passed'>,
  { ledger }: Step
): void {
  if (!ledger.lacks([offerFact(index)])) return;
  const behind = ledger.offersAt(place!, (other) => other.index < index, amount);
  const most = Math.max(ledger.aheadAt(place!), passed);
  ledger.request(Array.from(Iterator.from(behind).take(most), (other) => offerFact(other.index)));
}

/** Returns whether any dispenser waits for such payments. */
export function hasDispenser(ledger: Step['ledger'], payee: string, tick: string | null): boolean {
  const places = OWN_AND_OTHERS.map((own) => counterOf(payee, tick) + own);
  return places
    .flatMap((place) => [place, place + EMPTY_COUNTER])
    .some((each) => firstOf(ledger.offersAt(each, () => false)) !== undefined);
}

/** Counters at an address: that of its own dispensers, and that of other people's. */
const OWN_AND_OTHERS = [OWN_COUNTER, ''] as const;

/** Returns the groups of counters that a payment asks one after the other. */
function groupsOf({ action, rules }: Step): readonly (readonly string[])[] {
  const isOwnFirst = rules.isActive('DISPENSER_LIMITS', action.block.height);
  return isOwnFirst ? OWN_AND_OTHERS.map((own) => [own]) : [OWN_AND_OTHERS];
}

/** Dispensers at one counter, those that take so small a payment. */
interface Queue {
  readonly isOfEmpty: boolean;
  readonly entries: Iterator<Entry>;
  /** First one that was not yielded; undefined where it was not looked for. */
  head: IteratorResult<Entry> | undefined;
}

/**
 * Yields the dispensers after the last one that take so small a payment: group by group, the oldest first.
 *
 * @param takesEmpty asked before each: false leaves out empty ones from now on
 */
function* dispensersFrom(
  { payee, tick, amount }: Payment,
  { group: present, last }: Asked,
  takesEmpty: () => boolean,
  step: Step
): Generator<{ readonly group: number; readonly entry: Entry }> {
  const counter = counterOf(payee, tick);
  for (const [group, counters] of groupsOf(step).entries()) {
    if (group < present) continue;
    const after = group === present ? last : 0;
    const queueAt = (place: string, isOfEmpty: boolean): Queue => {
      const found = step.ledger.offersAt(place, ({ index }) => index <= after, amount);
      return { isOfEmpty, entries: found[Symbol.iterator](), head: undefined };
    };
    const queues = counters.flatMap((own) => [
      queueAt(counter + own, false),
      queueAt(counter + own + EMPTY_COUNTER, true)
    ]);
    for (let entry = takeOldest(queues, takesEmpty()); entry; entry = takeOldest(queues, takesEmpty()))
      yield { group, entry };
  }
}

/** Takes the oldest dispenser from the front of some queues. */
function takeOldest(queues: readonly Queue[], takesEmpty: boolean): Entry | undefined {
  let first: Queue | undefined;
  let oldest: Entry | undefined;
  for (const queue of queues) {
    if (queue.isOfEmpty && !takesEmpty) continue;
    queue.head ??= queue.entries.next();
    if (queue.head.done || (oldest && oldest.index < queue.head.value.index)) continue;
    [first, oldest] = [queue, queue.head.value];
  }
  if (first) first.head = undefined;
  return oldest;
}

function firstOf(entries: Iterable<Entry>): Entry | undefined {
  for (const entry of entries) return entry;
  return undefined;
}

/** Fills that a payment pays for, whether the dispenser has as many or not. */
interface Bought {
  readonly fills: bigint;
  /** Cost of a number of fills, in what is paid. */
  readonly costOf: (fills: bigint) => bigint;
}

/** Returns what a payment buys; null where fills have a price in a currency, and the coin has no price in it. */
function boughtOf({ get, fiat }: Dispenser, amount: bigint, step: Step): Bought | null {
  if (fiat === null) return { fills: amount / get.amount, costOf: (fills) => fills * get.amount };
  const prices = paymentPrices(step.rules.coin, fiat.code, step);
  const price = prices[firstFrom(prices, (one) => worth(amount, one) < fiat.amount)] ?? prices.at(-1);
  if (price === undefined) return null;
  return {
    fills: worth(amount, price) / fiat.amount,
    costOf: (fills) => ceilDivide(fills * fiat.amount * ONE, price * COIN_STEP) * COIN_STEP
  };
}

/** Returns the value of some of the coin at a price. */
const worth = (amount: bigint, price: bigint): bigint => (amount * price) / ONE;
const ceilDivide = (a: bigint, b: bigint): bigint => (a + b - 1n) / b;
const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);

/** Returns the lists that count at a time. */
export function listsAt({ lists }: Dispenser, time: number): DispenserLists {
  return lists.findLast(({ from }) => from <= time) ?? lists[0]!;
}

/**
 * Returns the status of a refused payment; undefined for a payment that is served. @param fills null where the coin has
 * no price
 */
function refusalOf(dispenser: Dispenser, payment: Payment, fills: bigint | null, step: Step) {
  const { payer, payee } = payment;
  const { action, ledger } = step;
  if (fills === null) return 'no matching oracle price';
  if (payer === payee) return 'SOURCE and GET_ADDRESS can not be same';
  if (fills === 0n) return 'insufficient funds';
  if (isOverdue(dispenser, action.block)) return 'dispenser expired';
  const parties = [
    ['DESTINATION', payer],
    ['GET_ADDRESS', payee]
  ] as const;
  for (const [owner, list] of barringLists(dispenser, payment, step)) {
    for (const [party, address] of parties)
      if (!isAllowed(ledger, list, address)) return `${party} (${owner} allow list)`;
    for (const [party, address] of parties)
      if (isBlocked(ledger, list, address)) return `${party} (${owner} block list)`;
  }
  return undefined;
}

/** Returns the lists of the tokens and of a dispenser, by the names of their owners in a status. */
function barringLists(dispenser: Dispenser, { tick }: Payment, { action, ledger }: Step) {
  const tokens = [
    ['GET_TOKEN', tick === null ? null : ledger.token(tick)],
    ['GIVE_TOKEN', ledger.token(dispenser.give.tick!)]
  ] as const;
  return [
    ...tokens.flatMap(([owner, token]) => (token ? [[owner, token] as const] : [])),
    ['dispenser', listsAt(dispenser, action.block.time)] as const
  ];
}

/** Returns the looks of a dispenser that is passed over. */
function looksOf(dispenser: Dispenser, payment: Payment, step: Step): number {
  const lists = barringLists(dispenser, payment, step).reduce((sum, [, owned]) => sum + countLists(owned), 0);
  return LOOKS_OF_DISPENSER + LOOKS_OF_LIST * lists;
}

function recordDispense(
  { index, give, get }: Dispenser,
  { payer }: Payment,
  { fills, paid, refusal }: { readonly fills: bigint; readonly paid: bigint; readonly refusal: string | undefined },
  { action, ledger, rules }: Step
): void {
  ledger.record('dispenses', {
    action_index: action.index,
    dispenser_action_index: index,
    give_coin_id: rules.coin,
    give_tick_id: give.tick,
    give_amount: give.isOwnership ? null : formatAmount(fills * give.amount),
    get_coin_id: rules.coin,
    get_tick_id: get.tick,
    get_amount: formatAmount(paid),
    destination_id: payer,
    status_id: statusText(refusal)
  });
}

function serve(dispenser: Dispenser, buyer: string, fills: bigint, step: Step): void {
  const { give, left, dispenses } = dispenser;
  const given = fills * give.amount;
  giveSide({ ...give, amount: given }, { named: buyer, to: buyer }, step);
  const after = { ...dispenser, left: left - given, dispenses: dispenses + 1 };
  step.ledger.setOffer(after);
  if (after.left < give.amount) step.next.push(closeDispenser(after, 'empty'));
  else if (isSpent(after, step)) step.next.push(closeDispenser(after, 'max_dispenses_reached'));
}

/**
 * Counts a refusal. Each one leaves a row, and decoders keep each payment that may be served, so both must be bounded.
 */
function countRefusal(dispenser: Dispenser, step: Step): void {
  const after = { ...dispenser, refusals: dispenser.refusals + 1 };
  step.ledger.setOffer(after);
  if (isSpent(after, step)) step.next.push(closeDispenser(after, 'max_dispenses_reached'));
}

function isSpent({ dispenses, refusals }: Dispenser, { action, rules }: Step): boolean {
  const countsAll = rules.isActive('DISPENSER_LIMITS', action.block.height);
  return dispenses + (countsAll ? refusals : 0) >= MAX_DISPENSES;
}
