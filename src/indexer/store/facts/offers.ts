import { MEDIAN_BLOCKS, medianTime } from '../../../consensus/median-time.ts';
import { rows, type Statements } from '../../../db/connection.ts';
import { DISPENSER_DELAY_S } from '../../offers/delays.ts';
import { withEdit } from '../../offers/dispenser-lists.ts';
import { COIN_STEP, ONE } from '../../offers/units.ts';
import {
  type Dispenser,
  type DispenserLists,
  LIVE_STATUSES,
  type Obligation,
  type Offer,
  type OfferKind,
  type Side,
  type Trade
} from '../../state/offer.ts';
import type { View } from '../../state/view.ts';
import { readDecimalOr0 as amountOf, readWholeOrNull as numberOf, readWhole } from '../read-decimal.ts';
import { VALID_STATUS } from '../valid-status.ts';
import { addressIds } from './addresses.ts';
import type { Loading } from './loading.ts';
import { readOpenPolls, readOpenPollsOf } from './polls.ts';

type Row = Record<string, string | number | null>;

const PER_STATEMENT = 500;
/** Actions whose offers or polls one statement looks for. */
const ACTIONS_PER_STATEMENT = 500_000;
/** Blocks whose times one statement reads. */
const TIMES_PER_STATEMENT = 5_000;
const KINDS_OF_ADDRESSES = ['order', 'swap', 'dispenser'] as const;
const KINDS = [...KINDS_OF_ADDRESSES, 'coinpay'] as const;

/** Reads the times of the blocks below a height, oldest first: as many as a median takes. */
export async function readTimes(connection: Statements, height: number): Promise<number[]> {
  const found = await rows<{ time: number }>(
    connection,
    'SELECT block_time AS time FROM blocks WHERE block_index BETWEEN ? AND ? ORDER BY block_index',
    [height - MEDIAN_BLOCKS, height - 1]
  );
  return found.map(({ time }) => readWhole(time));
}

/**
 * Puts every live offer and every open poll of a database into the books of a view. The actions of all time are read in
 * parts. The offers themselves are left to the actions that need them: there may be more than fit into memory.
 *
 * @param pageRead called after each part: the whole may take longer than a block
 */
export async function loadBooks(connection: Statements, view: View, pageRead?: () => void): Promise<void> {
  for await (const { from, to } of actionPages(connection)) {
    for (const kind of KINDS) {
      const where = `s.action_index BETWEEN ${from} AND ${to}`;
      for await (const offers of readLive(kind, { from: `${kind}_statuses s`, where }, connection)) {
        for (const offer of offers) view.book.put(offer);
        pageRead?.();
      }
    }
    for (const poll of await readOpenPolls(connection, from, to)) view.polls.put(poll);
    pageRead?.();
  }
  view.hasAllOffers = true;
}

/** Brings the books of a view to what the database has after a rollback: the offers and polls that undone actions changed. */
export async function restoreBooks(connection: Statements, view: View, changed: readonly number[]): Promise<void> {
  for (let at = 0; at < changed.length; at += PER_STATEMENT) {
    const indexes = changed.slice(at, at + PER_STATEMENT);
    const offers = await readOffers(connection, indexes);
    for (const index of indexes) view.restoreOffer(index, offers.get(index));
    view.polls.restore(indexes, await readOpenPollsOf(connection, indexes));
  }
}

async function* actionPages(connection: Statements): AsyncGenerator<{ readonly from: number; readonly to: number }> {
  const [last] = await rows<{ action: number | null }>(connection, 'SELECT MAX(action_index) AS action FROM actions');
  for (let from = 0; from <= Number(last?.action ?? 0); from += ACTIONS_PER_STATEMENT)
    yield { from, to: from + ACTIONS_PER_STATEMENT - 1 };
}

