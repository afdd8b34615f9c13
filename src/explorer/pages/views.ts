import { PlatformError } from '../../errors.ts';
import { type Html, html } from './html.ts';
import {
  actionsSection,
  activityChart,
  facts,
  type LinkTo,
  type Row,
  type Site,
  section,
  type Thing,
  timeOf,
  verdict
} from './parts.ts';

/** Reads a method's answer for a page. @throws {PlatformError} as the route of the method does */
export type ReadAnswer = (
  method: string,
  asked?: { readonly query?: string; readonly type?: string; readonly cursor?: string; readonly limit?: number }
) => Promise<{
  readonly data: unknown;
  readonly next: string | null;
  /** Whether a list is in its own order; one that is too long for that is in the order of its keys. */
  readonly isRanked: boolean;
}>;

/** Title and content of a page. */
export interface View {
  readonly title: string;
  readonly body: Html;
}

/** Input of a page: the name in its path, the cursor of its list, and functions that read answers and make links. */
interface Asked {
  readonly name: string;
  readonly cursor?: string;
  readonly read: ReadAnswer;
  readonly linkTo: LinkTo;
}

const rowsOf = (data: unknown) => data as readonly Row[];
const rowOf = (data: unknown) => data as Row;
/** A page of what the ledger does not have. */
const unnamed = (what: string, name: string, why: string | false = false) =>
  new PlatformError('RECORD_UNKNOWN', { reason: why ? `${what} "${name}": ${why}` : `there is no ${what} "${name}"` });
const textOf = (value: unknown) => (value === null || value === undefined ? null : String(value));

async function homeView({ read, linkTo }: Asked): Promise<View> {
  const [network, blocks, actions] = await Promise.all([
    read('network'),
    read('blocks', { limit: 8 }),
    read('history', { query: 'all', type: 'recent', limit: 12 })
  ]);
  const totals = rowOf(rowOf(network.data)['totals']);
  const blockRows = rowsOf(blocks.data).map((block) => [
    linkTo('block', block['block_index']),
    timeOf(block['timestamp']),
    html`<code>${String(block['ledger_hash']).slice(0, 16)}&hellip;</code>`
  ]);
  return {
    title: 'Explorer',
    body: html`<div data-live>${facts(Object.entries(totals).map(([name, value]) => [name, textOf(value)]))}
${section('Newest blocks', ['Block', 'Time', 'Ledger hash'], blockRows)}
${actionsSection(linkTo, 'Newest actions', rowsOf(actions.data))}</div>`
  };
}

async function addressView({ name, cursor, read, linkTo }: Asked): Promise<View> {
  const [address, balances, history] = await Promise.all([
    read('address', { query: name }),
    read('balances', { query: name, limit: 100 }),
    read('history', { query: name, type: 'address', limit: 25, ...(cursor === undefined ? {} : { cursor }) })
  ]);
  const { block_index: first, pubkey, info, type } = rowOf(address.data);
  if (rowOf(info)['address_id'] === null) throw unnamed('address', name, type !== null && 'it has done nothing yet');
  const held = rowsOf(balances.data).map(({ tick, amount, supply }) => [
    linkTo('token', tick),
    html`<span class="amount">${textOf(amount)}</span>`,
    html`<span class="amount">${textOf(supply)}</span>`
  ]);
  return {
    title: `Address ${name}`,
    body: html`<h2 class="name">Address <code>${name}</code></h2>
${facts([
  ['first seen in block', linkTo('block', first)],
  ['public key', textOf(pubkey) && html`<code>${textOf(pubkey)}</code>`]
])}
${section(balances.next === null ? 'Balances' : 'Balances (the first 100)', ['Token', 'Amount', 'Supply'], held)}
${actionsSection(linkTo, 'History', rowsOf(history.data), history.next)}`
  };
}

async function tokenView({ name, cursor, read, linkTo }: Asked): Promise<View> {
  const token = rowOf((await read('token', { query: name })).data);
  const [info, supply, locks] = [rowOf(token['info']), rowOf(token['supply']), rowOf(token['locks'])];
  const tick = String(info['tick']);
  const [holders, newest, history] = await Promise.all([
    read('holders', { query: tick, limit: 25 }),
    read('history', { query: tick, type: 'token', limit: 100 }),
    read('history', { query: tick, type: 'token', limit: 25, ...(cursor === undefined ? {} : { cursor }) })
  ]);
  const locked = Object.entries(locks).flatMap(([lock, isLocked]) => (isLocked ? [lock.replaceAll('_', ' ')] : []));
  const held = rowsOf(holders.data).map(({ address, amount }) => [
    linkTo('address', address),
    html`<span class="amount">${textOf(amount)}</span>`
  ]);
  return {
    title: `Token ${tick}`,
    body: html`<h2 class="name">Token <b>${tick}</b></h2>
${facts([
  ['supply', html`<span class="amount">${textOf(supply['supply'])}</span>`],
  ['max supply', textOf(supply['max_supply'])],
  ['decimals', textOf(info['decimals'])],
  ['owner', linkTo('address', info['owner'])],
  ['issued by', linkTo('action', info['action_index'])],
  ['description', textOf(info['description'])],
  ['locked', locked.length === 0 ? 'nothing' : locked.join(', ')]
])}
${activityChart(rowsOf(newest.data))}
${section(holders.isRanked ? 'Largest holders' : 'Holders (the first 25)', ['Address', 'Amount'], held)}
${actionsSection(linkTo, 'History', rowsOf(history.data), history.next)}`
  };
}

