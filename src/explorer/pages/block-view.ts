import { actionsSection } from './actions.ts';
import { blockCells } from './cells.ts';
import { html } from './html.ts';
import { amount, facts, type Row, texts, timeOf } from './parts.ts';
import { type Asked, after, readRowsIn, rowOf, rowsOf, textOf, type View } from './view.ts';

const ACTIONS = 50;
const HASHES = ['block_hash', 'ledger_hash', 'actions_hash', 'contract_hash', 'state_hash'] as const;

/** Makes the page of a block: when it came, its place among others, its actions, and its hashes. @throws {PlatformError} RECORD_UNKNOWN */
export async function blockView({ name, cursor, read, linkTo }: Asked): Promise<View> {
  const [block, newest] = await Promise.all([
    read('block', { query: name }).then(({ data }) => rowOf(data)),
    read('blocks', { limit: 1 }).then(({ data }) => rowsOf(data)[0])
  ]);
  const height = String(block['block_index']);
  const isNewest = newest?.['block_index'] === block['block_index'];
  const [history, around] = await Promise.all([
    read('history', { query: height, type: 'block', limit: ACTIONS, ...after(cursor) }),
    readRowsIn(read, 'page_blocks', 'blocks', { query: height })
  ]);
  const kinds = around?.find(({ block_index: at }) => at === block['block_index'])?.['actions'];
  return {
    title: `Block ${height}`,
    body: html`<div class="title"><h1>Block ${amount(height)}</h1>
<nav class="around" aria-label="Blocks beside">${Number(height) > 0 && linkTo('block', Number(height) - 1, '← Before')}${!isNewest && linkTo('block', Number(height) + 1, 'After →')}</nav></div>
${facts([
  ['time', timeOf(block['timestamp'])],
  ['confirmations', textOf(newest && Math.max(0, Number(newest['block_index']) - Number(height) + 1))],
  ['actions', amount(block['actions'])],
  ['transactions', amount(block['transactions'])]
])}
${around !== null && around.length > 0 && blockCells(linkTo, 'This block and those beside it', around, { current: height })}
${kindsOf(kinds)}
${actionsSection(linkTo, 'Actions', rowsOf(history.data), {
  next: history.next,
  without: ['Block', 'Time'],
  empty: 'This block has no action: none of its transactions says anything to the ledger.'
})}
<section><h2>Hashes</h2>${texts(HASHES.map((hash) => [hash.replace('_', ' '), textOf(block[hash])]))}</section>`
  };
}

/** Shows how many actions of each kind there are. @param counts by the names of their lists */
function kindsOf(counts: unknown) {
  const kinds = Object.entries((counts ?? {}) as Row).sort(([, a], [, b]) => Number(b) - Number(a));
  if (kinds.length < 2) return null;
  return html`<ul class="kinds" aria-label="Actions by kind">${kinds.map(([kind, count]) => html`<li>${kind.replaceAll('_', ' ')} <b>${amount(count)}</b></li>`)}</ul>`;
}
