import { readIndex } from '../../coin/action/fields.ts';
import { parseAmount, parseTokenAmount } from '../../consensus/amount.ts';
import type { Effects, Looked } from '../state/effects.ts';
import type { FactKey } from '../state/facts.ts';
import { pairKey, sleeperKey, tickKey } from '../state/keys.ts';
import type { Token } from '../state/token.ts';
import type { Check, Step } from './action-definition.ts';

export { readIndex };

const MAX_MEMO = 250;
const MAX_PLACES = 18;
/** Most bytes that the column of a ticker holds. A decoder that bounds its texts stores no longer one. */
const MOST_TICK_BYTES = 65_535;

/** Highest cap that an issuer may set: 10^21. */
export const HIGHEST_CAP = parseAmount(`1${'0'.repeat(21)}`)!;

/** Most units of a token: 10^36. The database adds up all rows of a token, in 47 digits before the point. */
const MOST_UNITS = parseAmount(`1${'0'.repeat(36)}`)!;

/** Returns the most units that a cap allows; 0 is no cap. */
export function limitOf(cap: bigint): bigint {
  return cap > 0n ? cap : MOST_UNITS;
}

/**
 * Returns whether an action has used its share of the block's units. One with parts then has to wait for another block.
 */
export function isBlockFull({ ledger }: Pick<Step, 'ledger'>): boolean {
  return ledger.isFull;
}

/** Returns whether some units more would be taken from sources whose actions follow. */
export function isBeyondShare(units: number, { ledger }: Pick<Step, 'ledger'>): boolean {
  return !ledger.left.isLast && ledger.used + units > ledger.left.units;
}

/**
 * Returns how many items an action may move: as many as it may be about, and no more than leave others their share.
 *
 * @param units units of an item
 */
export function mostItems(units: number, { ledger, limits }: Pick<Step, 'ledger' | 'limits'>): number {
  if (ledger.left.isLast) return limits.parts;
  return Math.min(limits.parts, Math.max(1, Math.floor((ledger.left.units - ledger.used) / units)));
}

/**
 * Looks that a block has for each of its units. A look at an offer reads the offer; one at a recipient reads lists
 * only; one at a ballot reads it and a balance.
 */
export const LOOKS_OF_UNIT: Readonly<Record<Looked, number>> = {
  recipients: 10,
  offers: 2,
  ballots: 0.5,
  earlyBallots: 0.5
};

/**
 * Returns whether an action has used its share of the block's looks. They have a bound of their own: looks that move nothing leave the
 * units to actions that move something.
 */
export function isSeenEnough(looked: Looked, step: Pick<Step, 'ledger'>): boolean {
  return looksLeft(looked, step) < 0;
}

/** Returns the looks that an action has left; below 0 where more were used. */
export function looksLeft(looked: Looked, { ledger }: Pick<Step, 'ledger'>): number {
  return ledger.left.looks[looked] - ledger.looks[looked];
}

/** Looks of a holding. It is read with its address, and fills more memory than a name in a list. */
export const LOOKS_OF_HOLDING = 3;

/** Looks of an address that one list of a token is asked about. Rows of three tables are read for it. */
const LOOKS_OF_MEMBER = 2;

/** Returns how many holders an action that begins may look at: those of a block, or those left where others follow. */
export function mostHolders(step: Pick<Step, 'ledger' | 'limits'>): number {
  const { ledger, limits } = step;
  const looks = ledger.left.isLast ? limits.blockUnits * LOOKS_OF_UNIT.recipients : looksLeft('recipients', step);
  return Math.floor(looks / LOOKS_OF_HOLDING);
}

/** Counts looks at recipients. Where others follow, the action that looks at too many uses up its own share alone. */
export function lookAt(count: number, step: Pick<Step, 'ledger'>): void {
  const most = step.ledger.left.isLast ? count : Math.max(0, looksLeft('recipients', step)) + 1;
  step.ledger.looks.recipients += Math.min(count, most);
}

/** Offers that anybody may pass over, whatever the block has looked at before. */
export const FREE_LOOKS = 50;

/**
 * Returns whether a trade or payment that has passed over some offers may look at no more: nobody can keep others from
 * an offer that fits.
 */
export function isLookedOut(passed: number, step: Pick<Step, 'ledger'>): boolean {
  return passed >= FREE_LOOKS && isSeenEnough('offers', step);
}

