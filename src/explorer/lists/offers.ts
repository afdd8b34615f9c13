import {
  address,
  amountOrNull,
  big,
  bigOrNull,
  type Columns,
  flagNumber,
  integerOrNull,
  looked,
  sumOrNull,
  textOrNull,
  ticker
} from './columns.ts';
import type { List } from './list.ts';
import { waysOf } from './ways.ts';
import { follows, memo, rowsById, status, timeOf, written } from './written.ts';

/** Returns the columns of both sides of an offer or of a match, over a table of them. @param of its name in a statement */
const sidesOf = (of: string): Columns => ({
  give_coin: looked('index_coins', `${of}.give_coin_id`),
  give_tick: ticker(`${of}.give_tick_id`),
  give_amount: amountOrNull(`${of}.give_amount`),
  get_coin: looked('index_coins', `${of}.get_coin_id`),
  get_tick: ticker(`${of}.get_tick_id`),
  get_amount: amountOrNull(`${of}.get_amount`)
});

const LISTS_OF: Columns = { allow_list: bigOrNull('t.allow_list'), block_list: bigOrNull('t.block_list') };

const OFFERED: Columns = {
  ...sidesOf('t'),
  give_ownership: flagNumber('t.give_ownership'),
  get_address: address('t.get_address_id'),
  expiration: bigOrNull('t.expiration'),
  ...LISTS_OF,
  memo,
  status
};

/** Returns the newest status of an offer. */
const stateOf = (kind: Kind) =>
  textOrNull(
    `(SELECT i.status FROM ${kind}_statuses s JOIN index_statuses i ON i.id = s.status_id
      WHERE s.${kind}_action_index = a.action_index ORDER BY s.action_index DESC LIMIT 1)`,
    'its newest status; null for an offer that was refused'
  );

function offers(kind: 'order' | 'swap', summary: string): List {
  const table = `${kind}s`;
  const { own, block, source, address: anyAddress } = waysOf(table);
  return written(
    table,
    summary,
    {
      ...OFFERED,
      get_ownership: flagNumber('t.get_ownership'),
      payout_legs: textOrNull('t.payout_legs'),
      [`${kind}_status`]: stateOf(kind),
      state: stateOf(kind)
    },
    {
      types: {
        address: anyAddress('get_address_id'),
        block,
        source,
        token: own('ticker', 'give_tick_id', 'get_tick_id')
      }
    }
  );
}

/** Matches name the older offer first. */
function matches(kind: 'order' | 'swap', summary: string): List {
  const table = `${kind}_matches`;
  const { own, block, all } = waysOf(table);
  return written(
    table,
    summary,
    {
      ...sidesOf('t'),
      give_action_index: big('t.give_action_index'),
      get_action_index: big('t.get_action_index'),
      ...(kind === 'order' ? { settlement_type: textOrNull('t.settlement_type', 'instant or coinpay') } : {}),
      status
    },
    { types: { block, [kind]: own('action', 'give_action_index', 'get_action_index') }, all }
  );
}

type Kind = 'order' | 'swap' | 'dispenser';

/** Returns a field of the offer that a row names. */
const offerHas = (kind: Kind, expression: string) =>
  `(SELECT ${expression} FROM ${kind}s d WHERE d.action_index = t.${kind}_action_index)`;

/** Returns the columns of the offer that an action is about, from its own table, and of both its sides. */
function ofOffer(kind: Kind, columns: Columns): Columns {
  const of = `${kind}_action_index`;
  return {
    [of]: bigOrNull(`t.${of}`),
    give_coin: looked('index_coins', offerHas(kind, 'd.give_coin_id')),
    give_tick: ticker(offerHas(kind, 'd.give_tick_id')),
    give_amount: amountOrNull(offerHas(kind, 'd.give_amount')),
    get_coin: looked('index_coins', offerHas(kind, 'd.get_coin_id')),
    get_tick: ticker(offerHas(kind, 'd.get_tick_id')),
    get_amount: amountOrNull(offerHas(kind, 'd.get_amount')),
    ...columns,
    status
  };
}

const editedOf = (kind: Kind) => ofOffer(kind, { expiration: bigOrNull('t.expiration'), ...LISTS_OF, memo });

const DISPENSER_NAMED: Columns = {
  dispenser_address: address(offerHas('dispenser', 'd.get_address_id')),
  fiat: looked('index_fiats', offerHas('dispenser', 'd.fiat_id')),
  fiat_amount: amountOrNull(offerHas('dispenser', 'd.fiat_amount')),
  oracle_address: address(offerHas('dispenser', 'd.oracle_address_id'))
};

const VALID = "(SELECT i.id FROM index_statuses i WHERE i.status = 'valid')";
const DECIMAL = 'DECIMAL(58,18)';
const refills = `(SELECT SUM(CAST(e.give_escrow AS ${DECIMAL})) FROM dispenser_edits e
  WHERE e.dispenser_action_index = a.action_index AND e.status_id = ${VALID})`;
const sold = `(SELECT SUM(CAST(d.give_amount AS ${DECIMAL})) FROM dispenses d
  WHERE d.dispenser_action_index = a.action_index AND d.status_id = ${VALID})`;

