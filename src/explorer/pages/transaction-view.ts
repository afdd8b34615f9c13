import { actionsSection } from './actions.ts';
import { unnamed } from './failures.ts';
import { type Html, html } from './html.ts';
import { counted, facts, type Row, texts, timeOf } from './parts.ts';
import { outcomeOf } from './verdict.ts';
import { type Asked, confirmationsOf, rowOf, rowsOf, textOf, type View } from './view.ts';

/** Makes the page of a transaction: how its actions ended, those of a BATCH below it, and what it said. @throws {PlatformError} RECORD_UNKNOWN */
export async function transactionView({ name, read, linkTo }: Asked): Promise<View> {
  const transaction = rowOf((await read('transaction', { query: name })).data);
  if (transaction['tx_index'] === undefined) throw unnamed('transaction', name);
  const hash = textOf(transaction['tx_hash']);
  const all = rowsOf(transaction['actions']).map((row) => ({ ...transaction, ...row }) as Row);
  const batch = all.find(({ action }) => action === 'BATCH')?.['action_index'];
  const inOrder = all.map((row) => ({
    ...row,
    parent_batch_action_index: row['action_index'] === batch ? null : batch
  }));
  return {
    title: `Transaction ${hash}`,
    body: html`<h1 class="name">Transaction <code data-copy="transaction">${hash}</code></h1>
<p class="lead">${summaryOf(all, Number(transaction['actions_total'] ?? all.length))}</p>
${facts([
  ['block', linkTo('block', transaction['block_index'])],
  ['confirmations', await confirmationsOf(read, transaction['block_index'])],
  ['time', timeOf(transaction['timestamp'])],
  ['source', linkTo('address', transaction['source'])]
])}
${actionsSection(linkTo, all.length > 1 ? 'Actions, in their order' : 'Actions', inOrder.reverse(), { without: ['Source', 'Block', 'Time'] })}
<section><h2>What it said</h2>${texts([['text', textOf(transaction['tx_data'])]])}</section>`
  };
}

/** Says how many actions were carried out, and how many were refused. */
function summaryOf(shown: readonly Row[], total: number): Html {
  const outcomes = Map.groupBy(shown, ({ status }) => (typeof status === 'string' ? outcomeOf(status) : 'unknown'));
  const [carried, refused] = [outcomes.get('carried')?.length ?? 0, outcomes.get('refused')?.length ?? 0];
  const among = total > shown.length && html`, of the newest ${shown.length}`;
  return html`It has ${counted(total, 'action')}: <span class="good">${carried} carried out</span>, <span${refused > 0 && html` class="bad"`}>${refused} refused</span>${among}.`;
}
