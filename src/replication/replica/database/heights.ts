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

/** Joins ascending heights into runs. */
export function runsOf(heights: Iterable<number>): HeightRun[] {
  const runs: { from: number; to: number }[] = [];
  for (const height of heights) {
    const run = runs.at(-1);
    if (run?.to === height - 1) run.to = height;
    else runs.push({ from: height, to: height });
  }
  return runs;
}

/** Returns the heights of rows with these columns, `block_index` among them; a row may have none. */
export function heightsOf(columns: readonly string[], list: readonly CanonicalRow[]): number[] {
  const at = columns.indexOf('block_index');
  return list.flatMap((row) => (row[at] == null ? [] : Number(row[at])));
}
