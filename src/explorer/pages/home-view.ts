import { actionsSection } from './actions.ts';
import { blockCells, waitingCell } from './cells.ts';
import { type Activity, blocksChart } from './charts.ts';
import { type Html, html } from './html.ts';
import { marketsSection } from './markets.ts';
import { amount, type LinkTo, type Row, section, shareText, timeOf } from './parts.ts';
import { standingOf } from './standing.ts';
import { totalsSection } from './totals.ts';
import { type Asked, readOptional, readRowsIn, rowOf, rowsOf, textOf, type View } from './view.ts';

/** Blocks in the row; actions, tokens and markets in their lists; rows of the mempool that are looked at, and shown. */
const [BLOCKS, ACTIONS, TOKENS, MARKETS, WAITING, SHOWN] = [10, 14, 8, 8, 50, 5];
/** Holders that are counted of a token. */
const MOST_HOLDERS = 1_000;

/** Makes the front page: how far the ledger is, the newest blocks and what waits for one, actions, tokens and markets in use, and how much there is. */
export async function homeView({ read, linkTo, network, report }: Asked): Promise<View> {
  const [state, blocks, actions, waiting, tokens, markets, activity] = await Promise.all([
    read('network'),
    read('blocks', { limit: BLOCKS }),
    read('history', { query: 'all', type: 'recent', limit: ACTIONS }),
    readOptional(read, 'mempool', { limit: WAITING }),
    readRowsIn(read, 'page_tokens', 'tokens', { limit: TOKENS }),
    readRowsIn(read, 'page_markets', 'markets', { limit: MARKETS }),
    readOptional(read, 'page_activity', {})
  ]);
  const rows = rowsOf(blocks.data);
  const pending = waiting && rowsOf(waiting.data);
  const front = waitingCell(pending?.length ?? null, waiting !== null && waiting.next !== null);
  return {
    title: 'Explorer',
    body: html`<div data-live>${standingOf({ network, report, tip: rows[0], linkTo })}
<section><h2>Newest blocks</h2>${rows.length === 0 ? html`<p class="none">Each block of the chain will be a cell here.</p>` : blockCells(linkTo, 'Newest blocks', rows, { front })}</section>
<div class="split"><div>
${actionsSection(linkTo, 'Newest actions', rowsOf(actions.data), {
  without: ['Block'],
  empty: 'No action yet. Payments, issues and offers of tokens will be here, each with its verdict.'
})}
</div><div>
${blocksChart(rowOf(activity?.data ?? {}) as Activity, linkTo)}
${marketsSection(markets, linkTo, 'No pair is traded yet. Each is here, with its last price.')}
${waitingSection(pending, linkTo)}
</div></div>
${tokensSection(tokens, linkTo)}
${totalsSection(rowOf(rowOf(state.data)['totals'] ?? {}))}</div>`
  };
}

/** Returns the section of a list that could not be read. */
const unread = (title: string, id?: string): Html =>
  html`<section${id !== undefined && html` id="${id}"`}><h2>${title}</h2><p class="none">Not known now: its database does not answer, or has no such table.</p></section>`;

function waitingSection(rows: readonly Row[] | null, linkTo: LinkTo): Html {
  if (rows === null) return unread('Waiting for a block', 'waiting');
  const lines = rows
    .slice(0, SHOWN)
    .map((row) => [
      html`<b>${textOf(row['action'])?.replaceAll('_', ' ')}</b>`,
      linkTo('address', row['source']),
      html`<code>${textOf(row['data'])?.slice(0, 60)}</code>`
    ]);
  return section('Waiting for a block', ['Kind', 'Source', 'Text'], lines, {
    id: 'waiting',
    empty: 'Nobody waits. Actions of transactions that are in no block yet are here; no rule has judged them.'
  });
}

function tokensSection(rows: readonly Row[] | null, linkTo: LinkTo): Html {
  if (rows === null) return unread('Tokens in use');
  const lines = rows.map((row) => [
    linkTo('token', row['tick']),
    row['timestamp'] === null ? html`<span class="none">not lately</span>` : timeOf(row['timestamp']),
    amount(row['actions']),
    Number(row['holders']) > MOST_HOLDERS ? html`${amount(String(MOST_HOLDERS))}+` : amount(row['holders']),
    amount(row['supply']),
    shareText(row['supply'], Number(row['max_supply']) > 0 ? row['max_supply'] : null) ||
      html`<span class="none">no maximum</span>`
  ]);
  return section('Tokens in use', ['Token', 'Last moved', 'Actions', 'Holders', 'Supply', 'Of the maximum'], lines, {
    kind: 'tokens',
    empty: 'No token yet. Anybody can issue one with an ISSUE action.'
  });
}