/** Returns whether limits hold in the block. Then a part that moves nothing writes nothing. */
export function hasLimits({ limits }: Pick<Step, 'limits'>): boolean {
  return limits.parts !== Number.POSITIVE_INFINITY;
}

/** Returns a function that keeps its first answer, for what a leg asks for twice. */
export function once<A, R>(find: (given: A) => R): (given: A) => R {
  let found: { readonly result: R } | undefined;
  return (given) => {
    found ??= { result: find(given) };
    return found.result;
  };
}

/**
 * Checks `<WHAT> (block limit)` and `<WHAT> (limit)` of an action about the parts of its own text. The second check
 * counts the parts as units, even if it then refuses the action.
 */
export function partChecks<Leg>(what: string, count: (leg: Leg, step: Step) => number): Check<Leg>[] {
  return [
    [`${what} (block limit)`, (leg, step) => isBlockFull(step) || isBeyondShare(count(leg, step), step)],
    [
      `${what} (limit)`,
      (leg, step) => {
        const parts = count(leg, step);
        step.ledger.looked += parts;
        return parts > step.limits.parts;
      }
    ]
  ];
}

/**
 * Returns the check `<WHAT> (block limit)` of an action that looks at what the ledger holds.
 @param areTooMany returns whether that
 * is more than any block may look at
 */
export function seenCheck<Leg>(what: string, areTooMany: (leg: Leg, step: Step) => boolean = () => false): Check<Leg> {
  return [
    `${what} (block limit)`,
    (leg, step) => isBlockFull(step) || isSeenEnough('recipients', step) || areTooMany(leg, step)
  ];
}

/** Check `SOURCE (sleeping)`. */
export const sourceSleeps: Check<unknown> = [
  'SOURCE (sleeping)',
  (_, { action, ledger }) => ledger.isAsleep('address', action.source, action.block.height)
];

/** Check `TICK (sleeping)`, for a leg whose token is known. */
export const tickSleeps: Check<{ readonly token: Token | null }> = [
  'TICK (sleeping)',
  ({ token }, { action, ledger }) => ledger.isAsleep('tick', token!.tick, action.block.height)
];

/** Check `TICK (unknown)`. */
export const tickUnknown: Check<{ readonly token: Token | null }> = ['TICK (unknown)', ({ token }) => token === null];

/** Check `SOURCE (not authorized)` by the token's lists. */
export const sourceExcluded: Check<{ readonly token: Token | null }> = [
  'SOURCE (not authorized)',
  ({ token }, { action, ledger }) => isExcluded(ledger, token!, action.source)
];

/** Check `TICK (ownership escrowed)`. */
export const ownershipEscrowed: Check<{ readonly token: Token | null }> = [
  'TICK (ownership escrowed)',
  ({ token }) => token?.escrowActionIndex != null
];

/** Checks of a memo. */
export const MEMO_CHECKS: readonly Check<{ readonly memo: string }>[] = [
  ['MEMO (pipe)', ({ memo }) => memo.includes('|')],
  ['MEMO (semicolon)', ({ memo }) => memo.includes(';')],
  ['MEMO (length)', ({ memo }) => lengthOf(memo) > MAX_MEMO]
];

/**
 * Returns whether the lists of a token or offer exclude an address. An allow list without members excludes everybody.
 */
export function isExcluded(ledger: Effects, lists: Lists, address: string): boolean {
  return !isAllowed(ledger, lists, address) || isBlocked(ledger, lists, address);
}

type Lists = Pick<Token, 'allowList' | 'blockList'>;

/** Members that are read for one address, at most, where whole lists are read for many. */
const MEMBERS_FOR_ONE = 4;

/**
 * Counts as looks what the lists of a token are asked about many addresses.
 *
 * @returns whether the block has as many left; no member is read where it has not
 */
export function mayAskLists(lists: Lists, addresses: readonly string[], step: Pick<Step, 'ledger'>): boolean {
  const count = countLists(lists);
  if (count === 0) return true;
  lookAt(LOOKS_OF_MEMBER * count * addresses.length, step);
  if (isSeenEnough('recipients', step)) return false;
  requestAsked(step.ledger, lists, addresses);
  return true;
}

/** Requests the lists of a token that are asked about many addresses, if reading them whole costs less. */
function requestAsked(ledger: Effects, { allowList, blockList }: Lists, addresses: readonly string[]): void {
  const roots = [allowList, blockList].filter((root) => root !== null);
  ledger.requestListHeads(roots);
  const most = MEMBERS_FOR_ONE * addresses.length;
  ledger.requestLists(roots.filter((root) => (ledger.listHead(root)?.size ?? Number.POSITIVE_INFINITY) <= most));
}

