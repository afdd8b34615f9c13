import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync, inflateRawSync } from 'node:zlib';
import { GzipStitcher } from '../../../../src/replication/snapshot/coding/gzip-stitcher.ts';
import fc from '../../../support/fast-check.ts';

/** Compresses chunks and gathers the file. */
async function stitch(chunks: readonly Buffer[], maxInFlight?: number): Promise<Buffer> {
  const written: Buffer[] = [];
  const gzip = new GzipStitcher(async (bytes) => void written.push(bytes), maxInFlight);
  for (const chunk of chunks) {
    void gzip.push(chunk);
    await gzip.ready;
  }
  await gzip.finish();
  return Buffer.concat(written);
}

/** Length of the first member, found by an inflater that reports what it consumed. */
function firstMemberLength(file: Buffer): number {
  const inflated = inflateRawSync(file.subarray(10), { info: true } as object) as unknown as {
    engine: { bytesWritten: number };
  };
  return 10 + inflated.engine.bytesWritten + 8;
}

test('the file is one gzip member of exactly the bytes of any chunks', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 5_000 }), { maxLength: 12 }), async (arrays) => {
      const chunks = arrays.map((bytes) => Buffer.from(bytes));
      const file = await stitch(chunks, 3);
      assert.ok(gunzipSync(file).equals(Buffer.concat(chunks)));
      assert.equal(firstMemberLength(file), file.length);
    }),
    { numRuns: 60 }
  );
});

test('megabytes of rows come back byte for byte', async () => {
  const chunk = (n: number) =>
    Buffer.from(Array.from({ length: 20_000 }, (_, i) => `{"id":${n * i},"t":"ä😀${i}"}`).join(','));
  const chunks = Array.from({ length: 8 }, (_, n) => chunk(n + 1));
  const file = await stitch(chunks);
  assert.ok(gunzipSync(file).equals(Buffer.concat(chunks)));
  assert.equal(firstMemberLength(file), file.length);
});

test('no more chunks are in flight than allowed, and they are written in order, one at a time', async () => {
  let writing = 0;
  const written: Buffer[] = [];
  const gzip = new GzipStitcher(async (bytes) => {
    assert.equal(++writing, 1);
    await sleep(2);
    writing--;
    written.push(bytes);
  }, 2);
  for (let n = 0; n < 10; n++) {
    void gzip.push(Buffer.alloc(n % 2 ? 300_000 : 10, n));
    await gzip.ready;
    assert.ok(n + 1 - Math.max(0, written.length - 1) < 2, 'one more may come');
  }
  await gzip.finish();
  assert.equal(gunzipSync(Buffer.concat(written)).length, 5 * 300_010);
});

test('a failed write is told by ready and by finish', async () => {
  let writes = 0;
  const gzip = new GzipStitcher(async () => {
    if (++writes > 1) throw new Error('disk gone');
  }, 1);
  void gzip.push(Buffer.from('a'));
  await assert.rejects(async () => gzip.ready, /disk gone/);
  await assert.rejects(gzip.finish(), /disk gone/);
});
