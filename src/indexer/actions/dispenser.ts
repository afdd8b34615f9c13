import { formatAmount } from '../../consensus/amount.ts';
import { DISPENSER_DELAY_S } from '../offers/delays.ts';
import { cancelDispenser, setDispenserStatus } from '../offers/dispenser-end.ts';
import { holdSide } from '../offers/escrow.ts';
import type { Dispenser } from '../offers/offer.ts';
import {
  defaultExpiration,
  expirationFormat,
  listRoot,
  type OfferFields,
  readOfferFields,
  readSideAmount,
  TERM_CHECKS
} from '../offers/offer-fields.ts';
import { ONE } from '../offers/units.ts';
import { byFormat, type Check, defineAction, type Handler, type Step } from '../rules/action-definition.ts';
import { isBarred, MEMO_CHECKS, orNull, ownAddress, readIndex, sourceSleeps } from '../rules/checks.ts';
import { COINS, FIATS } from '../rules/rules.ts';
import type { Token } from '../state/state.ts';
import { MARKET_CHECKS, ownershipChecks } from './offer-checks.ts';

interface NewDispenser extends OfferFields {
  readonly giveCoin: string;
  readonly getCoin: string;
  readonly give: {
    readonly token: Token | null;
    readonly amountText: string;
    readonly amount: bigint | null;
    readonly ownership: string;
  };
  readonly escrowText: string;
  readonly escrow: bigint | null;
  readonly getTickText: string;
  readonly getToken: Token | null;
  readonly getAmountText: string;
  readonly getAmount: bigint | null;
  readonly getAddress: string;
  readonly fiat: string;
  readonly fiatAmount: string;
  readonly oracle: string;
}

const MAX_REFILLS = 5;
const FOREIGN_PAYMENTS = 2;

function readNew(step: Step): NewDispenser[] {
  const { action, ledger } = step;
  const { get } = action.fields;
  const [giveToken, getToken] = [ledger.token(get('GIVE_TICK')), ledger.token(get('GET_TICK'))];
  const escrowText = get('GIVE_ESCROW');
  return [
    {
      giveCoin: get('GIVE_COIN').toUpperCase(),
      getCoin: get('GET_COIN').toUpperCase(),
      give: {
        token: giveToken,
        amountText: get('GIVE_AMOUNT'),
        amount: readSideAmount(get('GIVE_AMOUNT'), giveToken),
        ownership: get('GIVE_OWNERSHIP')
      },
      escrowText,
      escrow: escrowText === '' ? 0n : readSideAmount(escrowText, giveToken),
      getTickText: get('GET_TICK'),
      getToken,
      getAmountText: get('GET_AMOUNT'),
      getAmount: readSideAmount(get('GET_AMOUNT'), getToken),
      getAddress: get('GET_ADDRESS') || action.source,
      fiat: get('FIAT_CODE').toUpperCase(),
      fiatAmount: get('FIAT_AMOUNT'),
      oracle: get('ORACLE_ADDRESS'),
      ...readOfferFields(step, defaultExpiration(step))
    }
  ];
}

const isOwnership = ({ give }: NewDispenser) => give.ownership === '1';

/** Prices of fiat dispensers come from PRICE and its oracles, of which there are none yet. */
const FIAT_CHECKS: readonly Check<NewDispenser>[] = [
  ['ORACLE_ADDRESS (no effective oracle price)', ({ oracle }) => oracle !== ''],
  ['FIAT_CODE (no price snapshot in the settlement window)', ({ fiat }) => fiat !== '']
];

/** Whether somebody else's address may take the payments: it asked for that, is new, or has taken the source's before. */
function isPermitted({ getAddress }: NewDispenser, { action, ledger }: Step): boolean {
  return (
    getAddress === action.source ||
    ledger.preferences(getAddress)?.dispenser === FOREIGN_PAYMENTS ||
    ledger.get('addressId', getAddress) === null ||
    ledger.get('served', `${action.source}|${getAddress}`)
  );
}

