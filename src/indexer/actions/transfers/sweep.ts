import { cancelDispenser, isOverdue } from '../../offers/dispenser-end.ts';
import { endTrade, isPastEnd } from '../../offers/trade-end.ts';
import { type Check, defineAction, type Step, VALID } from '../../rules/action-definition.ts';
import {
  lookAt,
  looksLeft,
  MEMO_CHECKS,
  mostItems,
  namedAddress,
  once,
  orNull,
  ownAddress,
  seenCheck,
  sourceSleeps
} from '../../rules/checks.ts';
import { writeOwnership } from '../../rules/ownership.ts';
import { pairKey } from '../../state/keys.ts';
import type { Dispenser, Trade } from '../../state/offer.ts';
import type { Token } from '../../state/token.ts';

interface Sweep {
  /** Address; null for an `^id` that names nothing. */
  readonly destination: string | null;
  readonly flags: Readonly<Record<Flag, string>>;
  readonly memo: string;
  /** Returns how many items it may move. A later SWEEP moves the rest: anybody can give the source very many. */
  readonly most: (step: Step) => number;
  /** Returns what the source has of what the flags name. It is read at the first call. */
  readonly items: (step: Step) => readonly Item[];
}

/** Units of an item that is moved: two movements, and one more for the addresses that it touched. */
const UNITS_OF_ITEM = 3;
/** Looks of an item that the source has, moved or not. It reads a token and a balance, or an offer. */
const LOOKS_OF_ITEM = 10;

/** Flags of what may be swept, with their values where the field is empty. */
const DEFAULTS = { BALANCES: '1', OWNERSHIPS: '1', ORDERS: '0', SWAPS: '0', DISPENSERS: '0' } as const;
type Flag = keyof typeof DEFAULTS;
const FLAGS = Object.keys(DEFAULTS) as Flag[];
const SETS = [
  ['BALANCES', 'holdings'],
  ['OWNERSHIPS', 'owned']
] as const;
const OFFERS = [
  ['ORDERS', 'order'],
  ['SWAPS', 'swap'],
  ['DISPENSERS', 'dispenser']
] as const;

function read(step: Step): Sweep[] {
  const { fields } = step.action;
  const flags = Object.fromEntries(FLAGS.map((flag) => [flag, fields.get(flag) || DEFAULTS[flag]])) as Sweep['flags'];
  return [
    {
      destination: namedAddress(step, fields.get('DESTINATION')),
      flags,
      memo: fields.get('MEMO'),
      most: once((step) => mostItems(UNITS_OF_ITEM, step)),
      items: once((step) => itemsOf(flags, step))
    }
  ];
}

function flagCheck(flag: Flag): Check<Sweep> {
  const name = flag === 'OWNERSHIPS' ? 'OWNERSHIP' : flag; // as deployed indexers spell it
  return [`${name} (format)`, ({ flags }) => !/^[01]$/.test(flags[flag])];
}

/**
 * Ends the offers of the source. Those on the market are returned to the destination at once, those of dispensers when
 * they close.
 */
function sweepOffers(flags: Sweep['flags'], to: string, step: Step, taken: Taken): void {
  const { action, ledger } = step;
  const isOpen = (offer: Trade | Dispenser) => isStillOpen(offer, step);
  for (const [flag, kind] of [
    ['ORDERS', 'order'],
    ['SWAPS', 'swap']
  ] as const) {
    if (flags[flag] !== '1') continue;
    for (const trade of taken(ledger.offersOf(kind, action.source).filter(isOpen)))
      endTrade(trade, 'cancelled', to, step);
  }
  if (flags.DISPENSERS !== '1') return;
  for (const dispenser of taken(ledger.offersOf('dispenser', action.source).filter(isOpen)))
    cancelDispenser(dispenser, to, step);
}

/** Returns the first of some items, as many as the action may still move. */
type Taken = <T>(items: readonly T[]) => readonly T[];

function takenOf(most: number): Taken {
  let left = most;
  return (items) => {
    const first = items.slice(0, left);
    left -= first.length;
    return first;
  };
}

/**
 * Returns whether an offer is open. One whose end waits for a block with room is not: a dispenser would sell for
 * another hour, while decoders no longer keep payments to it.
 */
