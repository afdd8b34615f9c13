import { type Html, html } from './html.ts';

/** One row of an answer. */
export type Row = Readonly<Record<string, unknown>>;

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
    return html`<a href="${pathOf(base, kind, ...names)}">${label ?? shortened(names.join('/'))}</a>`;
  };
}

/** Letters of a long text that a narrow column leaves out last, and the length from which a text is long. */
const [END, LONG] = [6, 24];

/** Shows a long text in one line: where it is too narrow the middle is hidden. The whole text is there, for copies and for search. */
export function shortened(text: string): Html {
  if (text.length < LONG) return html`${text}`;
  return html`<span class="long"><span>${text.slice(0, -END)}</span><span>${text.slice(-END)}</span></span>`;
}

/** Shows a time in Unix seconds. */
export function timeOf(seconds: unknown): Html {
  if (!/^\d{1,11}$/.test(String(seconds))) return html`<span class="none">unknown</span>`;
  const text = new Date(Number(seconds) * 1000).toISOString();
  const shown = `${text.slice(0, 16).replace('T', ' ')} UTC`;
  return html`<time datetime="${text}" title="${shown}">${shown}</time>`;
}

/** Shows a number in groups of three digits. Its text is the number as it is, so that a copy is exact. */
export function amount(value: unknown): Html {
  const text = value === null || value === undefined ? '' : String(value);
  const [, sign, whole, rest] = /^(-?)(\d{4,})(\.\d+)?$/.exec(text) ?? [];
  if (whole === undefined) return html`<span class="amount">${text}</span>`;
  const groups = whole.match(/\d{1,3}(?=(?:\d{3})*$)/g)!.map((digits) => html`<i>${digits}</i>`);
  return html`<span class="amount">${sign}${groups}${rest}</span>`;
}

/** Shows a change of a balance with its sign. */
export function change(value: string, name: Html | string): Html {
  const isLess = value.startsWith('-');
  return html`<span class="${isLess ? 'out' : 'in'}">${isLess ? '−' : '+'}${amount(value.replace('-', ''))} ${name}</span>`;
}

/** Draws a bar. @param part of its full length, 0 to 1; the text beside it says the same */
export function bar(part: number): Html {
  return html`<svg class="gauge" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width="${(part * 100).toFixed(2)}" height="8"/></svg>`;
}

/** Returns the part that an amount is of a supply, 0 to 1; null where there is none. */
export function shareOf(part: unknown, supply: unknown): number | null {
  const share = Number(part) / Number(supply);
  return part === null || supply === null || !Number.isFinite(share) ? null : Math.min(1, share);
}

/** Returns a share in percent. */
export function shareText(part: unknown, supply: unknown): string {
  const share = shareOf(part, supply);
  if (share === null) return '';
  return share > 0 && share < 0.0001 ? '< 0.01 %' : `${(share * 100).toFixed(2)} %`;
}

/** Returns the greatest of some counts; 0 of none. */
export const greatest = (counts: readonly number[]): number => counts.reduce((most, each) => Math.max(most, each), 0);

/** Returns a number with its noun. */
export function counted(count: number | string, one: string, many = `${one}s`): Html {
  return html`${amount(String(count))} ${String(count) === '1' ? one : many}`;
}

/** Makes a link to the market of a pair. */
export function marketLink(linkTo: LinkTo, tick1: unknown, tick2: unknown): Html {
  return linkTo('market', [String(tick1), String(tick2)], `${String(tick1)}/${String(tick2)}`);
}

/** Shows facts about one thing. Absent ones are left out. */
export function facts(
  rows: readonly (readonly [name: string, value: Html | string | number | null | undefined])[]
): Html {
  const shown = rows.map(
    ([name, value]) =>
      value !== undefined && html`<div><dt>${name}</dt><dd>${value ?? html`<span class="none">none</span>`}</dd></div>`
  );
  return html`<dl class="facts">${shown}</dl>`;
}

/** Shows long texts that a script lets one copy, one below the other. */
export function texts(rows: readonly (readonly [name: string, value: string | null])[]): Html {
  const shown = rows.flatMap(([name, value]) =>
    value === null ? [] : [html`<div><dt>${name}</dt><dd><code data-copy="${name}">${value}</code></dd></div>`]
  );
  return html`<dl class="texts">${shown}</dl>`;
}

/** Columns of numbers, whose digits stand below each other. */
const NUMBERS: ReadonlySet<string> = new Set([
  'Amount',
  'Supply',
  'Share',
  'Of the maximum',
  'Actions',
  'Holders',
  'Transactions',
  'Price',
  'Last price',
  'Open orders',
  'Total',
  'Volume',
  '24 h %',
  'Left'
]);

/** Settings of a part of a page with a list. */
interface SectionOptions {
  /** Cursor of the next page. */
  readonly next?: string | null;
  /** Text in place of an empty list: tells what would be here. */
  readonly empty?: Html | string;
  /** Class of the table. */
  readonly kind?: string;
  /** Classes of rows by their places; undefined: none. */
  readonly rowKind?: (place: number) => string | undefined;
  readonly id?: string;
}

/** Makes a part of a page with a list. */
export function section(
  title: string,
  heads: readonly string[],
  rows: readonly (readonly (Html | string)[])[],
  { next = null, empty = 'Nothing yet.', kind, rowKind, id }: SectionOptions = {}
): Html {
  const kindOf = (head: string | undefined) => NUMBERS.has(head ?? '') && html` class="number"`;
  const line = (cells: readonly (Html | string)[], place: number) => {
    const named = rowKind?.(place);
    return html`<tr${named !== undefined && html` data-outcome="${named}"`}>${cells.map((cell, at) => html`<td data-name="${heads[at]}"${kindOf(heads[at])}>${cell}</td>`)}</tr>`;
  };
  const table = html`<table aria-label="${title}"${kind !== undefined && html` class="${kind}"`}><thead><tr>${heads.map((head) => html`<th scope="col" data-name="${head}"${kindOf(head)}>${head}</th>`)}</tr></thead>
<tbody>${rows.map(line)}</tbody></table>`;
  const more =
    next !== null && html`<p class="more"><a rel="next" href="?cursor=${encodeURIComponent(next)}">Older</a></p>`;
  return html`<section${id !== undefined && html` id="${id}"`}><h2>${title}</h2>${rows.length === 0 ? html`<p class="none">${empty}</p>` : table}${more}</section>`;
}