/** Puts the live offers of addresses into a view that does not have those of all. */
export async function loadLiveOffers(addresses: readonly string[], loading: Loading): Promise<void> {
  const ids = [...(await addressIds(loading, addresses)).values()];
  for (const kind of ids.length === 0 ? [] : KINDS_OF_ADDRESSES) {
    const from = `actions x STRAIGHT_JOIN ${kind}_statuses s ON s.${kind}_action_index = x.action_index`;
    const where = `x.action_id = (SELECT id FROM index_actions WHERE action = '${kind}') AND x.source_id IN (?)`;
    for await (const offers of readLive(kind, { from, where, ids }, loading.connection))
      loading.view.loadOtherOffers(offers);
  }
  for (const address of addresses) loading.view.load('liveOffers', address, true);
}

/** Puts the matches of orders that wait for payments into a view that does not have those of all. */
export async function loadAwaitedMatches(orders: readonly string[], loading: Loading): Promise<void> {
  for (const side of ['give', 'get']) {
    const of = {
      from: 'order_matches m STRAIGHT_JOIN coinpay_statuses s ON s.coinpay_action_index = m.action_index',
      where: `m.${side}_action_index IN (?)`,
      ids: orders.map(Number)
    };
    for await (const offers of readLive('coinpay', of, loading.connection)) loading.view.loadOtherOffers(offers);
  }
  for (const order of orders) loading.view.load('awaitedMatches', order, true);
}

/** Yields live offers of a kind in parts. @param of names those that are meant, with `s` as the rows of statuses */
async function* readLive(
  kind: OfferKind,
  of: { readonly from: string; readonly where: string; readonly ids?: readonly number[] },
  connection: Statements
): AsyncGenerator<Iterable<Offer>> {
  const found = await rows<{ offer: number }>(
    connection,
    `SELECT s.${kind}_action_index AS offer FROM ${of.from} JOIN index_statuses i ON i.id = s.status_id
     WHERE ${of.where} AND i.status IN (?) AND NOT EXISTS (SELECT 1 FROM ${kind}_statuses n
       WHERE n.${kind}_action_index = s.${kind}_action_index AND n.action_index > s.action_index)`,
    [...(of.ids ? [of.ids] : []), LIVE_STATUSES]
  );
  for (let at = 0; at < found.length; at += PER_STATEMENT) {
    const indexes = found.slice(at, at + PER_STATEMENT).map(({ offer }) => Number(offer));
    yield (await readOffers(connection, indexes)).values();
  }
}

/** Reads offers by the index of the action that made them. */
export async function readOffers(connection: Statements, indexes: readonly number[]): Promise<Map<number, Offer>> {
  const offers = [
    ...(await readTrades(connection, 'order', indexes)),
    ...(await readTrades(connection, 'swap', indexes)),
    ...(await readDispensers(connection, indexes)),
    ...(await readObligations(connection, indexes))
  ];
  return new Map(offers.map((offer) => [offer.index, offer]));
}

const statusOf = (kind: string, of: string) =>
  `(SELECT i.status FROM ${kind}_statuses n JOIN index_statuses i ON i.id = n.status_id
    WHERE n.${kind}_action_index = ${of} ORDER BY n.action_index DESC LIMIT 1) AS status`;
const SIDES = `s.address AS source, g.tick AS give_tick, t.tick AS get_tick, a.address AS get_address`;
const JOINS = `JOIN actions x ON x.action_index = o.action_index JOIN index_addresses s ON s.id = x.source_id
  LEFT JOIN index_tickers g ON g.id = o.give_tick_id LEFT JOIN index_tickers t ON t.id = o.get_tick_id
  JOIN index_addresses a ON a.id = o.get_address_id`;

function sideOf(row: Row, name: 'give' | 'get'): Side {
  const isOwnership = row[`${name}_ownership`] === 1;
  return {
    tick: textOf(row[`${name}_tick`]),
    amount: isOwnership ? ONE : amountOf(row[`${name}_amount`]),
    isOwnership
  };
}

const textOf = (value: string | number | null | undefined) => (value == null ? null : String(value));
/** Returns a list after an edit. NULL keeps it, 0 removes it. */
const editedList = (before: number | null, value: string | number | null | undefined) =>
  value == null ? before : readWhole(value) || null;

