import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pagesOf } from '../../../src/hub/pages.ts';
import { pageOfRows } from '../../../src/hub/store/row-page.ts';

const ROWS = Array.from({ length: 500 }, (_, n) => ({ id: n + 1, text: 'x'.repeat(n % 2 ? 10 : 5_000) }));

test("a page's memory is given back when the next page is asked for, and pages stay small whatever the rows are", async () => {
  const pages = pagesOf(400, 1_000, async (last = 0, limit) =>
    pageOfRows(ROWS.filter(({ id }) => id > last).slice(0, limit))
  );
  const met: number[] = [];
  const buffers: ArrayBufferLike[] = [];
  for await (const page of pages) {
    assert.ok(
      buffers.every(({ byteLength }) => byteLength === 0),
      'one page is in memory'
    );
    assert.ok(page.length <= 64 * 1024, `a page of ${page.length} bytes`);
    buffers.push(page.buffer);
    const rows = JSON.parse(`[${Buffer.from(page).toString().slice(1)}]`) as { readonly id: number }[];
    met.push(...rows.map(({ id }) => id));
  }
  assert.deepEqual(
    met,
    ROWS.slice(0, 400).map(({ id }) => id)
  );
  assert.ok(buffers.length > 10);
});
