import { cancelDispenser } from '../../offers/dispenser-end.ts';
import type { Dispenser, Trade } from '../../offers/offer.ts';
import { endTrade } from '../../offers/trade-end.ts';
import { type Check, defineAction, type Step, VALID } from '../../rules/action-definition.ts';
import { lookChecks, MEMO_CHECKS, namedAddress, orNull, ownAddress, sourceSleeps } from '../../rules/checks.ts';
import type { Token } from '../../state/token.ts';
import { writeOwnership } from '../tokens/ownership.ts';

interface Sweep {
  /** Address; null for an `^id` that names nothing. */
  readonly destination: string | null;
  readonly flags: Readonly<Record<Flag, string>>;
  readonly memo: string;
}

/** Flags of what may be swept, with their values where the field is empty. */
const DEFAULTS = { BALANCES: '1', OWNERSHIPS: '1', ORDERS: '0', SWAPS: '0', DISPENSERS: '0' } as const;
type Flag = keyof typeof DEFAULTS;
const FLAGS = Object.keys(DEFAULTS) as Flag[];

function read(step: Step): Sweep[] {
  const { fields } = step.action;
  const flags = FLAGS.map((flag) => [flag, fields.get(flag) || DEFAULTS[flag]] as const);
  return [
    {
      destination: namedAddress(step, fields.get('DESTINATION')),
      flags: Object.fromEntries(flags) as Record<Flag, string>,
      memo: fields.get('MEMO')
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
function sweepOffers(flags: Sweep['flags'], to: string, step: Step): void {
  const { action, ledger } = step;
  const isOpen = ({ status }: Trade | Dispenser) => status === 'open';
  for (const [flag, kind] of [
    ['ORDERS', 'order'],
    ['SWAPS', 'swap']
  ] as const) {
    if (flags[flag] !== '1') continue;
    for (const trade of ledger.offersOf(kind, action.source).filter(isOpen)) endTrade(trade, 'cancelled', to, step);
  }
  if (flags.DISPENSERS !== '1') return;
  for (const dispenser of ledger.offersOf('dispenser', action.source).filter(isOpen))
    cancelDispenser(dispenser, to, step);
}

/** Returns whether an item is moved. An offer that already ends, and an ownership on offer, stay. */
const isMoved = (item: Item) =>
  'status' in item ? item.status === 'open' : !('owner' in item) || item.escrowActionIndex === null;
const isAny = () => true;

type Item = Trade | Dispenser | Token | ReturnType<Step['ledger']['holdings']>[number];

/** Counts the items of the source that the flags name. @param isMeant filter of the items that count */
function countItems({ flags }: Sweep, { action, ledger }: Step, isMeant: (item: Item) => boolean = isAny): number {
  const count = (flag: Flag, items: () => readonly Item[]) =>
    flags[flag] === '1' ? items().filter(isMeant).length : 0;
  return (
    count('BALANCES', () => ledger.holdings(action.source)) +
    count('OWNERSHIPS', () => ledger.owned(action.source)) +
    count('ORDERS', () => ledger.offersOf('order', action.source)) +
    count('SWAPS', () => ledger.offersOf('swap', action.source)) +
    count('DISPENSERS', () => ledger.offersOf('dispenser', action.source))
  );
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
    ...lookChecks<Sweep>('ITEMS', countItems)
  ],
  charges: (sweep, step) => ({ items: countItems(sweep, step, isMoved) }),
  row: ({ destination, flags, memo }, step) => ({
    ...Object.fromEntries(FLAGS.map((flag) => [flag.toLowerCase(), /^[01]$/.test(flags[flag]) ? flags[flag] : null])),
    destination_id: ownAddress(step, destination),
    memo_id: orNull(memo)
  }),
  apply: (sweep, step) => {
    const { destination, flags } = sweep;
    const { action, ledger } = step;
    ledger.looked += countItems(sweep, step, isMoved);
    sweepOffers(flags, destination!, step);
    if (flags.BALANCES === '1') {
      for (const { token, amount } of ledger.holdings(action.source)) {
        ledger.debit(token, action.source, amount);
        ledger.credit(token, destination!, amount);
      }
    }
    if (flags.OWNERSHIPS !== '1') return;
    for (const token of ledger.owned(action.source)) {
      if (token.escrowActionIndex === null) writeOwnership(token, destination!, step, VALID);
    }
  }
});
