import { type Html, html } from './html.ts';
import {
  actionsSection,
  activityChart,
  amount,
  facts,
  type LinkTo,
  marketLink,
  type Row,
  section,
  timeOf
} from './parts.ts';
import { type Asked, readOptional, rowOf, rowsOf, textOf, type View } from './view.ts';

/** Rows of a list beside the newest blocks and actions; actions in the list, and in the chart above it. */
const [FEW, LISTED, CHARTED] = [6, 12, 100];

/** Makes the front page: how much there is, the newest blocks, what waits for one, the newest actions and tokens, and markets. */
export async function homeView({ read, linkTo }: Asked): Promise<View> {
  const [network, blocks, actions, waiting, tokens, markets] = await Promise.all([
    read('network'),
    read('blocks', { limit: 8 }),
    read('history', { query: 'all', type: 'recent', limit: CHARTED }),
    readOptional(read, 'mempool', { limit: FEW }),
    readOptional(read, 'tokens', { limit: FEW }),
    readOptional(read, 'markets', { limit: FEW })
  ]);
  const totals = rowOf(rowOf(network.data)['totals']);
  const blockRows = rowsOf(blocks.data).map((block) => [
    linkTo('block', block['block_index']),
    timeOf(block['timestamp']),
    amount(sumOf(block['actions'])),
    amount(block['transactions']),
    html`<code>${String(block['ledger_hash']).slice(0, 16)}&hellip;</code>`
  ]);
  return {
    title: 'Explorer',
    body: html`<div data-live>${facts(Object.entries(totals).map(([name, value]) => [name, textOf(value) && amount(value)]))}
${section('Newest blocks', ['Block', 'Time', 'Actions', 'Transactions', 'Ledger hash'], blockRows)}
${waitingSection(waiting, linkTo)}
${activityChart(rowsOf(actions.data))}
${actionsSection(linkTo, 'Newest actions', rowsOf(actions.data).slice(0, LISTED))}
<div class="beside">${tokensSection(tokens, linkTo)}${marketsSection(markets, linkTo)}</div></div>`
  };
}

/** @param counts how many actions of each kind, as decimal texts */
function sumOf(counts: unknown): string {
  return String(Object.values((counts ?? {}) as Row).reduce((sum: number, each) => sum + Number(each), 0));
}

/** Returns the section of a list that could not be read. */
const unread = (title: string): Html => html`<section><h2>${title}</h2><p class="none">Not known now.</p></section>`;

function waitingSection(rows: readonly Row[] | null, linkTo: LinkTo): Html {
  if (rows === null) return unread('Waiting for a block');
  const lines = rows.map((row) => [
    html`<b>${textOf(row['action'])}</b>`,
    linkTo('address', row['source']),
    html`<code>${textOf(row['data'])?.slice(0, 60)}</code>`
  ]);
  return section('Waiting for a block', ['Kind', 'Source', 'Text'], lines);
}

function tokensSection(rows: readonly Row[] | null, linkTo: LinkTo): Html {
  if (rows === null) return unread('Newest tokens');
  const lines = rows.map((row) => [linkTo('token', row['tick']), amount(row['supply'])]);
  return section('Newest tokens', ['Token', 'Supply'], lines);
}

function marketsSection(rows: readonly Row[] | null, linkTo: LinkTo): Html {
  if (rows === null) return unread('Markets');
  const lines = rows.map((row) => [
    marketLink(linkTo, row['tick1'], row['tick2']),
    amount(row['tick1_price']),
    amount(row['tick1_24hr_change']),
    amount(row['tick1_24hr_volume'])
  ]);
  return section('Markets', ['Pair', 'Price', '24 h %', 'Volume'], lines);
}
