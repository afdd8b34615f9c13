import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageWindow } from '../../../../src/sync/fan-out/message-window.ts';
import type { Broadcast } from '../../../../src/wire/data/broadcast.ts';

const NOTHING = Buffer.alloc(0);
const block = (height: number): Broadcast => ({
  type: 'block',
  height,
  bytes: NOTHING,
  infraBytes: null,
  names: { hashes: { block_hash: 'of all blocks' }, previous: null, schema: null }
});
const reorg = (fork: number): Broadcast => ({ type: 'reorg', height: fork, bytes: NOTHING, infraBytes: null });

/** A window of so many messages to which these came. */
function windowOf(size: number, messages: readonly Broadcast[]): MessageWindow {
  const window = new MessageWindow({ messages: size, bytes: 1_000 });
  for (const message of messages) window.push(message, NOTHING, NOTHING);
  return window;
}

const typesBehind = (window: MessageWindow, height: number) => {
  const position = window.behind({ height, hash: 'of all blocks' }, false);
  if (position === null) return null;
  return Array.from({ length: window.next - position }, (_, index) => {
    const { type, height: at } = window.at(position + index)!;
    return `${type} ${at}`;
  });
};

const BRANCHES = [block(4), block(5), block(6), reorg(5), block(5), block(6), block(7)];

test('a subscriber at a block that came twice with one hash gets the reorg between, as long as that is here', () => {
  assert.deepEqual(typesBehind(windowOf(9, BRANCHES), 5), ['block 6', 'reorg 5', 'block 5', 'block 6', 'block 7']);
  assert.deepEqual(typesBehind(windowOf(4, BRANCHES), 5), ['reorg 5', 'block 5', 'block 6', 'block 7']);
  assert.deepEqual(typesBehind(windowOf(4, BRANCHES), 7), []);
});

test('once the reorg is gone, nobody goes on at a block that it may have taken back, and everybody above', () => {
  const window = windowOf(3, BRANCHES);
  assert.equal(typesBehind(window, 5), null);
  assert.equal(typesBehind(window, 6), null);
  assert.deepEqual(typesBehind(window, 7), []);
  const later = windowOf(3, [...BRANCHES, block(8), reorg(8), block(8), block(9), block(10)]);
  assert.equal(typesBehind(later, 8), null);
  assert.deepEqual(typesBehind(later, 9), ['block 10']);
});
