import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkpointQuorum, pbftQuorum } from '../../../src/consensus/pbft-quorum.ts';
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

test('both quorums for 1 to 16 validators', () => {
  const computed = TABLE.map(([validators]) => [validators, pbftQuorum(validators), checkpointQuorum(validators)]);
  assert.deepEqual(computed, TABLE);
});

test('hubs collect for a checkpoint the least that its readers accept, and never less than PBFT needs', () => {
  for (const [total] of TABLE) {
    const least = checkpointQuorum(total);
    assert.ok(isQuorum({ signed: least, total }) && !isQuorum({ signed: least - 1, total }), String(total));
    assert.ok(least >= pbftQuorum(total), String(total));
  }
});
