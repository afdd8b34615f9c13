import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Turns } from '../../../src/service/turns/turns.ts';

/** Works that end when they are told to. */
function works(turns: Turns) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const ask = (name: string, isGone = () => false) =>
    turns.take({ address: name.charAt(0), isGone }, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
    });
  const end = async (name: string) => {
    ends.get(name)!();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { begun, ask, end };
}

test('an address has at most three quarters of the turns; those that wait take turns', async () => {
  const turns = new Turns({ atOnce: 4 });
  const { begun, ask, end } = works(turns);
  const asked = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'c1', 'b2', 'c2'].map((name) => ask(name));
  assert.deepEqual(begun, ['a1', 'a2', 'a3', 'b1']);
  await end('a1');
  await end('a2');
  await end('a3');
  await end('b1');
  assert.deepEqual(begun.slice(4), ['a4', 'c1', 'b2', 'a5']);
  for (const name of ['a4', 'c1', 'b2', 'a5', 'c2']) await end(name);
  await Promise.all(asked);
});

test('a network of IPv6 (48 bits) has as many turns as an address, however many of its addresses ask', async () => {
  const turns = new Turns({ atOnce: 4, mostOfOne: 20 });
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const ask = (address: string) =>
    turns.take({ address }, async () => {
      begun.push(address);
      await new Promise<void>((resolve) => ends.push(resolve));
    });
  const crowd = Array.from({ length: 20 }, (_, n) => `2001:db8:7:${n}::/64`);
  const asked = [...crowd, '198.51.100.1', '2001:db8:8:1::/64', crowd[4]!, '198.51.100.1'].map(ask);
  assert.deepEqual(begun, [...crowd.slice(0, 3), '198.51.100.1']);
  asked.push(...['a1', 'a2'].map((host) => ask(`2001:db8:7:${host}::/64`)));
  await assert.rejects(ask('2001:db8:7:a3::/64'), { code: 'ANSWERS_WAITING' });
  while (begun.length < asked.length) {
    ends.shift()!();
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(begun.slice(4, 8), [crowd[3], '2001:db8:8:1::/64', '198.51.100.1', crowd[4]]);
  for (const end of ends) end();
  await Promise.all(asked);
});

test('ANSWERS_WAITING: an address whose turn does not come in time; others do not wait for it', async () => {
  const turns = new Turns({ atOnce: 4, patienceMs: 20 });
  const { begun, ask, end } = works(turns);
  const asked = ['a1', 'a2', 'a3'].map((name) => ask(name));
  await assert.rejects(ask('a4'), { code: 'ANSWERS_WAITING' });
  const other = ask('b1');
  assert.deepEqual(begun, ['a1', 'a2', 'a3', 'b1']);
  for (const name of begun) await end(name);
  await Promise.all([...asked, other]);
});

test('nothing is done for who has left before its turn', async () => {
  const turns = new Turns({ atOnce: 1 });
  const { begun, ask, end } = works(turns);
  const first = ask('a1');
  const left = assert.rejects(
    ask('b1', () => true),
    { code: 'ANSWERS_WAITING' }
  );
  const last = ask('c1');
  await end('a1');
  assert.deepEqual(begun, ['a1', 'c1']);
  await end('c1');
  await Promise.all([first, left, last]);
});

test('writes of somebody who has left are done when nobody who is there waits, and in time', async () => {
  const turns = new Turns({ atOnce: 1, mostOfOne: 2, patienceMs: 200 });
  const done: string[] = [];
  const first = Promise.withResolvers<void>();
  const running = turns.take({ address: 'a' }, () => first.promise);
  const isGone = () => true;
  const write = (name: string, address = 'a') =>
    turns.take({ address, isGone, isLasting: true }, async () => void done.push(name));
  const asked = [write('left 1'), write('left 2')];
  await assert.rejects(write('left 3'), { code: 'ANSWERS_WAITING', message: /2 other questions of this address/ });
  asked.push(turns.take({ address: 'b' }, async () => void done.push('there')));
  first.resolve();
  await Promise.all([running, ...asked]);
  assert.deepEqual(done, ['there', 'left 1', 'left 2']);
  const second = Promise.withResolvers<void>();
  const crowded = [turns.take({ address: 'a' }, () => second.promise), write('left 4', 'b')];
  await assert.rejects(crowded[1]!, { code: 'ANSWERS_WAITING' });
  second.resolve();
  await crowded[0];
  assert.equal(done.includes('left 4'), false);
});

test('ANSWERS_WAITING: as many wait as may, of one address and together', async () => {
  const turns = new Turns({ atOnce: 1, mostOfOne: 2, mostWaiting: 3 });
  const { begun, ask, end } = works(turns);
  const asked = ['a1', 'a2', 'a3'].map((name) => ask(name));
  await assert.rejects(ask('a4'), { code: 'ANSWERS_WAITING', message: /2 other questions of this address/ });
  asked.push(ask('b1'));
  await assert.rejects(ask('c1'), { code: 'ANSWERS_WAITING', message: /3 other questions wait/ });
  for (const name of ['a1', 'a2', 'b1', 'a3']) await end(name);
  await Promise.all(asked);
  assert.deepEqual(begun, ['a1', 'a2', 'b1', 'a3']);
  const again = ask('d1');
  await end('d1');
  await again;
});

test('a call that waits for another program has no turn meanwhile, and takes one again afterwards', async () => {
  const turns = new Turns({ atOnce: 1, patienceMs: 50 });
  const other = Promise.withResolvers<string>();
  const done: string[] = [];
  const waiting = turns.take({ address: 'a' }, async (aside) => {
    done.push(await aside(() => other.promise));
    await new Promise((resolve) => setTimeout(resolve, 20));
    return 'first';
  });
  await turns.take({ address: 'b' }, async () => void done.push('while it waits'));
  other.resolve('it has waited');
  await new Promise((resolve) => setImmediate(resolve));
  await turns.take({ address: 'b' }, async () => void done.push('after its turn'));
  assert.deepEqual(done, ['while it waits', 'it has waited', 'after its turn']);
  assert.equal(await waiting, 'first');
  const refused = turns.take({ address: 'a' }, (aside) => aside(() => Promise.reject(new Error('not there'))));
  await assert.rejects(refused, { message: 'not there' });
  const late = turns.take({ address: 'a' }, (aside) => aside(() => new Promise((resolve) => setTimeout(resolve, 10))));
  const long = turns.take({ address: 'b' }, () => new Promise((resolve) => setTimeout(resolve, 200)));
  await assert.rejects(late, { code: 'ANSWERS_WAITING' });
  await long;
  await turns.take({ address: 'c' }, async () => void done.push('no turn is lost'));
});
