import { type Html, html } from './html.ts';

/** One row of an answer. */
export type Row = Readonly<Record<string, unknown>>;

/** Location of the pages of a network. */
export interface Site {
  /** The network's name. */
  readonly name: string;
  /** Its public code; null for the pages that are of no network. */
  readonly code: string | null;
  /** Beginning of the paths of its pages, such as `/LTC`; empty where only one network is served. */
  readonly base: string;
}

/** Makes a page of the explorer: its style is the console's. */
export function layout({ name, code, base }: Site, title: string, body: Html): string {
  return `<!doctype html>
${
  html`<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${title} &middot; ${name}</title>
<link rel="stylesheet" href="/console/console.css"><link rel="stylesheet" href="/console/explorer.css">
<link rel="icon" href="/console/icon.svg"><script type="module" src="/console/explorer.js"></script></head>
<body class="explorer"><a class="skip" href="#main">Skip to the content</a>
<header><h1><a href="${base}/">${name}</a></h1>
${code !== null && searchForm(base)}
<p id="tip" role="status" data-code="${code}"></p></header>
<main id="main" tabindex="-1">${body}</main>
<footer><nav aria-label="More"><a href="/docs">API</a> <a href="/openapi.json">OpenAPI</a> <a href="/console">Console</a></nav></footer>
</body></html>`.text
}
`;
}

function searchForm(base: string): Html {
  return html`<form action="${base}/search" role="search"><input name="q" type="search" required maxlength="250" aria-label="Search"
 placeholder="Address, token, block, transaction, action"><button>Search</button></form>`;
}

/** Kind of thing that has a page of its own. */
export type Thing = 'address' | 'token' | 'block' | 'action' | 'transaction' | 'market';

/** Returns the path of the page of a thing. */
export const pathOf = (base: string, kind: Thing, ...names: readonly string[]): string =>
  [base, kind, ...names.map(encodeURIComponent)].join('/');

/** A link to the page of a thing, which has one name or several. */
export type LinkTo = (kind: Thing, name: unknown, label?: string) => Html;

/** Links among the pages of a network. */
export function linksIn(base: string): LinkTo {
  return (kind, name, label) => {
    if (name === null || name === undefined) return html`<span class="none">none</span>`;
    const names = Array.isArray(name) ? name.map(String) : [String(name)];
    const text = names.join('/');
    const shown = label ?? (kind === 'transaction' ? `${text.slice(0, 10)}…` : text);
    return html`<a href="${pathOf(base, kind, ...names)}">${shown}</a>`;
  };
}

/** Shows a time in Unix seconds. */
export function timeOf(seconds: unknown): Html {
  if (!/^\d{1,11}$/.test(String(seconds))) return html`<span class="none">unknown</span>`;
  const text = new Date(Number(seconds) * 1000).toISOString();
  return html`<time datetime="${text}">${text.slice(0, 16).replace('T', ' ')} UTC</time>`;
}

/** Shows a number in groups of three digits. Its text is the number as it is, so that a copy is exact. */
export function amount(value: unknown): Html {
  const text = value === null || value === undefined ? '' : String(value);
  const [, sign, whole, rest] = /^(-?)(\d{4,})(\.\d+)?$/.exec(text) ?? [];
  if (whole === undefined) return html`<span class="amount">${text}</span>`;
  const groups = whole.match(/\d{1,3}(?=(?:\d{3})*$)/g)!.map((digits) => html`<i>${digits}</i>`);
  return html`<span class="amount">${sign}${groups}${rest}</span>`;
}

/** Draws a bar. @param part of its full length, 0 to 1; the text beside it says the same */
export function bar(part: number): Html {
  return html`<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width="${(part * 100).toFixed(2)}" height="8"/></svg>`;
}

/** Makes a link to the market of a pair. */
export function marketLink(linkTo: LinkTo, tick1: unknown, tick2: unknown): Html {
  return linkTo('market', [String(tick1), String(tick2)], `${String(tick1)}/${String(tick2)}`);
}

