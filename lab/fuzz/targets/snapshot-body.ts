import assert from 'node:assert/strict';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { readSnapshot } from '../../../src/replication/snapshot/snapshot-reader.ts';
import { jsonLike, mutated } from '../support/hostile.ts';
import { outcome, target } from '../support/target.ts';

const LIMITS = { maxRowBytes: 20_000, batchBytes: 4_096 };
const SPECIMEN = {
  schema_version: 7,
  block_height: 2,
  tables: {
    t: [
      { a: 'x'.repeat(200), b: null },
      { a: 'y', b: 1.5 }
    ]
  }
};

interface Body {
  readonly coding: 'gzip' | 'zstd';
  readonly bytes: Uint8Array;
}

const bodies = fc.constantFrom('gzip' as const, 'zstd' as const).chain((coding) => {
  const packed = jsonLike(fc.constant(SPECIMEN)).map((text) =>
    coding === 'gzip' ? gzipSync(text) : zstdCompressSync(text)
  );
  return mutated(packed).map((bytes): Body => ({ coding, bytes }));
});

async function read({ coding, bytes }: Body): Promise<number> {
  async function* arriving() {
    for (let at = 0; at < bytes.length; at += 100) yield bytes.subarray(at, at + 100);
  }
  const batches = readSnapshot(arriving(), coding, LIMITS);
  for (let count = 0; ; ) {
    const { done, value } = await batches.next();
    if (done) return count;
    for (const row of value.rows) assert.equal(typeof row, 'object');
    count += value.rows.length;
  }
}

export const snapshotBody = target<Body>({
  name: 'snapshot-body',
  promise: 'a compressed snapshot is refused with SOURCE_*, or read to its end mark',
  runs: 2_000,
  shortRuns: 300,
  inputs: bodies,
  check: async (input) => {
    await outcome(() => read(input), ['SOURCE_INVALID', 'SOURCE_TRUNCATED']);
  },
  growing: {
    'what expands': (length) => ({ coding: 'gzip', bytes: gzipSync(Buffer.alloc(length * 20, ' ')) }),
    'members one after another': (length) => ({
      coding: 'gzip',
      bytes: Buffer.concat(Array.from({ length: length / 1_000 }, () => gzipSync(' ')))
    })
  }
});
