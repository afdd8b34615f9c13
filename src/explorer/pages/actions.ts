import { type Html, html } from './html.ts';
import { amount, change, type LinkTo, type Row, section, timeOf } from './parts.ts';
import { outcomeOf, verdict } from './verdict.ts';

/** Letters of a text of a user in a row. */
const QUOTED = 60;

/** Changes of one address by the indexes of the actions that made them. */
export type Changes = ReadonlyMap<string, readonly Row[]>;

interface ActionsOptions {
  readonly next?: string | null;
  readonly empty?: string;
  /** Columns that a page does without, for it tells them otherwise. */
  readonly without?: readonly string[];
  /** For the page of an address. */
  readonly changes?: Changes | undefined;
}

/** Shows actions, each with whether it counts, what its first row moves to whom, who did it, where and when. */
export function actionsSection(
  linkTo: LinkTo,
  title: string,
  rows: readonly Row[],
  { next = null, empty = 'No action yet.', without = [], changes }: ActionsOptions = {}
): Html {
  // The status is that of the first leg; what the ledger moved tells that another one was carried out.
  const isPart = (row: Row) => outcomeOf(row['status']) === 'refused' && changesOf(changes, row).length > 0;
  const columns: readonly (readonly [head: string, cell: (row: Row) => Html | string])[] = [
    ['Action', (row) => linkTo('action', row['action_index'])],
    ['Kind', kindOf],
    ['Verdict', (row) => (typeof row['status'] === 'string' ? verdict(row['action'], row['status'], isPart(row)) : '')],
    ...(changes ? [['In or out', (row: Row) => changed(changes, row, linkTo)] as const] : []),
    [
      'Moves',
      (row) =>
        movesIn(
          { ...((row['details'] as Row | undefined) ?? row), action: row['action'], status: row['status'] },
          linkTo
        )
    ],
    ['Source', (row) => linkTo('address', row['source'])],
    ['Block', (row) => linkTo('block', row['block_index'])],
    ['Time', (row) => timeOf(row['timestamp'])]
  ];
  const shown = columns.filter(([head]) => !without.includes(head));
  const heads = shown.map(([head]) => head);
  const lines = rows.map((row) => shown.map(([, cell]) => cell(row)));
  const rowKind = (place: number) => {
    const row = rows[place]!;
    if (typeof row['status'] !== 'string') return undefined;
    return isPart(row) ? 'part' : outcomeOf(row['status']);
  };
  return section(title, heads, lines, { next, empty, kind: 'actions', rowKind });
}

/** Shows the kind of an action; one of a BATCH has a mark. */
function kindOf(row: Row): Html {
  const batch = row['parent_batch_action_index'];
  const mark =
    typeof batch === 'string' &&
    html`<span class="part" role="img" aria-label="part of batch ${batch}">&#8627;</span> `;
  return html`${mark}<b>${String(row['action']).replaceAll('_', ' ')}</b>`;
}

const changesOf = (changes: Changes | undefined, row: Row): readonly Row[] =>
  changes?.get(String(row['action_index'])) ?? [];

function changed(changes: Changes, row: Row, linkTo: LinkTo): Html {
  const found = changesOf(changes, row);
  if (found.length === 0) return html`<span class="none">no change</span>`;
  return html`${found.map(({ amount: sum, tick }) => html`<span class="each">${change(String(sum), linkTo('token', tick))}</span>`)}`;
}

/** Shows what an action names: amount, token and receiver, or both sides of an offer. The token of a refused one may not exist: then it has no page. */
export function movesIn(row: Row, linkTo: LinkTo): Html | string {
  const token = (tick: unknown) => (outcomeOf(row['status']) === 'refused' ? String(tick) : linkTo('token', tick));
  if (typeof row['give_amount'] === 'string' || typeof row['get_amount'] === 'string') {
    const side = (of: 'give' | 'get') => {
      const tick = row[`${of}_tick`];
      return html`${amount(row[`${of}_amount`])} ${typeof tick === 'string' ? token(tick) : String(row[`${of}_coin`] ?? 'coin')}`;
    };
    return html`<span>${side('give')} for ${side('get')}</span>`;
  }
  const { amount: sum, tick, destination, mint_supply: minted } = row;
  const receiver = typeof destination === 'string' && html` &rarr; ${linkTo('address', destination)}`;
  if (typeof tick === 'string') {
    const of = typeof sum === 'string' ? sum : typeof minted === 'string' ? minted : null;
    return html`<span>${of !== null && html`${amount(of)} `}${token(tick)}${receiver}</span>`;
  }
  if (receiver) return html`<span>${row['action'] === 'SWEEP' && 'all it holds'}${receiver}</span>`;
  const text = [row['message'], row['title'], row['memo']].find((each) => typeof each === 'string' && each !== '');
  return typeof text === 'string' ? html`<q>${text.length > QUOTED ? `${text.slice(0, QUOTED)}…` : text}</q>` : '';
}
