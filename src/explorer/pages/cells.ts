import { type Html, html } from './html.ts';
import { amount, greatest, type LinkTo, type Row, timeOf } from './parts.ts';

/** Steps of fullness, each with a hue. */
const STEPS = 10;

/** @param counts how many actions of each kind, as decimal texts */
export function sumOf(counts: unknown): number {
  return Object.values((counts ?? {}) as Row).reduce((sum: number, each) => sum + Number(each), 0);
}

interface CellsOptions {
  /** Cell in front of the blocks. */
  readonly front?: Html | false;
  /** Block whose page it is. */
  readonly current?: string;
}

/** Shows blocks as a row of cells, the newest first: a cell is as full, and its hue as warm, as the block has actions beside the fullest of them. */
export function blockCells(
  linkTo: LinkTo,
  label: string,
  blocks: readonly Row[],
  { front = false, current }: CellsOptions = {}
): Html {
  const counts = blocks.map((block) => sumOf(block['actions']));
  const most = Math.max(1, greatest(counts));
  const cells = blocks.map((block, place) => {
    const count = counts[place]!;
    const height = String(block['block_index']);
    const fill = count === 0 ? 0 : Math.max(1, Math.round((count / most) * STEPS));
    return html`<li class="block" data-fill="${fill}"${height === current && html` aria-current="true"`}>${linkTo('block', height)}
<span class="count">${amount(String(count))}</span> <span class="unit">${count === 1 ? 'action' : 'actions'}</span> ${timeOf(block['timestamp'])}</li>`;
  });
  return html`<ol class="cells" aria-label="${label}">${front}${cells}</ol>`;
}

/** Makes the cell of transactions that wait for a block. @param count null: not known now */
export function waitingCell(count: number | null, isMore: boolean): Html {
  const shown =
    count === null
      ? html`<span class="count">?</span> <span class="unit">not known now</span>`
      : html`<span class="count">${amount(String(count))}${isMore && '+'}</span> <span class="unit">waiting</span>`;
  return html`<li class="waiting"${count === 0 && html` data-fill="0"`}><a href="#waiting">Next</a> ${shown} <span class="when">in no block yet</span></li>`;
}
