import { CHAIN_NETWORKS } from '../../coin/chains.ts';
import { PlatformError } from '../../errors.ts';
import { type Html, html } from './html.ts';
import { amount, bar, facts, type LinkTo, section, timeOf } from './parts.ts';
import { type Asked, rowOf, rowsOf, textOf, type View } from './view.ts';

/** Levels of each side of the order book, and matches, on the page. */
const [LEVELS, MATCHES] = [15, 25];

const COINS: ReadonlySet<string> = new Set(CHAIN_NETWORKS.map(({ ticker }) => ticker));

type Level = readonly [price: string, amount: string];

/**
 * Makes the page of a pair: its price, both sides of its order book with their depth, and its last matches.
 *
 * @throws {PlatformError} RECORD_UNKNOWN
 */
export async function marketView({ name: tick1, other: tick2, read, linkTo }: Asked): Promise<View> {
  const parameters = { tick1, tick2 };
  const [market, book, history] = await Promise.all([
    read('market', { parameters }),
    read('market_orderbook', { parameters }),
    read('market_history', { parameters, limit: MATCHES })
  ]);
  const prices = rowOf(market.data);
  const { bids, asks } = book.data as { readonly bids: readonly Level[]; readonly asks: readonly Level[] };
  const matches = rowsOf(rowOf(history.data)['data']).map((row) => [
    linkTo('action', row['action_index']),
    html`<span class="${row['type'] === 'buy' ? 'good' : 'bad'}">${String(row['type'])}</span>`,
    amount(row['price']),
    amount(row['amount']),
    timeOf(row['timestamp'])
  ]);
  if (Object.keys(prices).length <= 1 && bids.length + asks.length + matches.length === 0)
    throw new PlatformError('RECORD_UNKNOWN', { reason: `nobody traded ${tick1} for ${tick2}, or offers to` });
  return {
    title: `Market ${tick1}/${tick2}`,
    body: html`<h2 class="name">Market ${nameOf(linkTo, tick1)} / ${nameOf(linkTo, tick2)}</h2>
${facts(
  [
    ['price', 'price'],
    ['bid', 'bid'],
    ['ask', 'ask'],
    ['24 h change, %', '24hr_change'],
    ['24 h high', '24hr_high'],
    ['24 h low', '24hr_low'],
    ['24 h volume', '24hr_volume']
  ].map(([label, field]) => {
    const value = textOf(prices[`tick1_${field}`]);
    return [label!, value && amount(value)];
  })
)}
<p class="none">Prices are in ${tick2} for one ${tick1}.</p>
<div class="beside">${sideOf('Bids', bids)}${sideOf('Asks', asks)}</div>
${section('Last matches', ['Action', 'Kind', 'Price', 'Amount', 'Time'], matches)}`
  };
}

/** Returns the name of a side of a pair: a link to the token; the coin of a chain has no page. */
const nameOf = (linkTo: LinkTo, tick: string): Html => (COINS.has(tick) ? html`<b>${tick}</b>` : linkTo('token', tick));

/** Returns one side of the book: the best price first, with all that is offered up to each. */
function sideOf(title: string, levels: readonly Level[]): Html {
  const shown = levels.slice(0, LEVELS);
  const depths = shown.map((_, place) => shown.slice(0, place + 1).reduce((sum, [, each]) => sum + Number(each), 0));
  const rows = shown.map(([price, each], place) => [
    amount(price),
    amount(each),
    bar(depths[place]! / Math.max(depths.at(-1)!, Number.MIN_VALUE))
  ]);
  const more = levels.length > LEVELS ? ` (the best ${LEVELS} of ${levels.length})` : '';
  return section(`${title}${more}`, ['Price', 'Amount', 'Depth'], rows);
}
