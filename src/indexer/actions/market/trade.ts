import { spent } from '../../fees/charge.ts';
import { holdSide } from '../../offers/escrow.ts';
import { isBarred, matchTrade, openTrade } from '../../offers/matching.ts';
import {
  defaultExpiration,
  editedColumns,
  editedLists,
  expirationFormat,
  extensionOf,
  listRoot,
  type OfferFields,
  readOfferFields,
  TERM_CHECKS,
  termColumns,
  termOf
} from '../../offers/offer-fields.ts';
import { isOwnership, type OfferSides, readSides, sideColumns, sideOf } from '../../offers/side-fields.ts';
import { endTrade, isPastEnd } from '../../offers/trade-end.ts';
import { byFormat, type Check, defineAction, type Handler, type Step } from '../../rules/action-definition.ts';
import {
  isBlockFull,
  MEMO_CHECKS,
  namedAddress,
  orNull,
  ownAddress,
  readIndex,
  sourceSleeps
} from '../../rules/checks.ts';
import type { Trade } from '../../state/offer.ts';
import {
  amountFormat,
  COIN_CHECKS,
  MARKET_CHECKS,
  ownershipAlone,
  ownershipChecks,
  ownershipFormat
} from './offer-checks.ts';

type Kind = Trade['kind'];

interface NewTrade extends OfferFields, OfferSides {
  /** Address that is paid; null for an id that names none. */
  readonly getAddress: string | null;
}

function defineCreate(kind: Kind): Handler {
  const nativeChecks: Record<Kind, Check<NewTrade>[]> = {
    order: [
      ['cannot trade native coin for native coin', ({ give, get }) => give.tickText === '' && get.tickText === ''],
      ['GIVE_TICK (unknown)', ({ give }) => give.tickText !== '' && give.token === null],
      ['GET_TICK (unknown)', ({ get }) => get.tickText !== '' && get.token === null]
    ],
    swap: [
      ['GIVE_TICK (unknown)', ({ give }) => give.token === null],
      ['GET_TICK (unknown)', ({ get }) => get.token === null]
    ]
  };
  return defineAction<NewTrade>({
    name: kind.toUpperCase(),
    table: `${kind}s`,
    formats: {
      0: 'GIVE_COIN|GIVE_TICK|GIVE_AMOUNT|GIVE_OWNERSHIP|GET_COIN|GET_TICK|GET_AMOUNT|GET_OWNERSHIP|GET_ADDRESS|EXPIRATION|ALLOW_LIST|BLOCK_LIST|MEMO'
    },
    read: (step) => [
      {
        ...readSides(step),
        getAddress: namedAddress(step, step.action.fields.get('GET_ADDRESS') || step.action.source),
        ...readOfferFields(step, defaultExpiration(step))
      }
    ],
    checks: [
      ['GET_ADDRESS (unresolvable ^id)', ({ getAddress }) => getAddress === null],
      ...COIN_CHECKS,
      ['GET_COIN (cross-chain not enabled)', ({ get }, { rules }) => get.coin !== rules.coin],
      ...nativeChecks[kind],
      amountFormat('give'),
      amountFormat('get'),
      ['GET_AMOUNT (must be positive)', ({ get }) => !isOwnership(get) && !get.amount],
      ['GET_ADDRESS (format)', ({ getAddress }, step) => ownAddress(step, getAddress) === null],
      expirationFormat,
      ownershipFormat('give'),
      ownershipFormat('get'),
      ['GIVE_TICK (native coin has no ownership)', ({ give }) => isOwnership(give) && give.token === null],
      ownershipAlone,
      ...ownershipChecks,
      ['GET_TICK (native coin has no ownership)', ({ get }) => isOwnership(get) && get.token === null],
      ['GET_AMOUNT (must be empty when GET_OWNERSHIP=1)', ({ get }) => isOwnership(get) && get.amountText !== ''],
      ...MARKET_CHECKS,
      [
        'GET_ADDRESS (not authorized)',
        ({ give, get, getAddress }, step) =>
          isBarred({ give: sideOf(give), get: sideOf(get), getAddress: getAddress! }, step)
      ],
      ...TERM_CHECKS,
      [
        'insufficient funds (GIVE_AMOUNT)',
        ({ give }, { action, ledger }) =>
          give.token !== null && !isOwnership(give) && ledger.balance(give.token.tick, action.source) < give.amount!
      ],
      [`${kind.toUpperCase()} (block limit)`, (_, step) => isBlockFull(step)]
    ],
    charges: ({ give, expiration }, step) => ({
      ...termOf(expiration!, step),
      ownership: isOwnership(give),
      ...(give.token && !isOwnership(give) ? spent(give.token, give.amount!, step) : {})
    }),
    row: (leg, step) => ({
      ...sideColumns(leg, step),
      get_ownership: Number(isOwnership(leg.get)),
      get_address_id: ownAddress(step, leg.getAddress),
      ...termColumns(leg, step)
    }),
    apply: ({ give, get, getAddress, expiration, allowText, blockText }, step) => {
      const { action } = step;
      const trade: Trade = {
        kind,
        index: action.index,
        source: action.source,
        status: 'open',
        give: sideOf(give),
        get: sideOf(get),
        giveLeft: sideOf(give).amount,
        getLeft: sideOf(get).amount,
        getAddress: getAddress!,
        expiration: expiration!,
        allowList: listRoot(allowText, step),
        blockList: listRoot(blockText, step),
        refundAddress: action.source
      };
      holdSide(trade.give, action.source, step);
      openTrade(trade, step);
    }
  });
}

