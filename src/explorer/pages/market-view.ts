import { CHAIN_NETWORKS } from '../../coin/chains.ts';
import { formatAmount, knownAmount } from '../../consensus/amount.ts';
import { PlatformError } from '../../errors.ts';
import { type Html, html } from './html.ts';
import { amount, bar, facts, type LinkTo, section, timeOf } from './parts.ts';
import { type Asked, rowOf, rowsOf, textOf, type View } from './view.ts';

/** Levels of each side of the order book, and trades, on the page. */
const [LEVELS, TRADES] = [15, 25];

const COINS: ReadonlySet<string> = new Set(CHAIN_NETWORKS.map(({ ticker }) => ticker));

type Level = readonly [price: string, amount: string];

/**
 * Makes the page of a pair: its best offers and their spread, both sides of its order book with their depth, and its last trades.
 *
 * @throws {PlatformError} RECORD_UNKNOWN
 */
export async function marketView({ name: tick1, other: tick2, read, linkTo }: Asked): Promise<View> {
  const parameters = { tick1, tick2 };
  const [market, book, history] = await Promise.all([
    read('market', { parameters }),
    read('market_orderbook', { parameters }),
    read('market_history', { parameters, limit: TRADES })
  ]);
  const prices = rowOf(market.data);
  const { bids: bought, asks: sold } = book.data as {
    readonly bids: readonly Level[];
    readonly asks: readonly Level[];
  };
  const [bids, asks] = [bought, sold].map((levels) => levels.filter(([, each]) => Number(each) > 0)) as [
    Level[],
    Level[]
  ];
  const trades = rowsOf(rowOf(history.data)['data']).map((row) => [
    linkTo('action', row['action_index']),
    html`<span class="${row['type'] === 'buy' ? 'good' : 'bad'}">${String(row['type'])}</span>`,
    amount(row['price']),
    amount(row['amount']),
    timeOf(row['timestamp'])
  ]);
  if (Object.keys(prices).length <= 1 && bids.length + asks.length + trades.length === 0)
    throw new PlatformError('RECORD_UNKNOWN', { reason: `nobody traded ${tick1} for ${tick2}, or offers to` });
  const known = (field: string) => {
    const value = textOf(prices[`tick1_${field}`]);
    return Number(value) === 0 ? undefined : amount(value);
  };
  const most = Math.max(depthOf(bids), depthOf(asks));
  return {
    title: `Market ${tick1}/${tick2}`,
    body: html`<h1 class="name">Market ${nameOf(linkTo, tick1)} / ${nameOf(linkTo, tick2)}</h1>
<p class="lead">Prices are in ${tick2} for one ${tick1}.</p>
${facts([
  ['best bid', bids[0] ? amount(bids[0][0]) : 'nobody buys'],
  ['best ask', asks[0] ? amount(asks[0][0]) : 'nobody sells'],
  ['spread', spreadOf(bids[0], asks[0])],
  ['last price', known('price') ?? 'no trade yet'],
  ['24 h change, %', known('24hr_change')],
  ['24 h high', known('24hr_high')],
  ['24 h low', known('24hr_low')],
  ['24 h volume', known('24hr_volume')]
])}
<div class="beside book">${sideOf('Bids', bids, most, `Nobody offers ${tick2} for ${tick1} now.`)}${sideOf('Asks', asks, most, `Nobody offers ${tick1} for ${tick2} now.`)}</div>
${section('Last trades', ['Action', 'Kind', 'Price', 'Amount', 'Time'], trades, { kind: 'trades', empty: 'No trade yet. Each match of two orders is here.' })}`
  };
}

/** Returns the name of a side of a pair: a link to the token; the coin of a chain has no page. */
const nameOf = (linkTo: LinkTo, tick: string): Html => (COINS.has(tick) ? html`<b>${tick}</b>` : linkTo('token', tick));

/** Returns the distance of the best offers, exact, and its part of the ask. */
function spreadOf(bid: Level | undefined, ask: Level | undefined): Html | undefined {
  if (!bid || !ask) return undefined;
  const distance = knownAmount(ask[0]) - knownAmount(bid[0]);
  if (distance < 0n) return html`none <small>the sides overlap</small>`;
  const part = (Number(formatAmount(distance)) / Number(ask[0])) * 100;
  return html`${amount(formatAmount(distance))}${Number.isFinite(part) && html` <small>${part.toFixed(2)} %</small>`}`;
}

const shownOf = (levels: readonly Level[]) => levels.slice(0, LEVELS);
const depthOf = (levels: readonly Level[]) => shownOf(levels).reduce((sum, [, each]) => sum + Number(each), 0);

/** Returns one side of the book: the best price first, with all that is offered up to each. @param most depth of the deeper side */
function sideOf(title: string, levels: readonly Level[], most: number, empty: string): Html {
  let depth = 0n;
  const rows = shownOf(levels).map(([price, each]) => {
    depth += knownAmount(each);
    const total = formatAmount(depth);
    return [
      amount(price),
      amount(each),
      amount(total),
      bar(Math.min(1, Number(total) / Math.max(most, Number.MIN_VALUE)))
    ];
  });
  const more = levels.length > LEVELS ? ` (the best ${LEVELS} of ${levels.length})` : '';
  return section(`${title}${more}`, ['Price', 'Amount', 'Total', 'Depth'], rows, { empty, kind: title.toLowerCase() });
}
