/** Rows of the first page; by their size the next ones have more, or fewer. */
const FIRST_ROWS = 5;
/** JSON of a page, as it is in memory for each reader. */
const PAGE_BYTES = 64 * 1024;

/**
 * The rows of a list, some at a time, until so many were read or none is left: what is in memory is one page, whatever a caller asks.
 *
 * @param read the page after a row; undefined: the first one
 */
export async function* pagesOf<Row>(
  most: number,
  pageRows: number,
  read: (last: Row | undefined, limit: number) => Promise<readonly Row[]>
): AsyncGenerator<readonly Row[]> {
  let last: Row | undefined;
  let rows = FIRST_ROWS;
  for (let left = most; left > 0; ) {
    const limit = Math.min(left, rows, pageRows);
    const page = await read(last, limit);
    yield page;
    if (page.length < limit) return;
    last = page.at(-1);
    rows = Math.max(1, Math.floor((PAGE_BYTES * page.length) / JSON.stringify(page).length));
    left -= page.length;
  }
}