async function readTrades(connection: Statements, kind: Trade['kind'], indexes: readonly number[]): Promise<Trade[]> {
  const found = await rows<Row>(
    connection,
    `SELECT o.*, ${SIDES}, ${statusOf(kind, 'o.action_index')},
       (SELECT d.address FROM ${kind}_statuses n JOIN sweeps w ON w.action_index = n.action_index
        JOIN index_addresses d ON d.id = w.destination_id WHERE n.${kind}_action_index = o.action_index LIMIT 1) AS refund_address
     FROM ${kind}s o ${JOINS}
     WHERE o.action_index IN (?) AND o.status_id = ${VALID_STATUS}`,
    [indexes]
  );
  if (found.length === 0) return [];
  const edits = await readEdits(connection, indexes);
  const rests = await readRests(connection, indexes);
  return found.map((row) => {
    const index = Number(row['action_index']);
    const [give, get] = [sideOf(row, 'give'), sideOf(row, 'get')];
    const rest = rests.get(index);
    const trade: Trade = {
      kind,
      index,
      source: String(row['source']),
      status: String(row['status']),
      give,
      get,
      giveLeft: rest ? amountOf(rest['give_left']) : give.amount,
      getLeft: rest ? amountOf(rest['get_left']) : get.amount,
      getAddress: String(row['get_address']),
      expiration: readWhole(row['expiration']),
      allowList: numberOf(row['allow_list']),
      blockList: numberOf(row['block_list']),
      refundAddress: String(row['refund_address'] ?? row['source'])
    };
    return (edits.get(index) ?? []).reduce(editTrade, trade);
  });
}

function editTrade(trade: Trade, edit: Row): Trade {
  return {
    ...trade,
    expiration: numberOf(edit['expiration']) ?? trade.expiration,
    allowList: editedList(trade.allowList, edit['allow_list']),
    blockList: editedList(trade.blockList, edit['block_list'])
  };
}

/** Reads the newest rest of each trade that has one. It reads no match. */
async function readRests(connection: Statements, trades: readonly number[]): Promise<Map<number, Row>> {
  const found = await rows<Row>(
    connection,
    `WITH w (id) AS (VALUES ${trades.map((trade) => `(${trade})`).join(', ')})
     SELECT r.trade, r.give_left, r.get_left FROM (SELECT w.id, (SELECT t.action_index FROM trade_rests t
       WHERE t.trade = w.id ORDER BY t.action_index DESC LIMIT 1) AS newest FROM w) v
     STRAIGHT_JOIN trade_rests r ON r.trade = v.id AND r.action_index = v.newest`
  );
  return new Map(found.map((row) => [Number(row['trade']), row]));
}

/** Reads what blocks changed of offers, the oldest first. */
async function readEdits(connection: Statements, indexes: readonly number[]): Promise<Map<number, Row[]>> {
  const found = await rows<Row>(
    connection,
    `SELECT e.*, x.block_index FROM offer_edits e STRAIGHT_JOIN actions x ON x.action_index = e.action_index
     WHERE e.offer IN (?) ORDER BY e.offer, e.action_index`,
    [indexes]
  );
  return Map.groupBy(found, ({ offer }) => Number(offer));
}

