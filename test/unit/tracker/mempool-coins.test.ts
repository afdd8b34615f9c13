import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { writeTransaction } from '../../../src/coin/raw/transaction-form.ts';
import { scriptHashOf } from '../../../src/tracker/coins/changes.ts';
import { MempoolCoins } from '../../../src/tracker/mempool-coins.ts';
import { bytesOf } from '../../../src/tracker/mempool-index.ts';
import fc from '../../support/fast-check.ts';

interface Place {
  readonly txid: string;
  readonly vout: number;
}

const { signal } = new AbortController();
const SCRIPTS = [1, 2, 3].map((byte) => Buffer.from([0x50 + byte]));
const EACH = 1_000n;
const outpointOf = ({ txid, vout }: Place): Buffer => {
  const position = Buffer.alloc(4);
  position.writeUInt32LE(vout);
  return Buffer.concat([Buffer.from(txid, 'hex').reverse(), position]);
};
const keyOf = (place: Place): string => outpointOf(place).toString('hex');

/** Makes a transaction that pays EACH to every script. */
function payment(spent: readonly Place[], scripts: readonly Buffer[]) {
  const inputs = spent.map((at) => ({ ...at, sequence: 0, unlock: { script: Buffer.alloc(0), witness: [] } }));
  const bytes = writeTransaction({ inputs, outputs: scripts.map((script) => ({ amount: EACH, script })) });
  const { txid } = readRawTransaction(bytes);
  return { txid, bytes, spent, scripts, places: scripts.map((_, vout) => ({ txid, vout })) };
}
type Payment = ReturnType<typeof payment>;

/** A node's mempool and the coins that blocks have stored, as a test changes them. */
function scene(mostCoins?: number) {
  const waiting = new Map<string, Payment>();
  const stored = new Map<string, Buffer>();
  const coins = new MempoolCoins({
    list: async () => [...waiting.keys()],
    read: async (txids) => ({ found: txids.flatMap((txid) => waiting.get(txid)?.bytes ?? []), odd: [] }),
    coins: () => ({
      owners: async (outpoints) =>
        outpoints.flatMap((outpoint) => {
          const script = stored.get(outpoint.toString('hex'));
          return script ? [{ outpoint, scriptHash: scriptHashOf(script), value: EACH }] : [];
        })
    }),
    ...(mostCoins === undefined ? {} : { mostCoins })
  });
  const look = async () => {
    for (let left = await coins.list(signal); left > 0; ) {
      await coins.fetch(signal);
      left = await coins.save();
    }
  };
  const add = (spent: readonly Place[], scripts: readonly Buffer[]) => {
    const made = payment(spent, scripts);
    waiting.set(made.txid, made);
    return made;
  };
  /** Adds a transaction that spends a coin of a block. */
  const pay = (vout: number, scripts: readonly Buffer[]) => {
    const place = { txid: 'cd'.repeat(32), vout };
    stored.set(keyOf(place), SCRIPTS[2]!);
    return add([place], scripts);
  };
  return { waiting, stored, coins, look, add, pay };
}

/** Returns the mempool's effect on each script, by all of its transactions. */
function expected({ waiting, stored }: ReturnType<typeof scene>) {
  const spent = new Set([...waiting.values()].flatMap((each) => each.spent.map(keyOf)));
  return SCRIPTS.map((script) => ({
    pending: [...waiting.values()]
      .flatMap(({ places, scripts }) => places.filter((_, vout) => scripts[vout]!.equals(script)))
      .map(keyOf)
      .filter((key) => !spent.has(key))
      .sort(),
    spent: [...spent].filter((key) => stored.get(key)?.equals(script)).sort()
  }));
}

function textsOf(coins: MempoolCoins) {
  const names = (some: readonly { readonly name: string }[]) =>
    some.map(({ name }) => bytesOf(name).toString('hex')).sort();
  return SCRIPTS.map((script) => {
    const { pending, spent } = coins.overlay(scriptHashOf(script));
    return { pending: names(pending), spent: names(spent) };
  });
}

const Change = fc.record({
  kind: fc.constantFrom('pay', 'pay', 'pay', 'confirm', 'evict', 'restore'),
  pick: fc.nat(1_000),
  scripts: fc.array(fc.nat(SCRIPTS.length - 1), { minLength: 1, maxLength: 3 })
});

