import { html } from './html.ts';
import { section, type Thing } from './parts.ts';
import { type Asked, rowOf, type View } from './view.ts';

/** Texts that name a block, a transaction or an action, now or later. */
const LIKE_A_FACT = /^(?:\d+|[0-9a-f]{64})$/i;

interface Found {
  readonly type: Thing;
  readonly value: string;
}

/** Shows the results of a search; `only` is the one result, if there is exactly one. */
export async function searchView({ name, read, linkTo }: Asked): Promise<View & { readonly only: Found | null }> {
  const { results, unused_address: unused } = rowOf((await read('search', { query: name })).data) as {
    readonly results: readonly Found[];
    readonly unused_address: string | null;
  };
  const [first, ...others] = results;
  const tokens = results.filter(({ type }) => type === 'token');
  // A token may be named like a block that is still to come, or like a transaction: its page is no answer to such a question.
  const isToken = tokens.length === results.length && !LIKE_A_FACT.test(name);
  const isOne =
    first?.type === 'token' ? isToken && (others.length === 0 || first.value === name) : others.length === 0;
  const found = results.map(({ type, value }) => [type, linkTo(type, value)]);
  const nothing =
    unused === null
      ? html`<p>Nothing has this name: no address, token, transaction, block or action.</p>
<p class="none">Tokens are found by the beginning of their name, in any case; all else by its whole name, number or hash.</p>`
      : html`<p>This is an address that has done nothing yet.</p>`;
  return {
    title: `Search ${name}`,
    body: html`<h1 class="name">Search <code>${name}</code></h1>${found.length === 0 ? nothing : section('Found', ['What', 'Name'], found)}`,
    only: isOne ? (first ?? null) : null
  };
}
