import { actionsSection, movesIn } from './actions.ts';
import { unnamed } from './failures.ts';
import { type Html, html } from './html.ts';
import { amount, change, facts, type LinkTo, type Row, texts, timeOf } from './parts.ts';
import { outcomeOf, verdictSentence } from './verdict.ts';
import { type Asked, confirmationsOf, rowOf, rowsOf, textOf, type View } from './view.ts';

/** Makes the page of an action: how it ended, what it moved, and where it is from. @throws {PlatformError} RECORD_UNKNOWN */
export async function actionView({ name, read, linkTo }: Asked): Promise<View> {
  const action = rowOf((await read('action', { query: name })).data);
  if (action['action_index'] === undefined) throw unnamed('action', name);
  const kind = textOf(action['action']);
  const statuses = (action['statuses'] ?? []) as readonly string[];
  const what = movesIn(action, linkTo);
  return {
    title: `${kind} ${name}`,
    body: html`<h1 class="name">${kind?.replaceAll('_', ' ')} <small>action ${textOf(action['action_index'])}</small></h1>
${statuses.map((status) => verdictSentence(kind, status, statuses.length > 1))}
${what !== '' && html`<p class="what">${what}</p>`}
${movesOf(action, linkTo)}
${facts([
  ['source', linkTo('address', action['source'])],
  ['block', linkTo('block', action['block_index'])],
  ['confirmations', await confirmationsOf(read, action['block_index'])],
  ['time', timeOf(action['timestamp'])],
  ['fee', feeOf(action['fee'], linkTo)],
  ['status in the ledger', statuses.join(', ') || undefined],
  ['memo', textOf(action['memo']) ?? undefined]
])}
${Array.isArray(action['actions']) && actionsSection(linkTo, 'Actions of this batch', partsOf(action['actions']), { without: ['Source', 'Block', 'Time'], empty: 'None of its actions was looked at.' })}
<section><h2>Transaction</h2><p>${action['tx_hash'] === null ? 'None: the ledger does it by itself.' : linkTo('transaction', action['tx_hash'])}</p>${texts([['text', textOf(action['data'])]])}</section>`
  };
}

/** Returns the actions of a BATCH as a list has them: with their details. */
const partsOf = (parts: readonly Row[]): readonly Row[] =>
  parts.map(({ summary, ...part }) => ({ ...part, details: summary }));

function feeOf(fee: unknown, linkTo: LinkTo): Html | null {
  const { amount: paid, tick } = rowOf(fee ?? {});
  return typeof paid === 'string' ? html`${amount(paid)} ${typeof tick === 'string' && linkTo('token', tick)}` : null;
}

/** Shows the moves of an action: from each address or escrow, and to each. */
function movesOf(action: Row, linkTo: LinkTo): Html {
  const move = ({ address, tick, amount: moved }: Row, sign: '-' | '', where = '') =>
    html`<li>${linkTo('address', address)} ${change(`${sign}${textOf(moved)?.replace('-', '') ?? ''}`, html`${linkTo('token', tick)}${where}`)}</li>`;
  const escrows = rowsOf(action['escrows'] ?? []);
  const isReleased = ({ amount }: Row) => String(amount).startsWith('-');
  const from = [
    ...rowsOf(action['debits'] ?? []).map((row) => move(row, '-')),
    ...escrows.filter(isReleased).map((row) => move(row, '-', ' in escrow'))
  ];
  const into = [
    ...rowsOf(action['credits'] ?? []).map((row) => move(row, '')),
    ...escrows.filter((row) => !isReleased(row)).map((row) => move(row, '', ' in escrow'))
  ];
  const isRefused = outcomeOf(action['status']) === 'refused';
  if (from.length + into.length === 0)
    return html`<p class="none">${isRefused ? 'Nothing was moved.' : 'It moved nothing.'}</p>`;
  const side = (label: string, moves: readonly Html[], none: string) =>
    html`<div><h2>${label}</h2>${moves.length === 0 ? html`<p class="none">${none}</p>` : html`<ul aria-label="${label}">${moves}</ul>`}</div>`;
  return html`<div class="moves">${side('Taken from', from, 'Nobody: it is new.')}<span class="arrow" aria-hidden="true">&rarr;</span>
${side('Given to', into, 'Nobody: it is gone.')}</div>`;
}
