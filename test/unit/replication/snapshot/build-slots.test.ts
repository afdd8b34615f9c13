import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../../../../src/errors.ts';
import { BuildSlots, type Slot, type SlotWish } from '../../../../src/replication/snapshot/build-slots.ts';
import { Reader } from '../../../../src/replication/snapshot/reader.ts';

/** Slots whose builds are names, and what became of them. */
function openSlots(options: Partial<ConstructorParameters<typeof BuildSlots>[0]> = {}) {
  const slots = new BuildSlots({ maxBuilds: 2, patienceMs: 50, ...options });
  const givenUp: string[] = [];
  const wish = (address: string, changes: Partial<SlotWish> = {}): SlotWish => ({
    server: 's',
    reader: new Reader(address),
    isShort: false,
    isBegun: () => false,
    ...changes
  });
  const begin = (name: string, slot: Slot | null, readers: readonly Reader[]) => {
    const giveUp = () => {
      givenUp.push(name);
      slots.release(slot!);
    };
    slot!.build = { readers: new Set(readers), giveUp };
    return slot!;
  };
  /** Takes a place, and begins a build that its caller reads. */
  const build = async (address: string, changes: Partial<SlotWish> = {}, readers?: readonly Reader[]) => {
    const wanted = wish(address, changes);
    return begin(address, await slots.take(wanted), readers ?? [wanted.reader]);
  };
  return { slots, givenUp, wish, build };
}

const isBusy = (caught: unknown) => hasCode(caught, 'SNAPSHOT_BUSY');

test('SNAPSHOT_BUSY: beyond the builds of a process, or of a server, when none ends in time', async () => {
  const { build } = openSlots();
  await build('a');
  await build('b');
  await assert.rejects(build('c'), isBusy);
  const wide = openSlots({ maxBuilds: 10 });
  await wide.build('a');
  await wide.build('b');
  await assert.rejects(wide.build('c'), isBusy);
  await wide.build('c', { server: 'other' });
});

test('a short build has a place beside the long ones, and a second one takes none for which a long one waits', async () => {
  const { slots, build } = openSlots({ patienceMs: 5_000 });
  const long = [await build('a'), await build('b')];
  const short = await build('c', { isShort: true });
  const waits = build('d');
  slots.release(short);
  await build('c', { isShort: true });
  const second = build('c', { isShort: true });
  slots.release(long[0]!);
  await waits;
  slots.release(long[1]!);
  await second;
});

test('an address that had no place yet comes before one that has had one, though it asked later', async () => {
  const { slots, build } = openSlots({ maxBuilds: 1, patienceMs: 5_000 });
  const first = await build('a');
  const order: string[] = [];
  const next = async (address: string) => {
    const slot = await build(address);
    order.push(address);
    slots.release(slot);
  };
  const waiting = [next('a'), next('b'), next('c')];
  slots.release(first);
  await Promise.all(waiting);
  assert.deepEqual(order, ['b', 'c', 'a']);
});

test('a build that nobody reads gives way at once, also to one that waits already', async () => {
  const { slots, givenUp, build } = openSlots({ patienceMs: 5_000 });
  const readers = [new Reader('b')];
  await build('a');
  const left = await build('b', {}, readers);
  const waits = build('c');
  await sleep(5);
  assert.deepEqual(givenUp, []);
  (left.build!.readers as Set<Reader>).clear();
  slots.serve();
  await waits;
  assert.deepEqual(givenUp, ['b']);
});

test('an address that leaves its builds makes nobody give way for a while, its own unread ones included', async () => {
  const { givenUp, build } = openSlots();
  await build('a', {}, []);
  await build('a', {}, []);
  await assert.rejects(build('a'), isBusy, 'they may be of use to others still');
  await build('b', {}, []);
  assert.deepEqual(givenUp, ['a']);
  await assert.rejects(build('a'), isBusy);
  await build('c');
  assert.deepEqual(givenUp, ['a', 'b']);
  await assert.rejects(build('b'), isBusy);
  await build('d');
  assert.deepEqual(givenUp, ['a', 'b', 'a']);
});

test('addresses whose callers leave at once share one place, and others have theirs', async () => {
  const { slots, build } = openSlots({ maxBuilds: 3, patienceMs: 2_000 });
  for (const address of ['a', 'b'])
    for (let time = 0; time < 3; time++) {
      const slot = await build(address);
      slots.noteLeft(slot);
      slots.release(slot);
    }
  const first = await build('a');
  const waits = build('b');
  slots.release(await build('c'));
  slots.release(first);
  await waits;
});

test('builds that nobody reads still give way to an address that left one build at once', async () => {
  const { slots, givenUp, build } = openSlots();
  const head = await build('client');
  slots.noteLeft(head);
  slots.release(head);
  await build('a', {}, []);
  await build('b', {}, []);
  await build('client');
  assert.deepEqual(givenUp, ['b']);
});

test('the newer build of an address gives way to an address that has none, unless one reads it that has no other', async () => {
  const { givenUp, build } = openSlots();
  await build('a');
  const reader = new Reader('a');
  await build('a', {}, [reader]);
  await build('b');
  assert.deepEqual(givenUp, ['a']);
  await assert.rejects(build('a'), isBusy, 'each has one now');
  const shared = openSlots();
  await shared.build('a', {}, [new Reader('a'), new Reader('c')]);
  await shared.build('a', {}, [new Reader('a'), new Reader('d')]);
  await assert.rejects(shared.build('b'), isBusy);
  assert.deepEqual(shared.givenUp, []);
});

test('the next place goes to the address with the fewest builds; an address waits four times at most, and not when it is gone', async () => {
  const { slots, wish, build } = openSlots({ patienceMs: 5_000 });
  const both = [await build('a'), await build('b')];
  const order: string[] = [];
  const gone = new Reader('d');
  const waiting = [
    slots.take({ ...wish('d'), reader: gone }).catch((caught) => {
      assert.ok(isBusy(caught));
    }),
    ...['a', 'a', 'a', 'a', 'c'].map((address) => slots.take(wish(address)).then(() => order.push(address)))
  ];
  await assert.rejects(slots.take(wish('a')), isBusy);
  gone.leave();
  slots.release(both[1]!);
  await waiting[0];
  await Promise.race(waiting.slice(1));
  assert.deepEqual(order, ['c']);
});

test('a caller that waits for a build shares the one that another begins', async () => {
  const { slots, build } = openSlots({ patienceMs: 5_000 });
  await build('a');
  await build('b');
  let isBegun = false;
  const waits = slots.take({ server: 's', reader: new Reader('c'), isShort: false, isBegun: () => isBegun });
  isBegun = true;
  slots.serve();
  assert.equal(await waits, null);
});