function isStillOpen(offer: Trade | Dispenser, { action: { block } }: Step): boolean {
  const isOver = offer.kind === 'dispenser' ? isOverdue(offer, block) : isPastEnd(offer, block);
  return offer.status === 'open' && !isOver;
}

/** Returns whether an item may be moved. An offer that ends, and an ownership on offer, stay. */
function isMoved(item: Item, step: Step): boolean {
  return 'status' in item ? isStillOpen(item, step) : !('owner' in item) || item.escrowActionIndex === null;
}

type Item = Trade | Dispenser | Token | ReturnType<Step['ledger']['holdings']>[number];

function itemsOf(flags: Sweep['flags'], { action: { source }, ledger }: Step): Item[] {
  return [
    ...(flags.BALANCES === '1' ? ledger.holdings(source) : []),
    ...(flags.OWNERSHIPS === '1' ? ledger.owned(source) : []),
    ...OFFERS.flatMap(([flag, kind]): Item[] => (flags[flag] === '1' ? ledger.offersOf(kind, source) : []))
  ];
}

/**
 * Returns whether the source has more items than the block has looks left for. They are counted before they are read:
 * anybody can give it more than fit into memory.
 */
function areTooMany(sweep: Sweep, step: Step): boolean {
  const most = looksLeft('recipients', step) / LOOKS_OF_ITEM;
  return most !== Number.POSITIVE_INFINITY && (fewestItems(sweep, step) > most || sweep.items(step).length > most);
}

/** Returns a number that is not above that of the items. Reads none of them. */
function fewestItems({ flags }: Sweep, { action: { source }, ledger }: Step): number {
  const sets = SETS.flatMap(([flag, set]) => (flags[flag] === '1' ? [set] : []));
  const offers = OFFERS.flatMap(([flag, kind]) => (flags[flag] === '1' ? ledger.countOffersOf(kind, source) : []));
  return offers.reduce((sum, count) => sum + count, ledger.fewestItems(sets, source));
}

/** Counts what the action moves of some items. */
function countMoved({ most }: Sweep, items: readonly Item[], step: Step): number {
  return Math.min(most(step), items.filter((item) => isMoved(item, step)).length);
}

/** Moves everything that the source has to another address. The lists of the tokens, and their sleep, do not matter. */
export const SWEEP = defineAction<Sweep>({
  name: 'SWEEP',
  table: 'sweeps',
  formats: { 0: 'DESTINATION|BALANCES|OWNERSHIPS|ORDERS|SWAPS|DISPENSERS|MEMO' },
  read,
  checks: [
    ['DESTINATION (unresolvable ^id)', ({ destination }) => destination === null],
    ['DESTINATION (null)', ({ destination }) => destination === ''],
    ['DESTINATION (format)', ({ destination }, step) => ownAddress(step, destination) === null],
    ...FLAGS.map(flagCheck),
    sourceSleeps,
    ...MEMO_CHECKS,
    seenCheck('ITEMS', areTooMany)
  ],
  charges: (sweep, step) => {
    lookAt(LOOKS_OF_ITEM * sweep.items(step).length, step);
    return { items: countMoved(sweep, sweep.items(step), step) };
  },
  row: ({ destination, flags, memo }, step) => ({
    ...Object.fromEntries(FLAGS.map((flag) => [flag.toLowerCase(), /^[01]$/.test(flags[flag]) ? flags[flag] : null])),
    destination_id: ownAddress(step, destination),
    memo_id: orNull(memo)
  }),
  apply: (sweep, step) => {
    const { destination, flags } = sweep;
    const { action, ledger } = step;
    const taken = takenOf(sweep.most(step));
    ledger.looked += countMoved(sweep, itemsOf(flags, step), step); // its fee may have been the last of one
    sweepOffers(flags, destination!, step, taken);
    if (flags.BALANCES === '1') {
      const moved = taken(ledger.holdings(action.source));
      ledger.request(moved.map(({ token }) => ({ kind: 'balance', key: pairKey(token.tick, destination!) }) as const));
      for (const { token, amount } of moved) {
        ledger.debit(token, action.source, amount);
        ledger.credit(token, destination!, amount);
      }
    }
    if (flags.OWNERSHIPS !== '1') return;
    const free = ledger.owned(action.source).filter(({ escrowActionIndex }) => escrowActionIndex === null);
    for (const token of taken(free)) writeOwnership(token, destination!, step, VALID);
  }
});
