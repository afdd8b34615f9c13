import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pbftQuorum } from '../../../src/consensus/pbft-quorum.ts';
import { isQuorum } from '../../../src/consensus/quorum.ts';

/** Validators, votes that decide in PBFT, signatures that satisfy every reader of a checkpoint. */
const TABLE = [
  [1, 1, 1],
  [2, 2, 2],
  [3, 2, 3],
  [4, 3, 3],
  [5, 3, 4],
  [6, 4, 5],
  [7, 5, 5],
  [8, 5, 6],
  [9, 5, 7],
  [10, 7, 7],
  [11, 7, 8],
  [12, 7, 9],
  [13, 9, 9],
  [14, 9, 10],
  [15, 9, 11],
  [16, 11, 11]
] as const;

test('votes that decide in PBFT, and signatures that readers of a checkpoint ask for, for 1 to 16 validators', () => {
  const computed = TABLE.map(([validators]) => {
    const counts = Array.from({ length: validators }, (_, index) => index + 1);
    return [validators, pbftQuorum(validators), counts.find((signed) => isQuorum({ signed, total: validators }))];
  });
  assert.deepEqual(computed, TABLE);
});

test('readers of a checkpoint never accept fewer signatures than PBFT needs votes', () => {
  for (const [total] of TABLE) assert.ok(!isQuorum({ signed: pbftQuorum(total) - 1, total }), String(total));
});
