import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnsweredRequests } from '../../../src/encoder/answered-requests.ts';
import { Turns } from '../../../src/service/turns/turns.ts';

const PLENTY = { count: 1_000, bytes: 1e9 };
const open = ({ mostOfOne = PLENTY, most = PLENTY } = {}) => {
  const clock = { now: 0 };
  let made = 0;
  const limits = { ttlMs: 100, mostOfOne, most, sizeOf: (answer: string) => answer.length };
  const requests = new AnsweredRequests<string>(limits, () => clock.now);
  const ask = (id: string, request: object = {}, holder = 'A') =>
    requests.once(holder, id, request, async () => `answer ${++made}`);
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
  for (const room of [{ count: 2 }, { bytes: 10 }]) {
    const { clock, ask } = open({ mostOfOne: { ...PLENTY, ...room } });
    const first = await ask('a');
    await ask('b');
    await assert.rejects(ask('c'), { code: 'RESERVATIONS_FULL' });
    assert.equal(await ask('a'), first);
    assert.match(await ask('c', {}, 'B'), /answer/, 'another caller has room of its own');
    clock.now = 100;
    await ask('c');
  }
});

test("ids are each caller's own; where all callers together have no room, the oldest answer of equals goes", async () => {
  const { ask } = open({ most: { ...PLENTY, count: 2 } });
  const first = await ask('a');
  assert.notEqual(await ask('a', { other: true }, 'B'), first);
  await ask('b');
  assert.notEqual(await ask('a'), first, 'forgotten');
});

test("strangers' long answers end nobody's short one: the holder that has the most loses its oldest", async () => {
  const { requests, ask } = open({ most: { ...PLENTY, bytes: 100 } });
  const first = await ask('order 17');
  for (let other = 0; other < 6; other++) await requests.once(`B${other}`, 'a', {}, async () => 'x'.repeat(60));
  assert.equal(await ask('order 17'), first);
});

test('a forgotten answer is returned once; another caller cannot forget it', async () => {
  const { requests, ask } = open();
  const first = await ask('a');
  assert.equal(await requests.forget('B', 'a'), undefined);
  assert.equal(await requests.forget('A', 'a'), first);
  assert.equal(await requests.forget('A', 'a'), undefined);
});

test('an answer that is being made is forgotten when it is there: whoever waits no longer frees its coins too', async () => {
  const { requests, ask } = open();
  const { promise, resolve } = Promise.withResolvers<string>();
  const slow = requests.once('A', 'a', {}, () => promise);
  const forgotten = Promise.all([requests.forget('A', 'a'), requests.forget('A', 'a')]);
  resolve('slow');
  assert.deepEqual([await slow, ...(await forgotten)], ['slow', 'slow', undefined]);
  assert.match(await ask('a'), /answer/);
  const failing = Promise.withResolvers<string>();
  const made = requests.once('A', 'b', {}, () => failing.promise);
  const none = requests.forget('A', 'b');
  failing.reject(new Error('no coins'));
  await assert.rejects(made, /no coins/);
  assert.equal(await none, undefined);
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
  const slow = [1, 2].map(() => requests.once('A', 'a', {}, () => promise));
  clock.now = 500;
  await ask('b');
  resolve('slow');
  assert.deepEqual(await Promise.all(slow), ['slow', 'slow']);
  clock.now = 599;
  assert.equal(await ask('a'), 'slow');
  await assert.rejects(
    requests.once('A', 'c', {}, () => Promise.reject(new Error('once'))),
    /once/
  );
  assert.match(await ask('c'), /answer/);
});

test('a call that waits for the answer of another one has no turn meanwhile', async () => {
  const { requests } = open();
  const turns = new Turns({ atOnce: 2, patienceMs: 50 });
  const { promise, resolve } = Promise.withResolvers<string>();
  const ask = (address: string) =>
    turns.take({ address }, (aside) => requests.once('A', 'a', {}, () => aside(() => promise), aside));
  const asked = ['a', 'b', 'c'].map(ask);
  assert.equal(await turns.take({ address: 'd' }, async () => 'broadcast'), 'broadcast');
  resolve('slow');
  assert.deepEqual(await Promise.all(asked), ['slow', 'slow', 'slow']);
});
