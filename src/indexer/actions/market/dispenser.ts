import { DISPENSER_FORMATS, MAX_REFILLS } from '../../../coin/action/dispenser.ts';
import { parseAmount } from '../../../consensus/amount.ts';
import { compareBytes } from '../../../consensus/byte-order.ts';
import { spent } from '../../fees/charge.ts';
import { DISPENSER_DELAY_S } from '../../offers/delays.ts';
import { cancelDispenser, isOverdue, setDispenserStatus } from '../../offers/dispenser-end.ts';
import { withEdit } from '../../offers/dispenser-lists.ts';
import { holdSide } from '../../offers/escrow.ts';
import {
  defaultExpiration,
  editedColumns,
  editedLists,
  expirationFormat,
  extensionOf,
  listRoot,
  type OfferFields,
  readOfferFields,
  readSideAmount,
  TERM_CHECKS,
  termColumns,
  termOf
} from '../../offers/offer-fields.ts';
import {
  amountColumn,
  isOwnership,
  type OfferSides,
  readSides,
  sideColumns,
  sideOf
} from '../../offers/side-fields.ts';
import { ONE } from '../../offers/units.ts';
import { FIATS } from '../../profile/rules.ts';
import { byFormat, type Check, defineAction, type Handler, type Step } from '../../rules/action-definition.ts';
import {
  fitsPlaces,
  isBlockFull,
  isExcluded,
  MEMO_CHECKS,
  orNull,
  ownAddress,
  plainAddress,
  readIndex,
  sourceSleeps
} from '../../rules/checks.ts';
import type { Dispenser } from '../../state/offer.ts';
import type { Token } from '../../state/token.ts';
import {
  amountFormat,
  COIN_CHECKS,
  MARKET_CHECKS,
  ownershipAlone,
  ownershipChecks,
  ownershipFormat
} from './offer-checks.ts';

interface NewDispenser extends OfferFields, OfferSides {
  readonly escrowText: string;
  readonly escrow: bigint | null;
  readonly getAddress: string;
  readonly fiat: string;
  readonly fiatAmount: string;
  readonly oracle: string;
}

const FOREIGN_PAYMENTS = 2;
/**
 * Units of an opening beside its action and what it moves. It leaves three times as many rows as another action that
 * moves nothing, and a place in everybody's memory until it ends, also where it holds nothing.
 */
const OPENING_UNITS = 6;

function readNew(step: Step): NewDispenser[] {
  const { action } = step;
  const { get } = action.fields;
  const sides = readSides(step);
  return [
    {
      ...sides,
      ...readEscrow(step, sides.give.token),
      getAddress: plainAddress(step, get('GET_ADDRESS') || action.source),
      fiat: get('FIAT_CODE').toUpperCase(),
      fiatAmount: get('FIAT_AMOUNT'),
      oracle: plainAddress(step, get('ORACLE_ADDRESS')),
      ...readOfferFields(step, defaultExpiration(step))
    }
  ];
}

/** Reads the amount that a dispenser is filled with; null for a text that is no amount of its token. */
function readEscrow({ action }: Step, token: Token | null): Pick<NewDispenser, 'escrow' | 'escrowText'> {
  const escrowText = action.fields.get('GIVE_ESCROW');
  return { escrowText, escrow: escrowText === '' ? 0n : readSideAmount(escrowText, token) };
}

/** Returns whether fills may have a price in a currency. In blocks below that height such dispensers are refused. */
const takesFiat = ({ action, rules }: Pick<Step, 'action' | 'rules'>) =>
  rules.isActive('FIAT_DISPENSERS', action.block.height);

/** Checks of the price of a fill. Validators sign prices of coins only, and no oracle's price counts yet. */
const FIAT_CHECKS: readonly Check<NewDispenser>[] = [
  ['ORACLE_ADDRESS (no effective oracle price)', ({ oracle }) => oracle !== ''],
  [
    'FIAT_CODE (no price snapshot in the settlement window)',
    ({ fiat, get }, step) => fiat !== '' && (!takesFiat(step) || get.tickText !== '')
  ]
];