async function blockView({ name, cursor, read, linkTo }: Asked): Promise<View> {
  const [block, newest] = await Promise.all([
    read('block', { query: name }).then(({ data }) => rowOf(data)),
    read('blocks', { limit: 1 }).then(({ data }) => rowsOf(data)[0])
  ]);
  const height = String(block['block_index']);
  const isNewest = newest?.['block_index'] === block['block_index'];
  const { data, next } = await read('history', {
    query: height,
    type: 'block',
    limit: 50,
    ...(cursor === undefined ? {} : { cursor })
  });
  const hashes = ['ledger_hash', 'actions_hash', 'contract_hash', 'state_hash'].flatMap((hash) => {
    const text = textOf(block[hash]);
    return text === null ? [] : [[hash.replace('_', ' '), html`<code>${text}</code>`] as const];
  });
  return {
    title: `Block ${height}`,
    body: html`<h2 class="name">Block ${height}</h2>
${facts([['time', timeOf(block['timestamp'])], ['actions', textOf(block['actions'])], ['transactions', textOf(block['transactions'])], ...hashes])}
<p class="around">${linkTo('block', Math.max(0, Number(height) - 1), '← Before')}${!isNewest && linkTo('block', Number(height) + 1, 'After →')}</p>
${actionsSection(linkTo, 'Actions', rowsOf(data), next)}`
  };
}

/** Actions of a transaction whose verdicts its page reads, each by itself; a BATCH may hold thousands. */
const MAX_TOLD = 10;

async function transactionView({ name, read, linkTo }: Asked): Promise<View> {
  const transaction = rowOf((await read('transaction', { query: name })).data);
  if (transaction['tx_index'] === undefined) throw unnamed('transaction', name);
  const actions = await Promise.all(
    rowsOf(transaction['actions']).map(async (row, place) => {
      if (place >= MAX_TOLD) return { ...transaction, ...row };
      return rowOf((await read('action', { query: String(row['action_index']) })).data);
    })
  );
  return {
    title: `Transaction ${textOf(transaction['tx_hash'])}`,
    body: html`<h2 class="name">Transaction <code>${textOf(transaction['tx_hash'])}</code></h2>
${facts([
  ['block', linkTo('block', transaction['block_index'])],
  ['time', timeOf(transaction['timestamp'])],
  ['source', linkTo('address', transaction['source'])]
])}
${actionsSection(linkTo, 'Actions', actions)}`
  };
}

async function actionView({ name, read, linkTo }: Asked): Promise<View> {
  const action = rowOf((await read('action', { query: name })).data);
  if (action['action_index'] === undefined) throw unnamed('action', name);
  const statuses = action['statuses'] as readonly string[];
  return {
    title: `${textOf(action['action'])} ${name}`,
    body: html`<h2 class="name">${textOf(action['action'])} <small>action ${textOf(action['action_index'])}</small></h2>
<p class="verdicts">${statuses.map(verdict)}</p>
${movesOf(action, linkTo)}
${facts([
  ['source', linkTo('address', action['source'])],
  ['block', linkTo('block', action['block_index'])],
  ['time', timeOf(action['timestamp'])],
  ['transaction', linkTo('transaction', action['tx_hash'])],
  ['text', textOf(action['data']) && html`<code>${textOf(action['data'])}</code>`]
])}`
  };
}

/** Shows the moves of an action: from each address or escrow, and to each. */
function movesOf(action: Row, linkTo: LinkTo): Html {
  const move = ({ address, tick, amount }: Row, sign: string, where = '') =>
    html`<li>${linkTo('address', address)} <span class="amount">${sign}${textOf(amount)?.replace('-', '')}</span> ${linkTo('token', tick)}${where}</li>`;
  const escrows = rowsOf(action['escrows'] ?? []);
  const isReleased = ({ amount }: Row) => String(amount).startsWith('-');
  const from = [
    ...rowsOf(action['debits'] ?? []).map((row) => move(row, '−')),
    ...escrows.filter(isReleased).map((row) => move(row, '−', ' in escrow'))
  ];
  const into = [
    ...rowsOf(action['credits'] ?? []).map((row) => move(row, '+')),
    ...escrows.filter((row) => !isReleased(row)).map((row) => move(row, '+', ' in escrow'))
  ];
  if (from.length + into.length === 0) return html`<p class="none">It moved nothing.</p>`;
  return html`<div class="moves"><ul aria-label="taken from">${from}</ul><span class="arrow" aria-hidden="true">&rarr;</span>
<ul aria-label="given to">${into}</ul></div>`;
}

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
      ? html`<p>Nothing has this name: no address, token, transaction, block or action.</p>`
      : html`<p>This is an address that has done nothing yet.</p>`;
  return {
    title: `Search ${name}`,
    body: html`<h2 class="name">Search <code>${name}</code></h2>${found.length === 0 ? nothing : section('Found', ['What', 'Name'], found)}`,
    only: isOne ? (first ?? null) : null
  };
}

/** The pages of one thing each, by the first part of their path; the front page has none. */
export const VIEWS: Readonly<Record<string, (asked: Asked) => Promise<View>>> = {
  '': homeView,
  address: addressView,
  token: tokenView,
  block: blockView,
  transaction: transactionView,
  action: actionView
};

/** A page that says why there is no other. */
export function failureView(title: string, reason: string, base: string): View {
  return { title, body: html`<h2 class="name">${title}</h2><p>${reason}</p><p><a href="${base}/">Begin again</a></p>` };
}

/** The front page of a service of several networks. */
export function networksView(sites: readonly Site[]): View {
  const rows = sites.map(({ name, base }) => [html`<a href="${base}/">${name}</a>`]);
  return { title: 'Networks', body: section('Networks', ['Network'], rows) };
}
