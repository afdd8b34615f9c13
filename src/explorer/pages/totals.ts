import { type Html, html } from './html.ts';
import { amount, type Row } from './parts.ts';

/** Plain words for the lengths of lists, in groups. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ledger: {
    actions: 'actions',
    transactions: 'transactions with actions',
    batches: 'batches',
    tickers: 'names of tokens ever used'
  },
  Tokens: {
    tokens: 'tokens',
    issues: 'issues and changes',
    mints: 'mints',
    sends: 'payments',
    airdrops: 'airdrops',
    dividends: 'dividends',
    destroys: 'amounts destroyed',
    sweeps: 'sweeps',
    callbacks: 'callbacks',
    sleeps: 'pauses'
  },
  Trade: {
    orders: 'orders',
    order_matches: 'trades by orders',
    order_edits: 'changed orders',
    order_cancels: 'cancelled orders',
    swaps: 'swaps offered',
    swap_matches: 'swaps done',
    swap_edits: 'changed swaps',
    swap_cancels: 'cancelled swaps',
    dispensers: 'dispensers',
    dispenses: 'sales by dispensers',
    coinpay_obligations: 'payments in coin due',
    coinpays: 'payments in coin made',
    coinpay_expires: 'payments in coin missed'
  },
  Notes: {
    addresses: 'settings of addresses',
    broadcasts: 'broadcasts',
    messages: 'messages',
    files: 'files',
    links: 'links between chains',
    lists: 'lists',
    prices: 'prices',
    anchor_actions: 'anchors',
    full_node_verifications: 'proofs of full nodes'
  }
};

/** Shows how much there is, in groups and plain words; what there is none of is left out. */
export function totalsSection(totals: Row): Html | null {
  const known = new Set(Object.values(GROUPS).flatMap((group) => Object.keys(group)));
  const others = Object.keys(totals).filter((name) => !known.has(name));
  const groups = Object.entries({
    ...GROUPS,
    Others: Object.fromEntries(others.map((name) => [name, name.replaceAll('_', ' ')]))
  });
  const shown = groups.flatMap(([title, words]) => {
    const items = Object.entries(words).flatMap(([name, word]) => itemOf(totals[name], word));
    return items.length === 0 ? [] : [html`<div><dt>${title}</dt>${items}</div>`];
  });
  return shown.length === 0
    ? null
    : html`<section><h2>How much there is</h2><dl class="totals">${shown}</dl></section>`;
}

/** @param total null: it is being counted */
function itemOf(total: unknown, word: string): Html[] {
  if (total === undefined || Number(total) === 0) return total === null ? [html`<dd>many ${word}</dd>`] : [];
  return [html`<dd>${amount(String(total))} ${word}</dd>`];
}