test('a mempool that changes has the same coins as one that is read anew, and no earlier answer changes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(Change, { maxLength: 4 }), { maxLength: 12 }), async (rounds) => {
      const at = scene();
      const confirmed: Payment[] = [];
      for (let vout = 0; vout < 6; vout++)
        at.stored.set(keyOf({ txid: 'ab'.repeat(32), vout }), SCRIPTS[vout % SCRIPTS.length]!);
      const firsts = Array.from({ length: 6 }, (_, vout) => ({ txid: 'ab'.repeat(32), vout }));
      const all = () => [...at.waiting.values()];
      const isSpent = (place: Place) => all().some(({ spent }) => spent.some((each) => keyOf(each) === keyOf(place)));
      const childrenOf = ({ txid }: Payment) => all().filter(({ spent }) => spent.some((each) => each.txid === txid));
      const evict = (one: Payment): void => {
        for (const child of childrenOf(one)) evict(child);
        at.waiting.delete(one.txid);
      };
      const change = ({ kind, pick, scripts }: { kind: string; pick: number; scripts: readonly number[] }) => {
        const storedPlaces = [...firsts, ...confirmed.flatMap(({ places }) => places)];
        const free = [
          ...storedPlaces.filter((place) => at.stored.has(keyOf(place))),
          ...all().flatMap(({ places }) => places)
        ].filter((place) => !isSpent(place));
        const one = all()[pick % Math.max(1, at.waiting.size)];
        if (kind === 'pay' && free.length > 0)
          at.add(
            [free[pick % free.length]!],
            scripts.map((index) => SCRIPTS[index]!)
          );
        if (kind === 'evict' && one) evict(one);
        if (kind === 'confirm' && one?.spent.every((place) => at.stored.has(keyOf(place)))) {
          for (const place of one.spent) at.stored.delete(keyOf(place));
          for (const [vout, place] of one.places.entries()) at.stored.set(keyOf(place), one.scripts[vout]!);
          at.waiting.delete(one.txid);
          confirmed.push(one);
          at.coins.distrust();
        }
        const last = confirmed.at(-1);
        // A reorg: the newest payment of a block waits again.
        if (kind === 'restore' && last?.places.every((place) => at.stored.has(keyOf(place)))) {
          confirmed.pop();
          for (const place of last.places) at.stored.delete(keyOf(place));
          for (const place of last.spent)
            at.stored.set(
              keyOf(place),
              firsts.some((first) => keyOf(first) === keyOf(place)) ? SCRIPTS[place.vout % 3]! : scriptOf(place)
            );
          at.waiting.set(last.txid, last);
          at.coins.distrust();
        }
      };
      const made = new Map<string, Buffer>();
      const scriptOf = (place: Place) => made.get(keyOf(place))!;
      for (const round of rounds) {
        const overlay = at.coins.overlay(scriptHashOf(SCRIPTS[0]!));
        const places = [...firsts, ...all().flatMap((each) => [...each.spent, ...each.places])];
        const before = { texts: textsOf(at.coins), spends: places.map((place) => overlay.spends(outpointOf(place))) };
        const names = [overlay.pending.map(({ name }) => name), overlay.spent.map(({ name }) => name)];
        for (const each of round) {
          change(each);
          for (const { places: paid, scripts } of all())
            for (const [vout, place] of paid.entries()) made.set(keyOf(place), scripts[vout]!);
        }
        assert.deepEqual(textsOf(at.coins), before.texts, 'nothing is shown before the look');
        await at.look();
        assert.ok(at.coins.knownAt !== null);
        assert.deepEqual(textsOf(at.coins), expected(at));
        assert.equal(at.coins.size, at.waiting.size);
        assert.deepEqual(
          places.map((place) => overlay.spends(outpointOf(place))),
          before.spends
        );
        assert.deepEqual([overlay.pending.map(({ name }) => name), overlay.spent.map(({ name }) => name)], names);
        const now = at.coins.overlay(scriptHashOf(SCRIPTS[0]!));
        for (const place of places) assert.equal(now.spends(outpointOf(place)), isSpent(place));
      }
    }),
    { numRuns: 100 }
  );
});

