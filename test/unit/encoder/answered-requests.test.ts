import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnsweredRequests } from '../../../src/encoder/answered-requests.ts';

const open = ({ most = 1_000, mostBytes = 1e9 } = {}) => {
  const clock = { now: 0 };
  let made = 0;
  const limits = { ttlMs: 100, most, mostBytes, sizeOf: (answer: string) => answer.length };
  const requests = new AnsweredRequests<string>(limits, () => clock.now);
  const ask = (id: string, request: object = {}) => requests.once(id, request, async () => `answer ${++made}`);
  return { clock, requests, ask };
};

test('an answer is kept for its whole time, however many other ids come', async () => {
  const { clock, ask } = open();
  const first = await ask('a');
  for (let id = 0; id < 999; id++) await ask(`other ${id}`);
  clock.now = 99;
  assert.equal(await ask('a'), first);
  clock.now = 100;
  assert.notEqual(await ask('a'), first);
});

test('RESERVATIONS_FULL: new ids while there is no room, by number and by size; known ones have their answers', async () => {
  for (const limits of [{ most: 2 }, { mostBytes: 10 }]) {
    const { clock, ask } = open(limits);
    const first = await ask('a');
    await ask('b');
    await assert.rejects(ask('c'), { code: 'RESERVATIONS_FULL' });
    assert.equal(await ask('a'), first);
    clock.now = 100;
    await ask('c');
  }
});

test('REQUEST_INVALID: an id of another request; the order of its names does not count', async () => {
  const { ask } = open();
  const first = await ask('a', { x: 1, y: { p: 1, q: [2] } });
  assert.equal(await ask('a', { y: { q: [2], p: 1 }, x: 1 }), first);
  await assert.rejects(ask('a', { x: 1, y: { p: 1, q: [3] } }), { code: 'REQUEST_INVALID' });
});

test('calls at once have one answer; what fails is not kept, and the time begins when the answer is there', async () => {
  const { clock, requests, ask } = open();
  const { promise, resolve } = Promise.withResolvers<string>();
  const slow = [1, 2].map(() => requests.once('a', {}, () => promise));
  clock.now = 500;
  await ask('b');
  resolve('slow');
  assert.deepEqual(await Promise.all(slow), ['slow', 'slow']);
  clock.now = 599;
  assert.equal(await ask('a'), 'slow');
  await assert.rejects(
    requests.once('c', {}, () => Promise.reject(new Error('once'))),
    /once/
  );
  assert.match(await ask('c'), /answer/);
});