async function readDispensers(connection: Statements, indexes: readonly number[]): Promise<Dispenser[]> {
  const found = await rows<Row>(
    connection,
    `SELECT o.*, f.code AS fiat, ${SIDES}, ${statusOf('dispenser', 'o.action_index')} FROM dispensers o ${JOINS}
     LEFT JOIN index_fiats f ON f.id = o.fiat_id
     WHERE o.action_index IN (?) AND o.status_id = ${VALID_STATUS}`,
    [indexes]
  );
  if (found.length === 0) return [];
  const edits = await readEdits(connection, indexes);
  const served = await rows<Row>(
    connection,
    `SELECT * FROM dispenses WHERE dispenser_action_index IN (?) AND status_id = ${VALID_STATUS} ORDER BY action_index`,
    [indexes]
  );
  const refused = await rows<Row>(
    connection,
    `SELECT d.dispenser_action_index AS offer, COUNT(*) AS refusals FROM dispenses d
     WHERE d.dispenser_action_index IN (?) AND d.status_id <> ${VALID_STATUS} AND d.action_index > COALESCE(
       (SELECT MAX(e.refilled_at) FROM offer_edits e WHERE e.offer = d.dispenser_action_index), 0) GROUP BY d.dispenser_action_index`,
    [indexes]
  );
  const cancels = await rows<Row>(
    connection,
    `SELECT n.dispenser_action_index AS offer, a.address AS refund_address, x.block_index FROM dispenser_statuses n
     JOIN actions x ON x.action_index = n.action_index JOIN index_addresses a ON a.id = n.cancelled_by_id
     WHERE n.dispenser_action_index IN (?)`,
    [indexes]
  );
  const [editsOf, servedOf, cancelOf] = [
    edits,
    Map.groupBy(served, (dispense) => Number(dispense['dispenser_action_index'])),
    new Map(cancels.map((cancel) => [Number(cancel['offer']), cancel]))
  ];
  const refusalsOf = new Map(refused.map(({ offer, refusals }) => [Number(offer), Number(refusals)]));
  const times = await readMedianTimes(connection, [...[...edits.values()].flat().filter(editsLists), ...cancels]);
  return found.map((row) => {
    const index = Number(row['action_index']);
    const own = {
      edits: editsOf.get(index) ?? [],
      served: servedOf.get(index) ?? [],
      refusals: refusalsOf.get(index) ?? 0,
      cancel: cancelOf.get(index)
    };
    return dispenserOf(row, own, times);
  });
}

interface DispenserRows {
  readonly edits: readonly Row[];
  readonly served: readonly Row[];
  readonly refusals: number;
  readonly cancel: Row | undefined;
}

function dispenserOf(row: Row, { edits, served, refusals, cancel }: DispenserRows, times: MedianTimes): Dispenser {
  const give = sideOf(row, 'give');
  const refills = edits.filter((edit) => Number(edit['refills']) > 0);
  const lastRefill = Number(refills.at(-1)?.['refilled_at'] ?? 0);
  const held = give.isOwnership ? ONE : amountOf(row['give_escrow']);
  const added = refills.reduce((sum, edit) => sum + amountOf(edit['refilled']), 0n);
  const sold = served.reduce((sum, dispense) => sum + (give.isOwnership ? ONE : amountOf(dispense['give_amount'])), 0n);
  const source = String(row['source']);
  const status = String(row['status']);
  const fiat = textOf(row['fiat']);
  return {
    kind: 'dispenser',
    index: Number(row['action_index']),
    source,
    status,
    give,
    // An earlier release took any payment where a currency was named without an amount.
    get: { tick: textOf(row['get_tick']), amount: amountOf(row['get_amount']) || COIN_STEP },
    fiat: fiat === null ? null : { code: fiat, amount: amountOf(row['fiat_amount']) },
    getAddress: String(row['get_address']),
    left: held + added - sold,
    refills: refills.reduce((sum, edit) => sum + Number(edit['refills']), 0),
    dispenses: served.filter((dispense) => Number(dispense['action_index']) > lastRefill).length,
    refusals,
    expiration: edits.reduce((last, edit) => numberOf(edit['expiration']) ?? last, readWhole(row['expiration'])),
    lists: listsOf(row, edits.filter(editsLists), times),
    closesAt: cancel ? times(cancel) + DISPENSER_DELAY_S : null,
    refundAddress: cancel ? String(cancel['refund_address']) : source
  };
}

const editsLists = (edit: Row) => edit['allow_list'] != null || edit['block_list'] != null;

