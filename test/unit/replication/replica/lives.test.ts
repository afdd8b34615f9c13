import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOfOther, isOfStream } from '../../../../src/replication/replica/parts/lives.ts';
import type { Life } from '../../../../src/wire/data/messages.ts';

type Parts = Parameters<typeof isOfOther>[0];

const URL_OF_SOURCE = 'http://source';
const LIVES: readonly Life[] = [
  { id: 'first', from: -1 },
  { id: 'second', from: 10 },
  { id: 'third', from: 20 }
];

const parts = (height: number | null, life: string | null, lives = LIVES, source: string | null = URL_OF_SOURCE) =>
  ({
    store: { state: { height, life, source } },
    sources: { client: { url: URL_OF_SOURCE }, lives }
  }) as unknown as Parts;

test('a block of a source in its present life, or of one before up to where the next began, is its own', () => {
  for (const [height, life] of [
    [30, 'third'],
    [20, 'second'],
    [10, 'first']
  ] as const)
    assert.equal(isOfOther(parts(height, life)), false, life);
});

test('a block above the place where the next life began, of a life that it does not name, or of another source is not', () => {
  for (const [height, life] of [
    [21, 'second'],
    [11, 'first'],
    [5, 'of another server']
  ] as const)
    assert.equal(isOfOther(parts(height, life)), true, life);
  // A source names its last lives alone.
  assert.equal(isOfOther(parts(5, 'first', LIVES.slice(1))), true);
  assert.equal(isOfOther(parts(30, 'third', LIVES, 'http://another')), true);
});

test('an address decides where either side does not say more', () => {
  assert.equal(isOfOther(parts(30, null)), false);
  assert.equal(isOfOther(parts(30, 'third', [])), false);
  assert.equal(isOfOther(parts(30, null, [], 'http://another')), true);
  assert.equal(isOfOther(parts(null, null, LIVES, null)), false, 'there is no block');
});

test('a snapshot of a life that the live stream does not name is of another server', () => {
  assert.equal(isOfStream(parts(1, null), 'third'), true);
  assert.equal(isOfStream(parts(1, null), null), true);
  assert.equal(isOfStream(parts(1, null, []), 'third'), true);
  assert.equal(isOfStream(parts(1, null), 'of another server'), false);
});