/** Returns the number of lists that a token or offer has: two at most. */
export function countLists({ allowList, blockList }: Lists): number {
  return Number(allowList !== null) + Number(blockList !== null);
}

/** Returns whether there is no allow list, or it has the address. */
export function isAllowed(ledger: Effects, { allowList }: Lists, address: string): boolean {
  return allowList === null || ledger.isMember(allowList, address);
}

/** Returns whether there is a block list that has the address. */
export function isBlocked(ledger: Effects, { blockList }: Lists, address: string): boolean {
  return blockList !== null && ledger.isMember(blockList, address);
}

/** Reads an amount of a token; null for any other text, an empty one included. */
export function readAmount(text: string, token: Pick<Token, 'decimals'> | null): bigint | null {
  return parseTokenAmount(text, token?.decimals ?? MAX_PLACES);
}

/**
 * Returns whether an amount has no more decimals than its token has now: DECIMALS may have fallen since it was read.
 */
export function fitsPlaces(amount: bigint, { decimals }: Pick<Token, 'decimals'>): boolean {
  return amount % 10n ** BigInt(MAX_PLACES - decimals) === 0n;
}

/**
 * Returns a whole number for a column of texts, without leading zeros. Any other text stays as written, an empty text
 * is NULL.
 */
export function indexColumn(text: string): string | null {
  const index = readIndex(text);
  return index === null ? orNull(text) : String(index);
}

/** Counts the characters of a text as a reader does: code points. */
export function lengthOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** Returns a text for a nullable column: an empty one is NULL. */
export function orNull(text: string): string | null {
  return text === '' ? null : text;
}

/**
 * Returns the column of the ticker that a field names. From the first block of REFUSED_TICKERS on, a ticker without a
 * token gets an id as well.
 *
 * @param token result of `ledger.token` for the field
 */
export function tickColumn(
  { action, ledger, rules }: Step,
  field: string,
  token: Token | null = ledger.token(field)
): string | number | null {
  if (token) return token.tick;
  const tick = ledger.tickOf(field);
  if (!tick || tick.startsWith('^') || Buffer.byteLength(tick) > MOST_TICK_BYTES) return null;
  if (!rules.isActive('REFUSED_TICKERS', action.block.height)) return null;
  return ledger.tickerId(tick);
}

/**
 * Returns the canonical spelling of an address of this chain. It is null for any other text: only addresses get ids.
 */
export function ownAddress({ rules, action }: Step, text: string | null): string | null {
  return (text !== null && rules.readAddress(text, rules.coin, action.block.height)) || null;
}

/** Returns the canonical spelling of an address of this chain. Any other field stays as written. */
export function plainAddress(step: Step, field: string): string {
  return ownAddress(step, field) ?? field;
}

/** Returns the address of this chain that a field names, as text or by `^id`; null when the id names no address. */
export function namedAddress(step: Step, field: string): string | null {
  const named = step.ledger.addressOf(field);
  return named && plainAddress(step, named);
}

/**
 * Requests the facts that the legs of a transfer read, for one load.
 *
 * @param legs ticker or `^id`, and destination of each; an empty destination for none
 */
export function requestTransfers(
  { action, ledger }: Step,
  legs: readonly (readonly [tick: string, destination: string])[]
): void {
  ledger.requestTicks(legs.map(([tick]) => tick));
  ledger.request(
    legs.flatMap(([tick, destination]) => transferFacts(ledger.tickOf(tick) ?? tick, action.source, destination))
  );
}

/** Returns the facts that a transfer between two addresses reads, for one load. */
export function transferFacts(tick: string, source: string, destination: string): FactKey[] {
  const facts: FactKey[] = [
    { kind: 'token', key: tickKey(tick) },
    { kind: 'sleep', key: sleeperKey('address', source) },
    { kind: 'sleep', key: sleeperKey('tick', tick) },
    { kind: 'balance', key: pairKey(tick, source) }
  ];
  if (destination === '') return facts;
  return [
    ...facts,
    { kind: 'balance', key: pairKey(tick, destination) },
    { kind: 'preferences', key: destination },
    { kind: 'gate', key: tickKey(tick) }
  ];
}