/** Returns the lists of a dispenser after its edits. All blocks of a database are over: those of a later one count. */
function listsOf(row: Row, edits: readonly Row[], times: MedianTimes): readonly DispenserLists[] {
  let lists: readonly DispenserLists[] = [
    { from: 0, allowList: numberOf(row['allow_list']), blockList: numberOf(row['block_list']) }
  ];
  for (const edit of edits) {
    const { allowList, blockList } = lists.at(-1)!;
    const now = times(edit);
    const edited = {
      from: now + DISPENSER_DELAY_S,
      allowList: editedList(allowList, edit['allow_list']),
      blockList: editedList(blockList, edit['block_list'])
    };
    lists = withEdit(lists, edited, now);
  }
  return lists;
}

/** Returns the median time at the block of a row, in epoch seconds. */
type MedianTimes = (row: Row) => number;

/** Reads the median times at the blocks of rows. */
async function readMedianTimes(connection: Statements, of: readonly Row[]): Promise<MedianTimes> {
  const below = Array.from({ length: MEDIAN_BLOCKS }, (_, at) => MEDIAN_BLOCKS - 1 - at);
  const heightsOf = (row: Row) => below.map((blocks) => Number(row['block_index']) - blocks);
  const heights = [...new Set(of.flatMap(heightsOf))];
  const times = new Map<number, number>();
  for (let at = 0; at < heights.length; at += TIMES_PER_STATEMENT) {
    const found = await rows<{ height: number; time: number }>(
      connection,
      'SELECT block_index AS height, block_time AS time FROM blocks WHERE block_index IN (?)',
      [heights.slice(at, at + TIMES_PER_STATEMENT)]
    );
    for (const { height, time } of found) times.set(Number(height), readWhole(time));
  }
  return (row) => medianTime(heightsOf(row).flatMap((height) => times.get(height) ?? []));
}

async function readObligations(connection: Statements, indexes: readonly number[]): Promise<Obligation[]> {
  const found = await rows<Row>(
    connection,
    `SELECT o.*, p.address AS payee, m.give_action_index AS maker, m.get_action_index AS taker, m.give_amount, m.get_amount,
       m.give_tick_id AS taker_gives, ${statusOf('coinpay', 'o.action_index')}
     FROM coinpay_obligations o JOIN order_matches m ON m.action_index = o.action_index
     JOIN index_addresses p ON p.id = o.payee_address_id WHERE o.action_index IN (?)`,
    [indexes]
  );
  if (found.length === 0) return [];
  const sellers = new Set(found.map((row) => Number(row['taker_gives'] === 0 ? row['maker'] : row['taker'])));
  const gives = await readGives(connection, [...sellers]);
  return found.map((row) => {
    const makerSells = row['taker_gives'] === 0;
    const [seller, buyer] = makerSells ? [row['maker'], row['taker']] : [row['taker'], row['maker']];
    const give = gives.get(Number(seller))!;
    const sold = amountOf(row[makerSells ? 'get_amount' : 'give_amount']);
    return {
      kind: 'coinpay',
      index: Number(row['action_index']),
      status: String(row['status']),
      expiration: readWhole(row['expiration']),
      payee: String(row['payee']),
      coinAmount: amountOf(row['coin_amount']),
      seller: Number(seller),
      buyer: Number(buyer),
      give: { ...give, amount: give.isOwnership ? ONE : sold }
    };
  });
}

/** Reads what orders give, without their matches: all that end together may be of one seller. */
async function readGives(
  connection: Statements,
  orders: readonly number[]
): Promise<Map<number, Omit<Side, 'amount'>>> {
  const found = await rows<Row>(
    connection,
    `SELECT o.action_index, g.tick, o.give_ownership FROM orders o LEFT JOIN index_tickers g ON g.id = o.give_tick_id
     WHERE o.action_index IN (?)`,
    [orders]
  );
  return new Map(
    found.map((row) => {
      return [Number(row['action_index']), { tick: textOf(row['tick']), isOwnership: row['give_ownership'] === 1 }];
    })
  );
}