interface Change extends OfferFields {
  readonly named: number | null;
  readonly trade: Trade | null;
}

function defineChange(
  kind: Kind,
  verb: 'cancel' | 'edit',
  definition: Pick<Parameters<typeof defineAction<Change>>[0], 'formats' | 'row' | 'charges'> & {
    readonly checks?: readonly Check<Change>[];
    readonly apply: (trade: Trade, change: Change, step: Step) => void;
  }
): Handler {
  const field = `${kind.toUpperCase()}_ACTION_INDEX`;
  return defineAction<Change>({
    name: `${kind.toUpperCase()}_${verb.toUpperCase()}`,
    table: `${kind}_${verb}s`,
    formats: definition.formats,
    read: (step) => {
      const named = readIndex(step.action.fields.get(field));
      const trade = named === null ? null : step.ledger.offer(kind, named);
      return [{ named, trade, ...readOfferFields(step, null) }];
    },
    checks: [
      expirationFormat,
      sourceSleeps,
      ...MEMO_CHECKS,
      [`${field} (unknown)`, ({ trade }) => trade === null],
      ['SOURCE (not owner)', ({ trade }, { action }) => trade!.source !== action.source],
      [
        `${field} (${kind} not open)`,
        ({ trade }, { action }) => trade!.status !== 'open' || isPastEnd(trade!, action.block)
      ],
      ...TERM_CHECKS
    ],
    ...(definition.charges ? { charges: definition.charges } : {}),
    row: (change, step, isValid) => ({
      [`${kind}_action_index`]: change.named ?? 0,
      memo_id: orNull(change.memo),
      ...definition.row(change, step, isValid)
    }),
    apply: (change, step) => definition.apply(change.trade!, change, step)
  });
}

/** Defines ORDER or SWAP. Trades stay open until another matches, their source cancels them, or their time is over. */
function defineTrade(kind: Kind): Handler {
  const field = `${kind.toUpperCase()}_ACTION_INDEX`;
  const cancel = defineChange(kind, 'cancel', {
    formats: { 1: `${field}|MEMO` },
    row: () => ({}),
    apply: (trade, _, step) => endTrade(trade, 'cancelled', trade.source, step)
  });
  const edit = defineChange(kind, 'edit', {
    formats: { 2: `${field}|EXPIRATION|ALLOW_LIST|BLOCK_LIST|MEMO` },
    row: editedColumns,
    charges: (change, step) => extensionOf(change.trade!, change, step),
    apply: (trade, change, step) => {
      const edited = {
        ...trade,
        expiration: change.expiration ?? trade.expiration,
        ...editedLists(trade, change, step)
      };
      step.ledger.setOffer(edited);
      step.next.push(matchTrade(edited));
    }
  });
  return byFormat([defineCreate(kind), cancel, edit]);
}

/** Offers a trade in any part. */
export const ORDER = defineTrade('order');
/** Offers a trade that is taken in whole. */
export const SWAP = defineTrade('swap');