/**
 * Returns whether an address may take the payments: it is the source's own, allowed that, is new in this block, or has
 * taken the source's before.
 *
 * From the height of DISPENSER_LIMITS on, no command of a BATCH may name another one: a decoder cannot tell which a
 * ledger refuses, so each would cost it thousands of rows. And an address that said nothing is for the first source
 * alone that opens a dispenser there.
 */
function isPermitted({ getAddress }: NewDispenser, { action, ledger, rules }: Step): boolean {
  if (getAddress === action.source) return true;
  const isNew = ledger.get('addressId', getAddress) === null || action.block.newAddresses.has(getAddress);
  const preference = ledger.preferences(getAddress)?.dispenser ?? null;
  if (!rules.isActive('DISPENSER_LIMITS', action.block.height))
    return preference === FOREIGN_PAYMENTS || isNew || ledger.get('served', `${action.source}|${getAddress}`);
  if (action.siblings.length > 0) return false;
  if (preference !== null) return preference === FOREIGN_PAYMENTS;
  const first = ledger.get('firstSeller', getAddress);
  return first === null ? isNew : first === action.source;
}

const create = defineAction<NewDispenser>({
  name: 'DISPENSER',
  table: 'dispensers',
  formats: { 0: DISPENSER_FORMATS[0] },
  read: readNew,
  checks: [
    ...COIN_CHECKS,
    ['GET_COIN (network)', ({ get }, { rules }) => get.coin !== rules.coin],
    ['GIVE_TICK (unknown)', ({ give }) => give.token === null],
    ['GET_TICK (unknown)', ({ get }) => get.tickText !== '' && get.token === null],
    ['FIAT_CODE (unsupported FIAT)', ({ fiat }) => fiat !== '' && !FIATS.has(fiat)],
    [
      'FIAT_AMOUNT (required when FIAT_CODE is set without ORACLE_ADDRESS)',
      ({ fiat, oracle, fiatAmount }) => fiat !== '' && oracle === '' && fiatAmount === ''
    ],
    ['FIAT_CODE (required when FIAT_AMOUNT is set)', ({ fiat, fiatAmount }) => fiat === '' && fiatAmount !== ''],
    ['FIAT_CODE (required when ORACLE_ADDRESS is set)', ({ fiat, oracle }) => fiat === '' && oracle !== ''],
    ['ORACLE_ADDRESS (format)', ({ oracle }, step) => oracle !== '' && ownAddress(step, oracle) === null],
    amountFormat('give'),
    ['GIVE_ESCROW (format)', ({ escrow }) => escrow === null],
    ownershipFormat('give'),
    ownershipAlone,
    [
      'GIVE_ESCROW (must be empty when GIVE_OWNERSHIP=1)',
      ({ give, escrowText }) => isOwnership(give) && escrowText !== ''
    ],
    ...ownershipChecks,
    amountFormat('get'),
    ['GET_AMOUNT (must be positive)', ({ fiat, get }, step) => (fiat === '' || takesFiat(step)) && !get.amount],
    ['GET_ADDRESS (format)', ({ getAddress }, step) => ownAddress(step, getAddress) === null],
    expirationFormat,
    [
      'FIAT_AMOUNT (format)',
      ({ fiatAmount }, step) =>
        fiatAmount !== '' &&
        (!/^\d{1,15}(?:\.\d{1,2})?$/.test(fiatAmount) || (takesFiat(step) && parseAmount(fiatAmount) === 0n))
    ],
    ...FIAT_CHECKS,
    ...MARKET_CHECKS,
    ['GET_ADDRESS (not authorized)', ({ give, getAddress }, { ledger }) => isExcluded(ledger, give.token!, getAddress)],
    ['GET_ADDRESS (dispenser not permitted)', (leg, step) => !isPermitted(leg, step)],
    ...TERM_CHECKS,
    [
      'insufficient funds (GIVE_ESCROW)',
      ({ give, escrow }, { action, ledger }) => ledger.balance(give.token!.tick, action.source) < escrow!
    ],
    ['DISPENSER (block limit)', (_, step) => isBlockFull(step)]
  ],
  charges: ({ give, escrow, expiration }, step) => ({
    ...termOf(expiration!, step),
    ownership: isOwnership(give),
    ...(isOwnership(give) ? {} : spent(give.token!, escrow!, step))
  }),
  row: (leg, step) => {
    const [getAddress, oracle] = [leg.getAddress, leg.oracle].map((address) => ownAddress(step, address));
    // Both may be new: they get their ids in byte order.
    for (const address of [getAddress, oracle].filter((one) => one != null).sort(compareBytes))
      step.ledger.addressId(address);
    return {
      ...sideColumns(leg, step),
      give_escrow: amountColumn(leg.escrow, leg.escrowText),
      get_address_id: getAddress ?? null,
      fiat_id: FIATS.has(leg.fiat) ? leg.fiat : null,
      fiat_amount: orNull(leg.fiatAmount),
      oracle_address_id: oracle ?? null,
      ...termColumns(leg, step)
    };
  },
  apply: (leg, step) => {
    const { action, ledger } = step;
    const give = sideOf(leg.give);
    const left = give.isOwnership ? ONE : leg.escrow!;
    ledger.looked += OPENING_UNITS;
    holdSide({ ...give, amount: left }, action.source, step);
    ledger.set('served', `${action.source}|${leg.getAddress}`, true);
    if (ledger.get('firstSeller', leg.getAddress) === null) ledger.set('firstSeller', leg.getAddress, action.source);
    const dispenser: Dispenser = {
      kind: 'dispenser',
      index: action.index,
      source: action.source,
      status: 'open',
      give,
      get: { tick: leg.get.token?.tick ?? null, amount: leg.get.amount! },
      fiat: leg.fiat === '' ? null : { code: leg.fiat, amount: parseAmount(leg.fiatAmount)! },
      getAddress: leg.getAddress,
      left,
      refills: 0,
      dispenses: 0,
      refusals: 0,
      expiration: leg.expiration!,
      lists: [{ from: 0, allowList: listRoot(leg.allowText, step), blockList: listRoot(leg.blockText, step) }],
      closesAt: null,
      refundAddress: action.source
    };
    setDispenserStatus(dispenser, 'open', step);
  }
});