const [dispensers, dispenses, closes, coinpays, obligations, expires] = [
  waysOf('dispensers'),
  waysOf('dispenses'),
  waysOf('dispenser_closes'),
  waysOf('coinpays'),
  waysOf('coinpay_obligations'),
  waysOf('coinpay_expires')
];

/** The lists of offers and of what became of them, by their methods. */
export const OFFER_LISTS = {
  orders: offers('order', 'Orders'),
  order_cancels: follows('order_cancels', 'Orders that were taken back', ofOffer('order', { memo })),
  order_edits: follows('order_edits', 'Changes of orders', editedOf('order')),
  order_expires: follows('order_expires', 'Orders whose time was over', ofOffer('order', {})),
  order_matches: matches('order', 'Orders that met'),
  swaps: { ...offers('swap', 'Swaps'), usual: 'address' },
  swap_cancels: follows('swap_cancels', 'Swaps that were taken back', ofOffer('swap', { memo })),
  swap_edits: follows('swap_edits', 'Changes of swaps', editedOf('swap')),
  swap_expires: follows('swap_expires', 'Swaps whose time was over', ofOffer('swap', {})),
  swap_matches: matches('swap', 'Swaps that met'),
  coinpays: written(
    'coinpays',
    'Payments of orders in the coin of the chain',
    {
      obligation_action_index: bigOrNull('t.obligation_action_index'),
      coin_amount: amountOrNull('t.coin_amount'),
      txid: textOrNull('t.txid'),
      vout: integerOrNull('t.vout'),
      status
    },
    { types: { block: coinpays.block, address: coinpays.source } }
  ),
  coinpay_expires: written(
    'coinpay_expires',
    'Payments that nobody made in time',
    { obligation_action_index: bigOrNull('t.obligation_action_index'), status },
    { types: { block: expires.block, address: expires.source } }
  ),
  coinpay_obligations: rowsById(
    'coinpay_obligations',
    'Lists what is to be paid in the coin of the chain',
    {
      action_index: big('t.action_index'),
      block_index: bigOrNull('t.block_index'),
      timestamp: timeOf('t.block_index'),
      payer_address: address('t.payer_address_id'),
      payee_address: address('t.payee_address_id'),
      coin: looked('index_coins', 't.coin_id'),
      coin_amount: amountOrNull('t.coin_amount'),
      expiration: bigOrNull('t.expiration'),
      coinpay_status: textOrNull(
        `(SELECT i.status FROM coinpay_statuses s JOIN index_statuses i ON i.id = s.status_id
          WHERE s.coinpay_action_index = t.action_index ORDER BY s.action_index DESC LIMIT 1)`
      )
    },
    {
      types: {
        block: obligations.own('height', 'block_index'),
        address: obligations.own('address', 'payer_address_id', 'payee_address_id')
      }
    },
    'action_index'
  ),
  dispensers: written(
    'dispensers',
    'Dispensers',
    {
      ...OFFERED,
      address: address('t.get_address_id', 'the address that is paid'),
      give_escrow: amountOrNull('t.give_escrow'),
      fiat: looked('index_fiats', 't.fiat_id'),
      fiat_amount: amountOrNull('t.fiat_amount'),
      oracle_address: address('t.oracle_address_id'),
      escrow_remaining: sumOrNull(
        `IF(t.status_id = ${VALID}, CAST(COALESCE(NULLIF(t.give_escrow, ''), '0') AS ${DECIMAL})
          + COALESCE(${refills}, 0) - COALESCE(${sold}, 0), NULL)`,
        'what it has left to give; null for one that was refused'
      ),
      state: stateOf('dispenser')
    },
    {
      types: {
        address: dispensers.address('get_address_id'),
        block: dispensers.block,
        source: dispensers.source,
        destination: dispensers.own('address', 'get_address_id'),
        token: dispensers.own('ticker', 'give_tick_id', 'get_tick_id'),
        oracle: dispensers.own('address', 'oracle_address_id')
      }
    }
  ),
  dispenser_cancels: follows(
    'dispenser_cancels',
    'Dispensers that were taken back',
    ofOffer('dispenser', { ...DISPENSER_NAMED, memo })
  ),
  dispenser_closes: written(
    'dispenser_closes',
    'Dispensers that ended after their cancel',
    ofOffer('dispenser', DISPENSER_NAMED),
    { types: { block: closes.block, address: closes.source } }
  ),
  dispenser_expires: follows('dispenser_expires', 'Dispensers whose time was over', ofOffer('dispenser', {})),
  dispenser_edits: follows('dispenser_edits', 'Changes and refills of dispensers', {
    ...DISPENSER_NAMED,
    ...editedOf('dispenser'),
    give_escrow: amountOrNull('t.give_escrow')
  }),
  dispenses: written(
    'dispenses',
    'Lists what dispensers gave',
    {
      dispenser_action_index: bigOrNull('t.dispenser_action_index'),
      ...sidesOf('t'),
      destination: address('t.destination_id'),
      status
    },
    {
      types: {
        address: dispenses.address('destination_id'),
        block: dispenses.block,
        source: dispenses.source,
        destination: dispenses.own('address', 'destination_id'),
        dispenser: dispenses.own('action', 'dispenser_action_index'),
        token: dispenses.own('ticker', 'give_tick_id', 'get_tick_id')
      },
      usual: 'address'
    }
  )
} as const satisfies Readonly<Record<string, List>>;
