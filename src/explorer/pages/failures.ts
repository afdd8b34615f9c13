import { PlatformError } from '../../errors.ts';
import { type Html, html } from './html.ts';
import { searchForm } from './layout.ts';
import type { View } from './view.ts';

/** Returns the error for a name that the ledger does not have. */
export const unnamed = (what: string, name: string, why: string | false = false): PlatformError =>
  new PlatformError('RECORD_UNKNOWN', { reason: why ? `${what} "${name}": ${why}` : `there is no ${what} "${name}"` });

interface Failure {
  readonly title: string;
  readonly reason: string;
  /** Beginning of the paths of the network's pages; null: of no network. */
  readonly base: string | null;
  /** Kind and names in the path. */
  readonly kind: string;
  readonly names: readonly string[];
}

/** Reasons why a name of a kind leads to nothing, in words. */
const HINTS: Readonly<Record<string, string>> = {
  token: 'Names of tokens are found in any case. It may not be issued yet, or its ISSUE was refused.',
  address: 'An address has a page from its first action on, or from the first one that names it.',
  block: 'A block has a height from zero to that of the newest one, or a hash of 64 hex digits.',
  transaction: 'A transaction has a page once it is in a block and says something to the ledger.',
  action: 'Actions are numbered from one to the newest, without gaps.',
  market: 'A pair has a page once somebody trades it, or offers to.'
};

/** Makes a page that says why there is no other, what was looked for, and where to go on. */
export function failureView({ title, reason, base, kind, names }: Failure): View {
  const wanted = names.join('/');
  const hint = HINTS[kind];
  return {
    title,
    body: html`<h1 class="name">${title}</h1>
${wanted !== '' && html`<p class="lead">You looked for the ${kind} <code>${wanted}</code>.</p>`}
<p>${sentence(reason)}</p>
${hint !== undefined && html`<p class="none">${hint}</p>`}
${base !== null && onwards(base, wanted)}
${base === null && html`<p><a href="/">All networks</a></p>`}`
  };
}

/** Returns a reason as a sentence. */
const sentence = (reason: string): string =>
  `${reason.charAt(0).toUpperCase()}${reason.slice(1)}${/[.!?]$/.test(reason) ? '' : '.'}`;

function onwards(base: string, wanted: string): Html {
  return html`<section class="onwards"><h2>Go on from here</h2>${searchForm(base, wanted)}
<ul><li><a href="${base}/">The newest blocks, actions, tokens and markets</a></li>
<li><a href="/docs">What programs can ask</a></li></ul></section>`;
}
