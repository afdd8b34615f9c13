import assert from 'node:assert/strict';
import { test } from 'node:test';
import { constants, crc32, deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { createRandom } from '../../src/devnet/random.ts';
import type { SnapshotBatch } from '../../src/replication/replica/database/snapshot-batch.ts';
import { readSnapshot, type SnapshotLimits } from '../../src/replication/snapshot/snapshot-reader.ts';
import type { SnapshotCoding } from '../../src/wire/data/snapshot.ts';

const LIMITS = { maxRowBytes: 2 ** 20, batchBytes: 4096 };
const MEGABYTE = 2 ** 20;
const random = createRandom('hostile snapshots');

/** A body of some thousand rows, and the same compressed. */
const ROWS = Array.from({ length: 1_500 }, (_, id) => ({ id, hash: `${random.next()}`, memo: `é "${id}" \\` }));
const BODY = Buffer.from(
  JSON.stringify({ schema_version: 3, block_height: 12, tables: { a: ROWS, b: [{ x: [{}] }] } })
);
const CODED = { gzip: gzipSync(BODY, { level: 1 }), zstd: zstdCompressSync(BODY) } satisfies Record<
  SnapshotCoding,
  Buffer
>;

async function* inPieces(bytes: Buffer, size = 16_384): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Everything that is read, when it is read to its end. */
async function readAll(bytes: AsyncIterable<Buffer>, coding: SnapshotCoding = 'gzip', limits: SnapshotLimits = LIMITS) {
  const batches = readSnapshot(bytes, coding, limits);
  const rows: unknown[] = [];
  let next: IteratorResult<SnapshotBatch, unknown> = await batches.next();
  for (; !next.done; next = await batches.next()) rows.push(...(next.value as SnapshotBatch).rows);
  return { rows, facts: next.value };
}

for (const coding of ['gzip', 'zstd'] as const) {
  test(`SOURCE_TRUNCATED: a ${coding} snapshot cut at 1000 random bytes is never taken for a whole one`, async () => {
    const whole = await readAll(inPieces(CODED[coding]), coding);
    assert.equal(whole.rows.length, ROWS.length + 1);
    for (let round = 0; round < 1_000; round++) {
      const cut = random.between(0, CODED[coding].length - 1);
      await assert.rejects(
        readAll(inPieces(CODED[coding].subarray(0, cut)), coding),
        { code: 'SOURCE_TRUNCATED' },
        `cut at ${cut} of ${CODED[coding].length}`
      );
    }
  });
}

test('SOURCE_INVALID: a gzip snapshot with a wrong CRC, or a wrong length', async () => {
  for (const at of [8, 4]) {
    const forged = Buffer.from(CODED.gzip);
    forged[forged.length - at]! ^= 1;
    await assert.rejects(readAll(inPieces(forged)), { code: 'SOURCE_INVALID', message: /damaged/ });
  }
});

test('a gzip snapshot with any byte changed is refused, or reads as it was', async () => {
  const whole = JSON.stringify(await readAll(inPieces(CODED.gzip)));
  for (let round = 0; round < 300; round++) {
    const forged = Buffer.from(CODED.gzip);
    forged[random.between(0, forged.length - 1)]! ^= 1 << random.between(0, 7);
    const read = await readAll(inPieces(forged)).then(
      (all) => JSON.stringify(all),
      (fault: { code?: string }) => String(fault.code)
    );
    assert.ok(read === whole || read === 'SOURCE_INVALID' || read === 'SOURCE_TRUNCATED', read.slice(0, 100));
  }
});

/** Reads and forgets. */
async function drain(bytes: AsyncIterable<Buffer>): Promise<void> {
  for await (const _batch of readSnapshot(bytes, 'gzip', LIMITS));
}

/** One gzip member of any length, made of one block again and again; it is sent only as far as it is read. */
function bomb(head: string, block: string, megabytes: number) {
  const made = { sent: 0 };
  const deflate = (bytes: Buffer) => deflateRawSync(bytes, { finishFlush: constants.Z_FULL_FLUSH });
  const filling = Buffer.from(block.repeat(Math.ceil(MEGABYTE / block.length)));
  const packed = deflate(filling);
  async function* bytes(): AsyncGenerator<Buffer> {
    const start = Buffer.from(head);
    yield Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]), deflate(start)]);
    let crc = crc32(start);
    for (let n = 0; n < megabytes; n++) {
      if (n < 100) crc = crc32(filling, crc);
      made.sent += packed.length;
      yield packed;
    }
    const trailer = Buffer.alloc(10);
    trailer[0] = 3;
    trailer.writeUInt32LE(crc, 2);
    yield trailer;
  }
  return { made, bytes: bytes() };
}

