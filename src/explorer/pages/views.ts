import { PlatformError } from '../../errors.ts';
import { homeView } from './home-view.ts';
import { type Html, html } from './html.ts';
import { marketView } from './market-view.ts';
import {
  actionsSection,
  activityChart,
  amount,
  bar,
  facts,
  type LinkTo,
  marketLink,
  type Row,
  type Site,
  section,
  type Thing,
  timeOf,
  verdict
} from './parts.ts';
import { type Asked, confirmationsOf, readOptional, rowOf, rowsOf, textOf, type View } from './view.ts';

/** Returns the error for a name that the ledger does not have. */
const unnamed = (what: string, name: string, why: string | false = false) =>
  new PlatformError('RECORD_UNKNOWN', { reason: why ? `${what} "${name}": ${why}` : `there is no ${what} "${name}"` });
async function addressView({ name, cursor, read, linkTo }: Asked): Promise<View> {
  const [address, balances, history] = await Promise.all([
    read('address', { query: name }),
    read('balances', { query: name, limit: 100 }),
    read('history', { query: name, type: 'address', limit: 25, ...(cursor === undefined ? {} : { cursor }) })
  ]);
  const { block_index: first, pubkey, info, type } = rowOf(address.data);
  if (rowOf(info)['address_id'] === null) throw unnamed('address', name, type !== null && 'it has done nothing yet');
  const held = rowsOf(balances.data).map(({ tick, amount: held, supply }) => [
    linkTo('token', tick),
    amount(held),
    amount(supply),
    shareText(held, supply)
  ]);
  return {
    title: `Address ${name}`,
    body: html`<h2 class="name">Address <code>${name}</code></h2>
${facts([
  ['first seen in block', linkTo('block', first)],
  ['public key', textOf(pubkey) && html`<code>${textOf(pubkey)}</code>`]
])}
${section(balances.next === null ? 'Balances' : 'Balances (the first 100)', ['Token', 'Amount', 'Supply', 'Share'], held)}
${actionsSection(linkTo, 'History', rowsOf(history.data), history.next)}`
  };
}

async function tokenView({ name, cursor, read, linkTo }: Asked): Promise<View> {
  const token = rowOf((await read('token', { query: name })).data);
  const [info, supply, locks] = [rowOf(token['info']), rowOf(token['supply']), rowOf(token['locks'])];
  const tick = String(info['tick']);
  const [holders, markets, newest, history] = await Promise.all([
    read('holders', { query: tick, limit: 25 }),
    readOptional(read, 'markets', { query: tick, type: 'token', limit: 10 }),
    read('history', { query: tick, type: 'token', limit: 100 }),
    read('history', { query: tick, type: 'token', limit: 25, ...(cursor === undefined ? {} : { cursor }) })
  ]);
  const locked = Object.entries(locks).flatMap(([lock, isLocked]) => (isLocked ? [lock.replaceAll('_', ' ')] : []));
  const held = rowsOf(holders.data).map(({ address, amount: held }) => [
    linkTo('address', address),
    amount(held),
    shareText(held, supply['supply']),
    bar(shareOf(held, supply['supply']) ?? 0)
  ]);
  const pairs = (markets ?? []).map((row) => [
    marketLink(linkTo, row['tick1'], row['tick2']),
    amount(row['tick1_price']),
    amount(row['tick1_24hr_volume'])
  ]);
  return {
    title: `Token ${tick}`,
    body: html`<h2 class="name">Token <b>${tick}</b></h2>
${facts([
  ['supply', amount(supply['supply'])],
  ['max supply', amount(supply['max_supply'])],
  ['decimals', textOf(info['decimals'])],
  ['owner', linkTo('address', info['owner'])],
  ['issued by', linkTo('action', info['action_index'])],
  ['description', textOf(info['description'])],
  ['locked', locked.length === 0 ? 'nothing' : locked.join(', ')]
])}
${activityChart(rowsOf(newest.data))}
${section(holders.isRanked ? 'Largest holders' : 'Holders (the first 25)', ['Address', 'Amount', 'Share', 'Part'], held)}
${pairs.length > 0 && section('Markets', ['Pair', 'Price', 'Volume'], pairs)}
${actionsSection(linkTo, 'History', rowsOf(history.data), history.next)}`
  };
}

/** Returns the part that an amount is of a supply, 0 to 1; null where there is none. */
function shareOf(part: unknown, supply: unknown): number | null {
  const share = Number(part) / Number(supply);
  return part === null || supply === null || !Number.isFinite(share) ? null : Math.min(1, share);
}

function shareText(part: unknown, supply: unknown): string {
  const share = shareOf(part, supply);
  if (share === null) return '';
  return share > 0 && share < 0.0001 ? '< 0.01 %' : `${(share * 100).toFixed(2)} %`;
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
  const hashes = ['block_hash', 'ledger_hash', 'actions_hash', 'contract_hash', 'state_hash'].flatMap((hash) => {
    const text = textOf(block[hash]);
    return text === null ? [] : [[hash.replace('_', ' '), html`<code>${text}</code>`] as const];
  });
  return {
    title: `Block ${height}`,
    body: html`<h2 class="name">Block ${height}</h2>
${facts([
  ['time', timeOf(block['timestamp'])],
  ['confirmations', textOf(newest && Math.max(0, Number(newest['block_index']) - Number(height) + 1))],
  ['actions', amount(block['actions'])],
  ['transactions', amount(block['transactions'])],
  ...hashes
])}
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
  ['confirmations', await confirmationsOf(read, transaction['block_index'])],
  ['time', timeOf(transaction['timestamp'])],
  ['source', linkTo('address', transaction['source'])],
  ['text', textOf(transaction['tx_data']) && html`<code>${textOf(transaction['tx_data'])}</code>`]
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
  ['confirmations', await confirmationsOf(read, action['block_index'])],
  ['fee', feeOf(action['fee'], linkTo)],
  ['time', timeOf(action['timestamp'])],
  ['transaction', linkTo('transaction', action['tx_hash'])],
  ['text', textOf(action['data']) && html`<code>${textOf(action['data'])}</code>`]
])}
${Array.isArray(action['actions']) && actionsSection(linkTo, 'Actions of this batch', partsOf(action['actions']))}`
  };
}

/** Actions of a BATCH as a list has them: with their details. */
const partsOf = (parts: readonly Row[]) => parts.map(({ summary, ...part }) => ({ ...part, details: summary }));

function feeOf(fee: unknown, linkTo: LinkTo): Html | null {
  const { amount: paid, tick } = rowOf(fee ?? {});
  return typeof paid === 'string' ? html`${amount(paid)} ${typeof tick === 'string' && linkTo('token', tick)}` : null;
}

/** Shows the moves of an action: from each address or escrow, and to each. */
function movesOf(action: Row, linkTo: LinkTo): Html {
  const move = ({ address, tick, amount: moved }: Row, sign: string, where = '') =>
    html`<li>${linkTo('address', address)} ${sign}${amount(textOf(moved)?.replace('-', ''))} ${linkTo('token', tick)}${where}</li>`;
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
  action: actionView,
  market: marketView
};

/** Makes a page that says why there is no other. */
export function failureView(title: string, reason: string, base: string): View {
  return { title, body: html`<h2 class="name">${title}</h2><p>${reason}</p><p><a href="${base}/">Begin again</a></p>` };
}

/** Makes the front page of a service of several networks. */
export function networksView(sites: readonly Site[]): View {
  const rows = sites.map(({ name, base }) => [html`<a href="${base}/">${name}</a>`]);
  return { title: 'Networks', body: section('Networks', ['Network'], rows) };
}