test('inputs and outputs have a limit: beyond it the mempool counts as not known, and is known again when it fits', async () => {
  const { waiting, coins, look, pay } = scene(400);
  const [first, second] = SCRIPTS as [Buffer, Buffer];
  const outputs = Array.from({ length: 99 }, () => first);
  for (let vout = 0; vout < 40; vout++) pay(vout, outputs);
  await look();
  assert.deepEqual([coins.knownAt, coins.isTooLarge], [null, true]);
  assert.equal(coins.size, 32, 'the part that takes it over the limit is the last one');
  const [held] = coins.overlay(scriptHashOf(first)).pending;
  assert.ok(held);
  pay(40, [second]);
  await look();
  assert.deepEqual([coins.knownAt, coins.isTooLarge, coins.size], [null, true, 32], 'nothing more is read');
  assert.equal(coins.overlay(scriptHashOf(second)).pending.length, 0);
  for (const txid of [...waiting.keys()].slice(0, 39)) waiting.delete(txid);
  await look();
  assert.deepEqual([coins.isTooLarge, coins.size], [false, 2]);
  assert.ok(coins.knownAt !== null);
  assert.equal(coins.overlay(scriptHashOf(second)).pending.length, 1);
});

test('a look at which one transaction came costs a fraction of reading them all', async () => {
  const { look, pay } = scene();
  const outputs = [SCRIPTS[0]!, SCRIPTS[1]!];
  const timed = async () => {
    const before = process.cpuUsage();
    await look();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  for (let vout = 0; vout < 10_000; vout++) pay(vout, outputs.slice(vout % 2));
  const whole = await timed();
  const later: number[] = [];
  for (let round = 1; round <= 3; round++) {
    pay(10_000 + round, outputs);
    later.push(await timed());
  }
  assert.ok(Math.min(...later) < whole / 8, `${later.join(', ')} us after ${whole} us`);
});

test('a reading that was cancelled and ends late takes nothing from the next look', async () => {
  const [one, other] = [1, 2].map((vout) => payment([{ txid: 'aa'.repeat(32), vout }], [SCRIPTS[0]!])) as [
    Payment,
    Payment
  ];
  const late = Promise.withResolvers<void>();
  let reads = 0;
  const coins = new MempoolCoins({
    list: async () => [one.txid, other.txid],
    read: async (txids) => {
      if (reads++ === 0) await late.promise;
      return { found: [one, other].filter(({ txid }) => txids.includes(txid)).map(({ bytes }) => bytes), odd: [] };
    },
    coins: () => ({
      owners: async (outpoints) =>
        outpoints.map((outpoint) => ({ outpoint, scriptHash: scriptHashOf(SCRIPTS[2]!), value: EACH }))
    })
  });
  const cancelled = new AbortController();
  await coins.list(cancelled.signal);
  const stale = coins.fetch(cancelled.signal);
  cancelled.abort();
  await coins.list(signal);
  await coins.fetch(signal);
  late.resolve();
  await assert.rejects(stale);
  assert.equal(await coins.save(), 0);
  assert.ok(coins.knownAt !== null);
  assert.equal(coins.overlay(scriptHashOf(SCRIPTS[0]!)).pending.length, 2);
});

test('a mempool that follows a block which is not stored is not known: what it spends would be counted still', async () => {
  const { coins, stored, waiting, look, add } = scene();
  const script = scriptHashOf(SCRIPTS[0]!);
  const first = add([{ txid: 'cd'.repeat(32), vout: 0 }], [SCRIPTS[0]!]);
  stored.set(keyOf(first.spent[0]!), SCRIPTS[2]!);
  await look();
  const second = add(first.places, [SCRIPTS[0]!]);
  await look();
  assert.ok(coins.knownAt !== null, 'the coin that it spends waits too');
  waiting.delete(first.txid); // the node has it in a block
  await look();
  const held = coins.overlay(script);
  assert.deepEqual([coins.knownAt, held.isOfStored()], [null, false]);
  coins.distrust();
  stored.delete(keyOf(first.spent[0]!));
  stored.set(keyOf(first.places[0]!), SCRIPTS[0]!);
  assert.deepEqual([coins.knownAt, coins.overlay(script).isOfStored()], [null, false]);
  await look();
  const { pending, spent, isOfStored } = coins.overlay(script);
  assert.deepEqual([pending.length, spent.length, isOfStored(), held.isOfStored()], [1, 1, true, false]);
  assert.ok(coins.knownAt !== null);
  waiting.delete(second.txid);
  await look();
  assert.ok(coins.knownAt !== null);
});
