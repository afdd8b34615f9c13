import type { CanonicalRow } from './schema.ts';

/** The blocks of one group. */
export interface Span {
  readonly first: number;
  readonly last: number;
}

/** Heights without a hole between them, both ends included. */
export interface HeightRun {
  readonly from: number;
  readonly to: number;
}

/** Ascending heights as runs. */
export function runsOf(heights: Iterable<number>): HeightRun[] {
  const runs: { from: number; to: number }[] = [];
  for (const height of heights) {
    const run = runs.at(-1);
    if (run?.to === height - 1) run.to = height;
    else runs.push({ from: height, to: height });
  }
  return runs;
}

/** The heights that rows with these columns, `block_index` among them, are of; a row may be of none. */
export function heightsOf(columns: readonly string[], list: readonly CanonicalRow[]): number[] {
  const at = columns.indexOf('block_index');
  return list.flatMap((row) => (row[at] == null ? [] : Number(row[at])));
}
