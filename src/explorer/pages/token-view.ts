import { actionsSection } from './actions.ts';
import { activityChart } from './charts.ts';
import { type Html, html } from './html.ts';
import { marketsSection } from './markets.ts';
import { amount, bar, facts, type Row, section, shareOf, shareText, timeOf } from './parts.ts';
import { type Asked, after, readOptional, readRowsIn, rowOf, rowsOf, textOf, type View } from './view.ts';

/** Rows of holders, markets and actions; actions in the chart. */
const [HOLDERS, MARKETS, ACTIONS, CHARTED] = [25, 10, 25, 100];
/** Holders that are counted. */
const MOST_HOLDERS = 1_000;

/** Makes the page of a token: its supply, who holds it, where it is traded, and what may still change. @throws {PlatformError} RECORD_UNKNOWN */
export async function tokenView({ name, cursor, read, linkTo }: Asked): Promise<View> {
  const token = rowOf((await read('token', { query: name })).data);
  const [info, supply, locks] = [rowOf(token['info']), rowOf(token['supply']), rowOf(token['locks'])];
  const tick = String(info['tick']);
  const [holders, count, markets, newest, history] = await Promise.all([
    read('holders', { query: tick, limit: HOLDERS }),
    readOptional(read, 'page_holders', { query: String(info['tick_id']) }),
    readRowsIn(read, 'page_markets', 'markets', { query: String(info['tick_id']), limit: MARKETS }),
    read('history', { query: tick, type: 'token', limit: CHARTED }),
    read('history', { query: tick, type: 'token', limit: ACTIONS, ...after(cursor) })
  ]);
  const held = rowsOf(holders.data).map(({ address, amount: sum }) => [
    linkTo('address', address),
    amount(sum),
    shareText(sum, supply['supply']),
    bar(shareOf(sum, supply['supply']) ?? 0)
  ]);
  const recent = rowsOf(newest.data);
  const description = textOf(info['description']);
  return {
    title: `Token ${tick}`,
    body: html`<h1 class="name">Token <b>${tick}</b></h1>
${description !== null && description !== '' && html`<p class="lead">${description}</p>`}
${facts([
  ['supply', amount(supply['supply'])],
  ['maximum supply', maximumOf(supply)],
  ['holders', holdersText(count && rowOf(count.data)['holders'])],
  ['last action', recent[0] ? timeOf(recent[0]['timestamp']) : null],
  ['decimals', textOf(info['decimals'])],
  ['owner', linkTo('address', info['owner'])],
  ['issued by action', linkTo('action', info['action_index'])]
])}
<div class="split"><div>
${section(holders.isRanked ? 'Largest holders' : `Holders (the first ${HOLDERS})`, ['Address', 'Amount', 'Share', 'Part'], held, { empty: 'Nobody holds it. Each address that does is here, the largest first.' })}
${marketsSection(markets, linkTo, 'It is not traded yet. Each pair with it is here, with its last price.')}
</div><div>
${activityChart(recent)}
${rulesSection(locks, rowOf(token['mints'] ?? {}))}
</div></div>
${actionsSection(linkTo, 'History', rowsOf(history.data), { next: history.next })}`
  };
}

/** Shows the maximum of the supply, and which part of it there is. */
function maximumOf({ supply, max_supply: most }: Row): Html | string {
  if (!(Number(most) > 0)) return 'none';
  return html`${amount(most)} <small>${shareText(supply, most)} issued</small>${bar(shareOf(supply, most) ?? 0)}`;
}

function holdersText(count: unknown): Html | null {
  if (count === null || count === undefined) return null;
  return Number(count) > MOST_HOLDERS ? html`more than ${amount(String(MOST_HOLDERS))}` : amount(String(count));
}

/** Says what each lock means: for ever, or not locked. */
const LOCKS: Readonly<Record<string, readonly [locked: string, open: string]>> = {
  max_supply: ['The maximum supply can never change.', 'The owner may change the maximum supply.'],
  mint: ['Nobody can mint any more.', 'Minting is possible, within the maximum supply.'],
  mint_supply: ['The owner can never issue more by himself.', 'The owner may issue more, within the maximum supply.'],
  max_mint: ['The most that one mint gives can never change.', 'The owner may change how much one mint gives.'],
  description: ['The description can never change.', 'The owner may change the description.'],
  sleep: ['The token can never be paused.', 'The owner may pause the token.'],
  callback: ['The terms of a callback can never change.', 'The owner may change the terms of a callback.']
};

/** Says in words what may still change, and who may mint. */
function rulesSection(locks: Row, mints: Row): Html {
  const rule = (isLocked: boolean, text: string) =>
    html`<li data-locked="${String(isLocked)}"><b>${isLocked ? 'locked' : 'open'}</b> ${text}</li>`;
  const each = Number(mints['max_mint']);
  const texts = Object.entries(LOCKS).map(([lock, [locked, open]]) =>
    rule(locks[lock] === true, locks[lock] === true ? locked : open)
  );
  return html`<section><h2>What may change</h2>${each > 0 && html`<p>One mint gives at most ${amount(mints['max_mint'])}.</p>`}<ul class="rules">${texts}</ul></section>`;
}
