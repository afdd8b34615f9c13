import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { zstdDecompressSync } from 'node:zlib';
import { ZstdCompressor } from '../../../../src/replication/snapshot/coding/zstd-compressor.ts';
import { readSnapshot } from '../../../../src/replication/snapshot/snapshot-reader.ts';

const LIMITS = { maxRowBytes: 2 ** 20, batchBytes: 2 ** 16 };

async function compress(chunks: readonly Buffer[]): Promise<Buffer> {
  const written: Buffer[] = [];
  const zstd = new ZstdCompressor(async (bytes) => void written.push(bytes));
  for (const chunk of chunks) {
    void zstd.push(chunk);
    await zstd.ready;
  }
  await zstd.finish();
  return Buffer.concat(written);
}

test('the file is one frame of exactly the bytes of any chunks', async () => {
  const chunks = Array.from({ length: 12 }, (_, n) => Buffer.alloc(n % 2 ? 300_000 : 10, `chunk ${n}`));
  const file = await compress(chunks);
  assert.ok(zstdDecompressSync(file).equals(Buffer.concat(chunks)));
  const magic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
  assert.equal(file.indexOf(magic), 0);
  assert.equal(file.indexOf(magic, 4), -1, 'no second frame');
});

test('chunks wait for a slow disk, and no more of them than a few', async () => {
  let written = 0;
  const zstd = new ZstdCompressor(async (bytes) => {
    await sleep(5);
    written += bytes.length;
  });
  const noise = Array.from({ length: 20 }, (_, n) => Buffer.from(crypto.getRandomValues(new Uint8Array(60_000 + n))));
  for (const [n, chunk] of noise.entries()) {
    void zstd.push(chunk);
    await zstd.ready;
    assert.ok(n * 60_000 - written < 1_500_000, `${n} chunks, ${written} bytes written`);
  }
  await zstd.finish();
  assert.ok(written > 20 * 60_000);
});

test('a failed write is told by ready and by finish', async () => {
  const zstd = new ZstdCompressor(async () => {
    throw new Error('disk gone');
  });
  await assert.rejects(async () => {
    for (let n = 0; n < 1_000; n++) {
      void zstd.push(Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))));
      await zstd.ready;
    }
  }, /disk gone/);
  await assert.rejects(zstd.finish(), /disk gone/);
});

test('SOURCE_TRUNCATED, SOURCE_INVALID: a body that is cut short, damaged, or no zstd', async () => {
  const body = await compress([Buffer.from('{"schema_version":7,"block_height":9,"tables":{"a":[{"x":1}]}}')]);
  const read = async (bytes: Buffer) => {
    const source = (async function* () {
      yield bytes;
    })();
    const rows: unknown[] = [];
    for await (const batch of readSnapshot(source, 'zstd', LIMITS)) rows.push(...batch.rows);
    return rows;
  };
  assert.deepEqual(await read(body), [{ x: 1 }]);
  await assert.rejects(read(body.subarray(0, -6)), { code: 'SOURCE_TRUNCATED' });
  const damaged = Buffer.from(body);
  damaged[body.length - 1]! ^= 1;
  await assert.rejects(read(damaged), { code: 'SOURCE_INVALID' });
  await assert.rejects(read(Buffer.from('no zstd at all')), { code: 'SOURCE_INVALID' });
});
