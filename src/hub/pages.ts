import type { RowPage } from './store/row-page.ts';

/** Its rows may be large; by their size the next pages have more, or fewer. */
const FIRST_ROWS = 2;
/** Bytes of a page, as it is in memory for each reader. */
const PAGE_BYTES = 48 * 1024;

/**
 * Yields the rows of a list, some at a time, until so many were read or none is left: what is in memory is one page,
 * whatever a caller asks.
 *
 * @param read the page after a row's id; undefined: the first one
 * @returns the JSON of each page that has rows; it is gone when the next is asked for
 */
export async function* pagesOf(
  most: number,
  pageRows: number,
  read: (lastId: number | undefined, limit: number) => Promise<RowPage>
): AsyncGenerator<Uint8Array> {
  let last: number | undefined;
  let rows = FIRST_ROWS;
  for (let left = most; left > 0; ) {
    const limit = Math.min(left, rows, pageRows);
    const { json, count, lastId } = await read(last, limit);
    const bytes = json.length;
    if (count > 0) yield json;
    json.buffer.transfer(0); // its memory is given back at once: a collection of garbage may be far off
    if (count < limit || lastId === null) return;
    last = lastId;
    rows = Math.max(1, Math.floor((PAGE_BYTES * count) / bytes));
    left -= count;
  }
}
