import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SubscriberRecord } from '../../../lab/edges/record.ts';

const SOURCE = new Map([
  [1, 'a1'],
  [2, 'b2'],
  [3, 'b3']
]);

/** Plays messages: `a2` is block 2 of branch a, `r2` a reorg at 2, `s` a close that tells to take a snapshot. */
function play(words: string): SubscriberRecord {
  const record = new SubscriberRecord('one');
  for (const word of words.split(' '))
    if (word === 's') record.leave();
    else {
      const type = word.startsWith('r') ? 'reorg' : 'block';
      record.take({ type, block_index: Number(word.slice(1)), block_hash: word });
    }
  record.compare(SOURCE);
  return record;
}

test('blocks in order, a reorg, and another beginning after a snapshot break no promise', () => {
  for (const words of ['a1 b2 b3', 'a1 a2 r2 b2 b3', 'a1 s b3', 'a1 a2 s r2 b2 b3'])
    assert.deepEqual(play(words).violations, [], words);
  assert.equal(play('a1 s b3').snapshots, 1);
  assert.deepEqual(play('a1 b2 b3').position, { height: 3, hash: 'b3' });
});

test('a gap, a repeat, a fork, a lost end and a reorg above the last block are each named', () => {
  for (const [words, violation] of [
    ['a1 b3', /left some out/],
    ['a1 b2 b2 b3', /came again/],
    ['a1 a2 b3', /another block 2: a2/],
    ['a1 b2', /ends at 2, and the source at 3/],
    ['a1 r3 b2 b3', /a reorg at 3, above/]
  ] as const)
    assert.match(play(words).violations.join(), violation, words);
});