const create = defineAction<NewDispenser>({
  name: 'DISPENSER',
  table: 'dispensers',
  formats: {
    0: 'GIVE_COIN|GIVE_TICK|GIVE_AMOUNT|GIVE_OWNERSHIP|GIVE_ESCROW|GET_COIN|GET_TICK|GET_AMOUNT|GET_ADDRESS|FIAT_CODE|FIAT_AMOUNT|ORACLE_ADDRESS|EXPIRATION|ALLOW_LIST|BLOCK_LIST|MEMO'
  },
  read: readNew,
  checks: [
    ['GIVE_COIN (unsupported COIN network)', ({ giveCoin }) => !COINS.has(giveCoin)],
    ['GET_COIN (unsupported COIN network)', ({ getCoin }) => !COINS.has(getCoin)],
    ['GIVE_COIN (network)', ({ giveCoin }, { rules }) => giveCoin !== rules.coin],
    ['GET_COIN (network)', ({ getCoin }, { rules }) => getCoin !== rules.coin],
    ['GIVE_TICK (unknown)', ({ give }) => give.token === null],
    ['GET_TICK (unknown)', ({ getTickText, getToken }) => getTickText !== '' && getToken === null],
    ['FIAT_CODE (unsupported FIAT)', ({ fiat }) => fiat !== '' && !FIATS.has(fiat)],
    [
      'FIAT_AMOUNT (required when FIAT_CODE is set without ORACLE_ADDRESS)',
      ({ fiat, oracle, fiatAmount }) => fiat !== '' && oracle === '' && fiatAmount === ''
    ],
    ['FIAT_CODE (required when FIAT_AMOUNT is set)', ({ fiat, fiatAmount }) => fiat === '' && fiatAmount !== ''],
    ['FIAT_CODE (required when ORACLE_ADDRESS is set)', ({ fiat, oracle }) => fiat === '' && oracle !== ''],
    ['ORACLE_ADDRESS (format)', ({ oracle }, step) => oracle !== '' && ownAddress(step, oracle) === null],
    ['GIVE_AMOUNT (format)', ({ give }) => give.amountText !== '' && give.amount === null],
    ['GIVE_ESCROW (format)', ({ escrow }) => escrow === null],
    ['GIVE_OWNERSHIP (format)', ({ give }) => !/^[01]?$/.test(give.ownership)],
    ['GIVE_ESCROW (must be empty when GIVE_OWNERSHIP=1)', (leg) => isOwnership(leg) && leg.escrowText !== ''],
    ...ownershipChecks,
    ['GET_AMOUNT (format)', ({ getAmountText, getAmount }) => getAmountText !== '' && getAmount === null],
    ['GET_AMOUNT (must be positive)', ({ fiat, getAmount }) => fiat === '' && !getAmount],
    ['GET_ADDRESS (format)', ({ getAddress }, step) => ownAddress(step, getAddress) === null],
    expirationFormat,
    ['FIAT_AMOUNT (format)', ({ fiatAmount }) => fiatAmount !== '' && !/^\d{1,15}(?:\.\d{1,2})?$/.test(fiatAmount)],
    ...FIAT_CHECKS,
    ...MARKET_CHECKS,
    ['GET_ADDRESS (not authorized)', ({ give, getAddress }, { ledger }) => isBarred(ledger, give.token!, getAddress)],
    ['GET_ADDRESS (dispenser not permitted)', (leg, step) => !isPermitted(leg, step)],
    ...TERM_CHECKS,
    [
      'insufficient funds (GIVE_ESCROW)',
      ({ give, escrow }, { action, ledger }) => ledger.balance(give.token!.tick, action.source) < escrow!
    ]
  ],
  row: (leg, step) => ({
    give_coin_id: COINS.has(leg.giveCoin) ? leg.giveCoin : null,
    give_tick_id: leg.give.token?.tick ?? null,
    give_amount: leg.give.amount === null ? orNull(leg.give.amountText) : formatAmount(leg.give.amount),
    give_escrow: leg.escrow === null || leg.escrowText === '' ? orNull(leg.escrowText) : formatAmount(leg.escrow),
    give_ownership: Number(isOwnership(leg)),
    get_coin_id: COINS.has(leg.getCoin) ? leg.getCoin : null,
    get_tick_id: leg.getToken?.tick ?? null,
    get_amount: leg.getAmount === null ? orNull(leg.getAmountText) : formatAmount(leg.getAmount),
    get_address_id: ownAddress(step, leg.getAddress),
    fiat_id: FIATS.has(leg.fiat) ? leg.fiat : null,
    fiat_amount: orNull(leg.fiatAmount),
    oracle_address_id: leg.oracle === '' ? null : ownAddress(step, leg.oracle),
    expiration: leg.expiration,
    allow_list: listRoot(leg.allowText, step),
    block_list: listRoot(leg.blockText, step),
    memo_id: orNull(leg.memo)
  }),
  apply: (leg, step) => {
    const { action, ledger } = step;
    const give = {
      tick: leg.give.token!.tick,
      amount: isOwnership(leg) ? ONE : leg.give.amount!,
      isOwnership: isOwnership(leg)
    };
    const left = isOwnership(leg) ? ONE : leg.escrow!;
    holdSide({ ...give, amount: left }, action.source, step);
    ledger.set('served', `${action.source}|${leg.getAddress}`, true);
    const dispenser: Dispenser = {
      kind: 'dispenser',
      index: action.index,
      source: action.source,
      status: 'open',
      give,
      get: { tick: leg.getToken?.tick ?? null, amount: leg.getAmount! },
      getAddress: leg.getAddress,
      left,
      refills: 0,
      dispenses: 0,
      expiration: leg.expiration!,
      lists: [{ from: 0, allowList: listRoot(leg.allowText, step), blockList: listRoot(leg.blockText, step) }],
      closesAt: null,
      heir: action.source
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
  const escrowText = action.fields.get('GIVE_ESCROW');
  const token = dispenser && ledger.token(dispenser.give.tick!);
  const escrow = escrowText === '' ? 0n : readSideAmount(escrowText, token);
  return [{ named, dispenser, escrowText, escrow, ...readOfferFields(step, null) }];
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
  ['DISPENSER_ACTION_INDEX (dispenser not open)', ({ dispenser }) => dispenser!.status !== 'open']
];

const cancel = defineAction<Change>({
  name: 'DISPENSER_CANCEL',
  table: 'dispenser_cancels',
  formats: { 1: 'DISPENSER_ACTION_INDEX|MEMO' },
  read: readChange,
  checks: CHANGE_CHECKS,
  row: ({ named, memo }) => ({ dispenser_action_index: named ?? 0, memo_id: orNull(memo) }),
  apply: ({ dispenser }, step) => cancelDispenser(dispenser!, step.action.source, step)
});

const edit = defineAction<Change>({
  name: 'DISPENSER_EDIT',
  table: 'dispenser_edits',
  formats: { 2: 'DISPENSER_ACTION_INDEX|GIVE_ESCROW|EXPIRATION|ALLOW_LIST|BLOCK_LIST|MEMO' },
  read: readChange,
  checks: [
    ...CHANGE_CHECKS,
    [
      'GIVE_ESCROW (must be empty when GIVE_OWNERSHIP=1)',
      ({ dispenser, escrowText }) => dispenser!.give.isOwnership && escrowText !== ''
    ],
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
  row: ({ named, escrow, escrowText, expiration, allowText, blockText, memo }, step) => ({
    dispenser_action_index: named ?? 0,
    give_escrow: escrow === null || escrowText === '' ? orNull(escrowText) : formatAmount(escrow),
    expiration,
    allow_list: allowText === '0' ? 0 : listRoot(allowText, step),
    block_list: blockText === '0' ? 0 : listRoot(blockText, step),
    memo_id: orNull(memo)
  }),
  apply: ({ dispenser, escrow, expiration, allowText, blockText }, step) => {
    const { action, ledger } = step;
    const before = dispenser!;
    holdSide({ ...before.give, amount: escrow! }, action.source, step);
    ledger.setOffer({
      ...before,
      left: before.left + escrow!,
      refills: before.refills + Number(escrow! > 0n),
      dispenses: escrow! > 0n ? 0 : before.dispenses,
      expiration: expiration ?? before.expiration,
      lists: editedLists(before, { allowText, blockText }, step)
    });
  }
});

function editedLists(
  { lists }: Dispenser,
  { allowText, blockText }: Pick<Change, 'allowText' | 'blockText'>,
  step: Step
): Dispenser['lists'] {
  if (allowText === '' && blockText === '') return lists;
  const { allowList, blockList } = lists.at(-1)!;
  const edited = {
    from: step.action.block.time + DISPENSER_DELAY_S,
    allowList: allowText === '' ? allowList : listRoot(allowText, step),
    blockList: blockText === '' ? blockList : listRoot(blockText, step)
  };
  return [...lists, edited];
}

/** Sells what it holds to whoever pays its address. */
export const DISPENSER: Handler = byFormat([create, cancel, edit]);