interface Change extends OfferFields {
  readonly named: number | null;
  readonly dispenser: Dispenser | null;
  readonly escrowText: string;
  readonly escrow: bigint | null;
}

function readChange(step: Step): Change[] {
  const { action, ledger } = step;
  const named = readIndex(action.fields.get('DISPENSER_ACTION_INDEX'));
  const dispenser = named === null ? null : ledger.offer('dispenser', named);
  const token = dispenser && ledger.token(dispenser.give.tick!);
  return [{ named, dispenser, ...readEscrow(step, token), ...readOfferFields(step, null) }];
}

/**
 * Returns whether a fill is still an amount of the token, whose DECIMALS may have fallen while the dispenser was empty.
 */
function isStillExact({ tick, amount }: Dispenser['give'], { action, ledger, rules }: Step): boolean {
  return !rules.isActive('EXACT_AMOUNTS', action.block.height) || fitsPlaces(amount, ledger.token(tick!)!);
}

const CHANGE_CHECKS: readonly Check<Change>[] = [
  ['GIVE_ESCROW (format)', ({ escrow }) => escrow === null],
  expirationFormat,
  sourceSleeps,
  ...MEMO_CHECKS,
  ['DISPENSER_ACTION_INDEX (unknown)', ({ dispenser }) => dispenser === null],
  [
    'SOURCE (not owner)',
    ({ dispenser }, { action }) => ![dispenser!.source, dispenser!.getAddress].includes(action.source)
  ],
  [
    'DISPENSER_ACTION_INDEX (dispenser not open)',
    ({ dispenser }, { action }) => dispenser!.status !== 'open' || isOverdue(dispenser!, action.block)
  ]
];

