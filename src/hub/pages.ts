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
  for (let left = most; left > 0; ) {
    const limit = Math.min(left, pageRows);
    const page = await read(last, limit);
    yield page;
    if (page.length < limit) return;
    last = page.at(-1);
    left -= page.length;
  }
}