test('SOURCE_INVALID: a gzip bomb of 10 GB without rows is refused after a few megabytes of it, in bounded memory', async () => {
  for (const head of ['{"tables":{', '{"schema_version":3,"tables":{"t":[{},']) {
    const { made, bytes } = bomb(head, ' ', 10_240);
    const before = process.memoryUsage().rss;
    await assert.rejects(drain(bytes), { code: 'SOURCE_INVALID', message: /bytes of the body are no rows/ });
    assert.ok(made.sent < MEGABYTE, `${made.sent} bytes were taken`);
    const grown = process.memoryUsage().rss - before;
    assert.ok(grown < 200 * MEGABYTE, `${grown} bytes`);
  }
});

test('rows of zeros are taken, however well they compress', async () => {
  const rows = Array.from({ length: 40 }, (_, id) => ({ id, script: '0'.repeat(2 ** 20 - 100) }));
  const body = Buffer.from(JSON.stringify({ schema_version: 3, block_height: 12, tables: { a: rows } }));
  for (const [coding, packed] of [
    ['gzip', gzipSync(body, { level: 9 })],
    ['zstd', zstdCompressSync(body)]
  ] as const) {
    assert.ok(body.length > 300 * packed.length, `${body.length / packed.length}`);
    assert.equal((await readAll(inPieces(packed), coding)).rows.length, rows.length);
  }
});

test('SOURCE_INVALID: a row that never ends, and one nested 200 levels, in bounded memory', async () => {
  const endless = bomb('{"tables":{"t":[{"a":"', 'x', 10_240);
  const before = process.memoryUsage().rss;
  await assert.rejects(drain(endless.bytes), { code: 'SOURCE_INVALID', message: /longer than 1048576 bytes/ });
  assert.ok(process.memoryUsage().rss - before < 100 * MEGABYTE);
  const deep = `{"tables":{"t":[{"a":${'{"a":'.repeat(200)}1${'}'.repeat(200)}}]}}`;
  await assert.rejects(drain(inPieces(gzipSync(deep))), { code: 'SOURCE_INVALID', message: /nested deeper/ });
});

test('SOURCE_INVALID: a body that is longer than it may be when it is expanded', async () => {
  const limits = { ...LIMITS, maxBodyBytes: BODY.length - 1 };
  await assert.rejects(readAll(inPieces(CODED.gzip), 'gzip', limits), {
    code: 'SOURCE_INVALID',
    message: /expands to more than/
  });
  await readAll(inPieces(CODED.gzip), 'gzip', { ...LIMITS, maxBodyBytes: BODY.length });
});

test('SOURCE_INVALID: a row of the longest that is taken, made of empty objects, is not parsed', async () => {
  const rows = [Buffer.from('{"tables":{"t":[{"a":['), Buffer.alloc(60 * MEGABYTE, '{},'), Buffer.from('{}]}]}}')];
  const limits = { maxRowBytes: 64 * MEGABYTE, batchBytes: 4096 };
  const stored = gzipSync(Buffer.concat(rows), { level: 0 });
  await assert.rejects(readAll(inPieces(stored), 'gzip', limits), {
    code: 'SOURCE_INVALID',
    message: /too many values/
  });
});