const cancel = defineAction<Change>({
  name: 'DISPENSER_CANCEL',
  table: 'dispenser_cancels',
  formats: { 1: DISPENSER_FORMATS[1] },
  read: readChange,
  checks: CHANGE_CHECKS,
  row: ({ named, memo }) => ({ dispenser_action_index: named ?? 0, memo_id: orNull(memo) }),
  apply: ({ dispenser }, step) => cancelDispenser(dispenser!, step.action.source, step)
});

const edit = defineAction<Change>({
  name: 'DISPENSER_EDIT',
  table: 'dispenser_edits',
  formats: { 2: DISPENSER_FORMATS[2] },
  read: readChange,
  checks: [
    ...CHANGE_CHECKS,
    [
      'GIVE_ESCROW (must be empty when GIVE_OWNERSHIP=1)',
      ({ dispenser, escrowText }) => dispenser!.give.isOwnership && escrowText !== ''
    ],
    ['GIVE_AMOUNT (format)', ({ dispenser, escrow }, step) => escrow! > 0n && !isStillExact(dispenser!.give, step)],
    [
      'MAX_REFILLS (dispenser refill limit reached)',
      ({ dispenser, escrow }) => escrow! > 0n && dispenser!.refills >= MAX_REFILLS
    ],
    ...TERM_CHECKS,
    [
      'insufficient funds (GIVE_ESCROW)',
      ({ dispenser, escrow }, { action, ledger }) => ledger.balance(dispenser!.give.tick!, action.source) < escrow!
    ]
  ],
  charges: (change, step) => {
    const { dispenser, escrow } = change;
    const token = step.ledger.token(dispenser!.give.tick!)!;
    return { ...extensionOf(dispenser!, change, step), ...spent(token, escrow!, step) };
  },
  row: (change, step) => ({
    dispenser_action_index: change.named ?? 0,
    give_escrow: amountColumn(change.escrow, change.escrowText),
    ...editedColumns(change, step),
    expiration: endAfter(change, step),
    memo_id: orNull(change.memo)
  }),
  apply: (change, step) => {
    const { action, ledger } = step;
    const { escrow } = change;
    const before = change.dispenser!;
    holdSide({ ...before.give, amount: escrow! }, action.source, step);
    ledger.setOffer({
      ...before,
      left: before.left + escrow!,
      refills: before.refills + Number(escrow! > 0n),
      ...(escrow! > 0n ? { dispenses: 0, refusals: 0 } : {}),
      expiration: endAfter(change, step) ?? before.expiration,
      lists: listsAfter(before, change, step)
    });
  }
});

/**
 * Returns the end of a dispenser after an edit; null: it keeps its own. From the height of DISPENSER_NOTICE on an earlier one is an hour away at
 * least, as after a cancel: payments are under way.
 */
function endAfter({ dispenser, expiration }: Change, { action, rules }: Step): number | null {
  const { height, time } = action.block;
  if (!dispenser || expiration === null || !rules.isActive('DISPENSER_NOTICE', height)) return expiration;
  return Math.max(expiration, Math.min(dispenser.expiration, time + DISPENSER_DELAY_S));
}

/** Returns the lists after an edit. They count later than the rest of the edit. */
function listsAfter({ lists }: Dispenser, change: Change, step: Step): Dispenser['lists'] {
  if (change.allowText === '' && change.blockText === '') return lists;
  const now = step.action.block.time;
  return withEdit(lists, { from: now + DISPENSER_DELAY_S, ...editedLists(lists.at(-1)!, change, step) }, now);
}

/** Sells its contents to whoever pays its address. */
export const DISPENSER: Handler = byFormat([create, cancel, edit]);
