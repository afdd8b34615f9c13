import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SourceMemory } from '../../../../src/replication/source/reading/memory.ts';

test('a successor repeats what amended the last block: subscribers without amendments may not have it', () => {
  const older = { spans: { tokens: [[3, 4] as const] }, lastIdsBefore: {} };
  const blockOf = (amended: number) => ({ height: 7, hashes: { block_hash: 'h7' }, lookupsBefore: {}, older, amended });
  const repeatedBy = (amended: number) => {
    const start = {
      height: 7,
      blockTime: null,
      hashes: { block_hash: 'h7' },
      recent: [blockOf(amended)],
      openGroup: null
    };
    return Object.fromEntries(new SourceMemory('indexer', start).again(1_000));
  };
  assert.deepEqual(repeatedBy(1), { tokens: [[3, 4]] });
  assert.deepEqual(repeatedBy(0), {});
});