/** Shows facts about one thing. */
export function facts(rows: readonly (readonly [name: string, value: Html | string | number | null])[]): Html {
  const shown = rows.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value ?? html`<span class="none">none</span>`}</dd></div>`
  );
  return html`<dl class="facts">${shown}</dl>`;
}

/** Columns of numbers, whose digits stand below each other. */
const NUMBERS: ReadonlySet<string> = new Set([
  'Amount',
  'Supply',
  'Share',
  'Actions',
  'Transactions',
  'Price',
  'Volume',
  '24 h %'
]);

/** Makes a part of a page with a list; `next` is the cursor of its next page. */
export function section(
  title: string,
  heads: readonly string[],
  rows: readonly (readonly (Html | string)[])[],
  next: string | null = null
): Html {
  const kindOf = (head: string | undefined) => NUMBERS.has(head ?? '') && html` class="number"`;
  const line = (cells: readonly (Html | string)[]) =>
    html`<tr>${cells.map((cell, place) => html`<td data-name="${heads[place]}"${kindOf(heads[place])}>${cell}</td>`)}</tr>`;
  const table = html`<table aria-label="${title}"><thead><tr>${heads.map((head) => html`<th scope="col"${kindOf(head)}>${head}</th>`)}</tr></thead>
<tbody>${rows.map(line)}</tbody></table>`;
  const more = next !== null && html`<p><a rel="next" href="?cursor=${encodeURIComponent(next)}">Older</a></p>`;
  return html`<section><h2>${title}</h2>${rows.length === 0 ? html`<p class="none">Nothing yet.</p>` : table}${more}</section>`;
}

/** Shows actions, each with whether it counts, what its first row moves to whom, who did it, where and when. */
export function actionsSection(linkTo: LinkTo, title: string, rows: readonly Row[], next: string | null = null): Html {
  const line = (row: Row) => [
    linkTo('action', row['action_index']),
    html`<b>${String(row['action'])}</b>`,
    typeof row['status'] === 'string' ? verdict(row['status']) : '',
    movedBy({ ...((row['details'] as Row | undefined) ?? row), status: row['status'] }, linkTo),
    linkTo('address', row['source']),
    linkTo('block', row['block_index']),
    timeOf(row['timestamp'])
  ];
  return section(title, ['Action', 'Kind', 'Verdict', 'Moves', 'Source', 'Block', 'Time'], rows.map(line), next);
}

/** Shows the amount, token and receiver that an action names. The token of a refused one may not exist: then it has no page. */
function movedBy({ amount: sum, tick, destination, status }: Row, linkTo: LinkTo): Html | string {
  if (typeof tick !== 'string') return '';
  const of = typeof sum === 'string' && html`${amount(sum)} `;
  const to = typeof destination === 'string' && html` &rarr; ${linkTo('address', destination)}`;
  const isRefused = typeof status === 'string' && status !== 'valid';
  return html`<span>${of}${isRefused ? tick : linkTo('token', tick)}${to}</span>`;
}

/** Shows a verdict: `valid`, or the reason for a refusal. */
export function verdict(status: string): Html {
  return html`<span class="verdict" data-state="${status === 'valid' ? 'well' : 'failed'}">${status}</span>`;
}

const BARS = 30;
const [WIDTH, HEIGHT] = [600, 80];

/** Draws the number of the newest actions in each of equal spans of time, oldest first. */
export function activityChart(rows: readonly Row[]): Html | null {
  const times = rows.map((row) => Number(row['timestamp'])).filter(Number.isFinite);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  if (times.length < 2 || first === last) return null;
  const counts = Array.from({ length: BARS }, () => 0);
  for (const time of times) counts[Math.min(BARS - 1, Math.floor(((time - first) / (last - first)) * BARS))]! += 1;
  const most = Math.max(...counts);
  const step = WIDTH / BARS;
  const bars = counts.map((count, place) => {
    const height = (count / most) * HEIGHT;
    return html`<rect x="${place * step + 1}" y="${HEIGHT - height}" width="${step - 2}" height="${height}"/>`;
  });
  return html`<figure class="activity"><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img"
 aria-label="The newest ${times.length} actions over time, at most ${most} in a bar">${bars}</svg>
<figcaption>The newest ${times.length} actions: ${timeOf(first)} to ${timeOf(last)}</figcaption></figure>`;
}
