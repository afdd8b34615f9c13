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
/** What the column of a ticker holds; a decoder that bounds its texts stores none that is longer. */
const MOST_TICK_BYTES = 65_535;

/** The highest cap that an issuer may set: 10^21. */
export const HIGHEST_CAP = parseAmount(`1${'0'.repeat(21)}`)!;

/** No token has more units than this, 10^36: the database adds up all rows of a token, in 47 digits before the point. */
const MOST_UNITS = parseAmount(`1${'0'.repeat(36)}`)!;

/** The most that a cap allows; 0 is no cap. */
export function limitOf(cap: bigint): bigint {
  return cap > 0n ? cap : MOST_UNITS;
}

/** Whether the block has used up what it may: what has parts waits for another block. */
export function isBlockFull({ ledger, limits }: Pick<Step, 'ledger' | 'limits'>): boolean {
  return ledger.before.units + ledger.used > limits.blockUnits;
}

/** Looks that a block has for each of its units. A look at an offer reads it; one at a recipient asks lists alone. */
const LOOKS_OF_UNIT: Readonly<Record<Looked, number>> = { recipients: 20, offers: 2 };

/** Whether the block has looked at as many as it may. What moves nothing leaves the units of a block to those who move something. */
export function isSeenEnough(looked: Looked, { ledger, limits }: Pick<Step, 'ledger' | 'limits'>): boolean {
  return ledger.before.looks[looked] + ledger.looks[looked] > limits.blockUnits * LOOKS_OF_UNIT[looked];
}

/** Whether limits hold in the block: then what moves nothing writes nothing. */
export function hasLimits({ limits }: Pick<Step, 'limits'>): boolean {
  return limits.parts !== Number.POSITIVE_INFINITY;
}

/** A function that answers what it answered first: what a leg asks for twice is found once. */
export function once<A, R>(find: (given: A) => R): (given: A) => R {
  let found: { readonly result: R } | undefined;
  return (given) => {
    found ??= { result: find(given) };
    return found.result;
  };
}

/** `<WHAT> (block limit)` and `<WHAT> (limit)`, of an action that is about its source's own. They are counted when they are asked for. */
export function partChecks<Leg>(what: string, count: (leg: Leg, step: Step) => number): Check<Leg>[] {
  return [
    [`${what} (block limit)`, (_, step) => isBlockFull(step)],
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

/** The same of an action that anybody may send to others: those whom it gives nothing cost the block looks alone. */
export function recipientChecks<Leg>(count: (leg: Leg, step: Step) => number): Check<Leg>[] {
  return [
    ['RECIPIENTS (block limit)', (_, step) => isBlockFull(step) || isSeenEnough('recipients', step)],
    [
      'RECIPIENTS (limit)',
      (leg, step) => {
        const recipients = count(leg, step);
        step.ledger.looks.recipients += recipients;
        return recipients > step.limits.parts;
      }
    ]
  ];
}

/** `SOURCE (sleeping)`. */
export const sourceSleeps: Check<unknown> = [
  'SOURCE (sleeping)',
  (_, { action, ledger }) => ledger.isAsleep('address', action.source, action.block.height)
];

/** `TICK (sleeping)`, of a leg whose token is known. */
export const tickSleeps: Check<{ readonly token: Token | null }> = [
  'TICK (sleeping)',
  ({ token }, { action, ledger }) => ledger.isAsleep('tick', token!.tick, action.block.height)
];

/** `TICK (unknown)`. */
export const tickUnknown: Check<{ readonly token: Token | null }> = ['TICK (unknown)', ({ token }) => token === null];

/** `SOURCE (not authorized)` by the token's lists. */
export const sourceBarred: Check<{ readonly token: Token | null }> = [
  'SOURCE (not authorized)',
  ({ token }, { action, ledger }) => isBarred(ledger, token!, action.source)
];

/** `TICK (ownership escrowed)`. */
export const ownershipEscrowed: Check<{ readonly token: Token | null }> = [
  'TICK (ownership escrowed)',
  ({ token }) => token?.escrowActionIndex != null
];

/** The three checks of a memo. */
export const MEMO_CHECKS: readonly Check<{ readonly memo: string }>[] = [
  ['MEMO (pipe)', ({ memo }) => memo.includes('|')],
  ['MEMO (semicolon)', ({ memo }) => memo.includes(';')],
  ['MEMO (length)', ({ memo }) => lengthOf(memo) > MAX_MEMO]
];

/** Whether the lists of a token or offer keep an address out. An allow list without members keeps everybody out. */
export function isBarred(ledger: Effects, lists: Lists, address: string): boolean {
  return !isAllowed(ledger, lists, address) || isBlocked(ledger, lists, address);
}

type Lists = Pick<Token, 'allowList' | 'blockList'>;

/** Whether there is no allow list, or it has the address. */
export function isAllowed(ledger: Effects, { allowList }: Lists, address: string): boolean {
  return allowList === null || hasMember(ledger, allowList, address);
}

/** Whether there is a block list that has the address. */
export function isBlocked(ledger: Effects, { blockList }: Lists, address: string): boolean {
  return blockList !== null && hasMember(ledger, blockList, address);
}

function hasMember(ledger: Effects, index: number, address: string): boolean {
  return ledger.list(index)?.list.members.has(address) ?? false;
}

/** An amount of a token; null for a badly formed one, an empty one included. */
export function readAmount(text: string, token: Pick<Token, 'decimals'> | null): bigint | null {
  return parseTokenAmount(text, token?.decimals ?? MAX_PLACES);
}

/** Whether an amount has no more places than its token has now: DECIMALS may have fallen since it was read. */
export function fitsPlaces(amount: bigint, { decimals }: Pick<Token, 'decimals'>): boolean {
  return amount % 10n ** BigInt(MAX_PLACES - decimals) === 0n;
}

/** A whole number for a column of texts, without zeros in front; what is none stays as written, an empty text is NULL. */
export function indexColumn(text: string): string | null {
  const index = readIndex(text);
  return index === null ? orNull(text) : String(index);
}

/** Characters as a reader counts them. */
export function lengthOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** Text for a nullable column. */
export function orNull(text: string): string | null {
  return text === '' ? null : text;
}

/**
 * The column of the ticker that a field names. From the first block of REFUSED_TICKERS on, one without a token gets an id as well.
 *
 * @param token  what `ledger.token` says of the field
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

/** The address of this chain that a text is, in its one spelling; null for any other text: only addresses get ids. */
export function ownAddress({ rules, action }: Step, text: string | null): string | null {
  return (text !== null && rules.readAddress(text, rules.coin, action.block.height)) || null;
}

/** The address of this chain that a field is, in its one spelling; a field that is none stays as it is written. */
export function plainAddress(step: Step, field: string): string {
  return ownAddress(step, field) ?? field;
}

/** The same of a field that may be `^id`; null when the id names no address. */
export function namedAddress(step: Step, field: string): string | null {
  const named = step.ledger.addressOf(field);
  return named && plainAddress(step, named);
}

/** The facts that a transfer between two addresses reads, for one load. */
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
