import { type Html, html } from './html.ts';
import { amount, type LinkTo, marketLink, type Row, section } from './parts.ts';

/** Open orders of a pair that are counted. */
const MOST_OPEN = 1_000;

/** Shows pairs, each with its last price. @param rows null: not known now @param empty text in place of none */
export function marketsSection(rows: readonly Row[] | null, linkTo: LinkTo, empty: string): Html {
  if (rows === null) return section('Markets', [], [], { empty: 'Not known now: the database does not have them.' });
  const lines = rows.map((row) => [
    marketLink(linkTo, row['tick1'], row['tick2']),
    Number(row['tick1_price']) > 0 ? amount(row['tick1_price']) : html`<span class="none">no trade</span>`,
    changeOf(row['tick1_24hr_change']),
    openOf(row['open_orders'])
  ]);
  return section('Markets', ['Pair', 'Last price', '24 h %', 'Open orders'], lines, { empty });
}

function changeOf(value: unknown): Html {
  const change = Number(value);
  if (!change) return html`<span class="none">&ndash;</span>`;
  return html`<span class="${change > 0 ? 'in' : 'bad'}">${change > 0 && '+'}${amount(value)}</span>`;
}

function openOf(count: unknown): Html {
  if (count === null || count === undefined) return html`<span class="none">&ndash;</span>`;
  return Number(count) > MOST_OPEN ? html`${amount(String(MOST_OPEN))}+` : amount(String(count));
}
