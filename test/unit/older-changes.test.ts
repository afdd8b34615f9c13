import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listOlder } from '../../src/db/source/older-changes.ts';
import { unknownHashes } from '../../src/wire/database.ts';

test('a resume point lists what the newest groups told of 5000 older parts in all; of the rest it says that it was too much', () => {
  const hashes = unknownHashes('indexer');
  const older = {
    spans: { sends: Array.from({ length: 2_000 }, (_, at) => [2 * at, 2 * at] as const) },
    lastIdsBefore: { sends: 7 }
  };
  const nothing = { height: 9, hashes };
  const recent = [1, 2, 3].map((height) => ({ height, hashes, older }));
  const [first, ...others] = recent;
  assert.deepEqual(listOlder([...recent, nothing]), [{ ...first, older: null }, ...others, nothing]);
});
