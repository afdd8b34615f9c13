import { type Html, html } from './html.ts';
import { amount, greatest, type LinkTo, type Row, timeOf } from './parts.ts';

const BARS = 30;
const [WIDTH, HEIGHT] = [600, 80];

/** Draws bars. @param labels of them, for a pointer */
function barsOf(counts: readonly number[], labels: readonly string[] = []): Html {
  const most = Math.max(1, greatest(counts));
  const step = WIDTH / counts.length;
  return html`${counts.map((count, place) => {
    const height = (count / most) * HEIGHT;
    return html`<rect x="${(place * step + step * 0.1).toFixed(2)}" y="${(HEIGHT - height).toFixed(2)}" width="${(step * 0.8).toFixed(2)}" height="${height.toFixed(2)}">${labels[place] !== undefined && html`<title>${labels[place]}</title>`}</rect>`;
  })}`;
}

/** Draws the number of the newest actions in each of equal spans of time, oldest first. */
export function activityChart(rows: readonly Row[]): Html | null {
  const times = rows.map((row) => Number(row['timestamp'])).filter(Number.isFinite);
  const last = greatest(times);
  const first = times.reduce((least, each) => Math.min(least, each), last);
  if (times.length < 2 || first === last) return null;
  const counts = Array.from({ length: BARS }, () => 0);
  for (const time of times) counts[Math.min(BARS - 1, Math.floor(((time - first) / (last - first)) * BARS))]! += 1;
  return html`<section class="activity"><h2>Activity</h2><figure><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img"
 aria-label="The newest ${times.length} actions over time, at most ${greatest(counts)} in a bar">${barsOf(counts)}</svg>
<figcaption><span>The newest ${times.length} actions: ${timeOf(first)} to ${timeOf(last)}</span></figcaption></figure></section>`;
}

/** Activity of the newest blocks. */
export interface Activity {
  readonly counts?: readonly number[];
  /** Blocks in each span. */
  readonly blocks?: number;
  /** The block that the first span begins with. */
  readonly first?: number;
}

/** Draws the number of actions in each of equal spans of blocks, oldest first. */
export function blocksChart({ counts = [], blocks = 1, first = 0 }: Activity, linkTo: LinkTo): Html | null {
  if (counts.length < 2) return null;
  const sum = counts.reduce((all, each) => all + each, 0);
  const labels = counts.map((count, place) => {
    const from = first + place * blocks;
    return `${blocks === 1 ? `block ${from}` : `blocks ${from} to ${from + blocks - 1}`}: ${count} actions`;
  });
  const last = first + counts.length * blocks - 1;
  return html`<section class="activity"><h2>Activity</h2><figure><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img"
 aria-label="Actions in the blocks ${first} to ${last}, at most ${greatest(counts)} in a bar">${barsOf(counts, labels)}</svg>
<figcaption><span>${linkTo('block', first, `block ${first}`)}</span> <span>${linkTo('block', last, `block ${last}`)}</span> <span class="sum">${amount(String(sum))} actions, up to ${amount(String(greatest(counts)))} in ${blocks > 1 ? `${blocks} blocks` : 'a block'}</span></figcaption></figure></section>`;
}
