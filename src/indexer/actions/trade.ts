import { formatAmount } from '../../consensus/amount.ts';
import { holdSide } from '../offers/escrow.ts';
import { matchTrade, openTrade } from '../offers/matching.ts';
import type { Side, Trade } from '../offers/offer.ts';
import {
  defaultExpiration,
  expirationFormat,
  listRoot,
  type OfferFields,
  readOfferFields,
  readSideAmount,
  TERM_CHECKS
} from '../offers/offer-fields.ts';
import { endTrade } from '../offers/trade-end.ts';
import { ONE } from '../offers/units.ts';
import { byFormat, type Check, defineAction, type Handler, type Step } from '../rules/action-definition.ts';
import { MEMO_CHECKS, orNull, ownAddress, readIndex, sourceSleeps } from '../rules/checks.ts';
import { COINS } from '../rules/rules.ts';
import type { Token } from '../state/state.ts';
import { MARKET_CHECKS, ownershipChecks } from './offer-checks.ts';

type Kind = Trade['kind'];

interface Half {
  readonly coin: string;
  readonly tickText: string;
  /** Null for the chain's own coin and for an unknown ticker. */
  readonly token: Token | null;
  readonly amountText: string;
  readonly amount: bigint | null;
  readonly ownership: string;
}

interface NewTrade extends OfferFields {
  readonly give: Half;
  readonly get: Half;
  /** Null: an id that names none. */
  readonly getAddress: string | null;
}

function readHalf({ action: { fields }, ledger }: Step, name: 'GIVE' | 'GET'): Half {
  const tickText = fields.get(`${name}_TICK`);
  const token = ledger.token(tickText);
  const amountText = fields.get(`${name}_AMOUNT`);
  return {
    coin: fields.get(`${name}_COIN`).toUpperCase(),
    tickText,
    token,
    amountText,
    amount: readSideAmount(amountText, token),
    ownership: fields.get(`${name}_OWNERSHIP`)
  };
}

function sideOf({ token, amount, ownership }: Half): Side {
  const isOwnership = ownership === '1';
  return { tick: token?.tick ?? null, amount: isOwnership ? ONE : (amount ?? 0n), isOwnership };
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
        give: readHalf(step, 'GIVE'),
        get: readHalf(step, 'GET'),
        getAddress: step.ledger.addressOf(step.action.fields.get('GET_ADDRESS') || step.action.source),
        ...readOfferFields(step, defaultExpiration(step))
      }
    ],
    checks: [
      ['GET_ADDRESS (unresolvable ^id)', ({ getAddress }) => getAddress === null],
      ['GIVE_COIN (unsupported COIN network)', ({ give }) => !COINS.has(give.coin)],
      ['GET_COIN (unsupported COIN network)', ({ get }) => !COINS.has(get.coin)],
      ['GIVE_COIN (network)', ({ give }, { rules }) => give.coin !== rules.coin],
      ['GET_COIN (cross-chain not enabled)', ({ get }, { rules }) => get.coin !== rules.coin],
      ...nativeChecks[kind],
      ['GIVE_AMOUNT (format)', ({ give }) => give.amountText !== '' && give.amount === null],
      ['GET_AMOUNT (format)', ({ get }) => get.amountText !== '' && get.amount === null],
      ['GET_AMOUNT (must be positive)', ({ get }) => get.ownership !== '1' && !get.amount],
      ['GET_ADDRESS (format)', ({ getAddress }, step) => ownAddress(step, getAddress) === null],
      expirationFormat,
      ['GIVE_OWNERSHIP (format)', ({ give }) => !/^[01]?$/.test(give.ownership)],
      ['GET_OWNERSHIP (format)', ({ get }) => !/^[01]?$/.test(get.ownership)],
      ...ownershipChecks,
      ['GET_TICK (native coin has no ownership)', ({ get }) => get.ownership === '1' && get.token === null],
      ['GET_AMOUNT (must be empty when GET_OWNERSHIP=1)', ({ get }) => get.ownership === '1' && get.amountText !== ''],
      ...MARKET_CHECKS,
      ...TERM_CHECKS,
      [
        'insufficient funds (GIVE_AMOUNT)',
        ({ give: { token, amount, ownership } }, { action, ledger }) =>
          token !== null && ownership !== '1' && ledger.balance(token.tick, action.source) < amount!
      ]
    ],
    row: ({ give, get, getAddress, expiration, allowText, blockText, memo }, step) => ({
      give_coin_id: COINS.has(give.coin) ? give.coin : null,
      give_tick_id: give.token?.tick ?? null,
      give_amount: amountColumn(give),
      get_coin_id: COINS.has(get.coin) ? get.coin : null,
      get_tick_id: get.token?.tick ?? null,
      get_amount: amountColumn(get),
      give_ownership: Number(give.ownership === '1'),
      get_ownership: Number(get.ownership === '1'),
      get_address_id: ownAddress(step, getAddress),
      expiration,
      allow_list: listRoot(allowText, step),
      block_list: listRoot(blockText, step),
      memo_id: orNull(memo)
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
        blockList: listRoot(blockText, step)
      };
      holdSide(trade.give, action.source, step);
      openTrade(trade, step);
    }
  });
}

function amountColumn({ amount, amountText }: Half): string | null {
  return amount === null ? orNull(amountText) : formatAmount(amount);
}

interface Change extends OfferFields {
  readonly named: number | null;
  readonly trade: Trade | null;
}

function defineChange(
  kind: Kind,
  verb: 'cancel' | 'edit',
  definition: Pick<Parameters<typeof defineAction<Change>>[0], 'formats' | 'row'> & {
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
      [`${field} (${kind} not open)`, ({ trade }) => trade!.status !== 'open'],
      ...TERM_CHECKS
    ],
    row: (change, step) => ({
      [`${kind}_action_index`]: change.named ?? 0,
      memo_id: orNull(change.memo),
      ...definition.row(change, step)
    }),
    apply: (change, step) => definition.apply(change.trade!, change, step)
  });
}

/** ORDER and SWAP: they stand until another matches, their source cancels them, or their time is over. */
function defineTrade(kind: Kind): Handler {
  const field = `${kind.toUpperCase()}_ACTION_INDEX`;
  const cancel = defineChange(kind, 'cancel', {
    formats: { 1: `${field}|MEMO` },
    row: () => ({}),
    apply: (trade, _, step) => endTrade(trade, 'cancelled', trade.source, step)
  });
  const edit = defineChange(kind, 'edit', {
    formats: { 2: `${field}|EXPIRATION|ALLOW_LIST|BLOCK_LIST|MEMO` },
    row: ({ expiration, allowText, blockText }, step) => ({
      expiration,
      allow_list: editedList(allowText, step),
      block_list: editedList(blockText, step)
    }),
    apply: (trade, { expiration, allowText, blockText }, step) => {
      const edited = {
        ...trade,
        expiration: expiration ?? trade.expiration,
        allowList: allowText === '' ? trade.allowList : listRoot(allowText, step),
        blockList: blockText === '' ? trade.blockList : listRoot(blockText, step)
      };
      step.ledger.setOffer(edited);
      step.next.push(matchTrade(edited));
    }
  });
  return byFormat([defineCreate(kind), cancel, edit]);
}

/** In the row of an edit 0 takes a list away and NULL leaves it. */
function editedList(text: string, step: Step): number | null {
  return text === '0' ? 0 : listRoot(text, step);
}

export const ORDER = defineTrade('order');
export const SWAP = defineTrade('swap');
