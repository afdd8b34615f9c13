import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { PlatformError } from '../../../src/errors.ts';
import type { Question, Reply } from '../../../src/explorer/question.ts';
import { type Replica, Replicas } from '../../../src/explorer/read/replicas.ts';
import { silentLogger } from '../../../src/log.ts';

const QUESTION: Question = { method: 'blocks', parameters: {}, page: 1, limit: 10, order: 'desc', format: 'json' };

/** A copy whose chain is a list of marks, one for each height; null: it does not answer. */
class Copy implements Replica {
  chain: readonly string[] | null = [];
  answers = 0;
  readonly circuit = 'closed';
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  async look() {
    const newest = this.#tip();
    return { newest, decoderTip: newest.height, isRead: true, lastError: null, upstream: null };
  }

  async blockAt(height: number) {
    const mark = this.chain?.[height];
    return mark === undefined ? null : { height, mark };
  }

  async answer(): Promise<Reply> {
    const tip = this.#tip();
    this.answers++;
    return { body: this.#name, ...tip, isSettled: false, isProvisional: false, next: null };
  }

  #tip() {
    if (!this.chain) throw new PlatformError('DATABASE_UNAVAILABLE', { reason: `${this.#name} is away` });
    const height = this.chain.length - 1;
    return { height, mark: this.chain[height]! };
  }
}

let copies: readonly [Copy, Copy, Copy];
let replicas: Replicas;
beforeEach(() => {
  copies = [new Copy('first'), new Copy('second'), new Copy('third')];
  replicas = new Replicas(copies, { heightOfCursor: Number, log: silentLogger });
});

/** Sets the chains of the copies, one letter for each block; '-': away. */
const set = (...chains: readonly string[]) => {
  for (const [at, copy] of copies.entries()) copy.chain = chains[at] === '-' ? null : [...(chains[at] ?? '')];
};
const states = async () => (await replicas.look()).replicas!.map(({ state }) => state).join(' ');
const asked = async () => (await replicas.answer(QUESTION)).body;

test('copies with the newest block take turns; one that is behind is asked when they are away', async () => {
  set('abc', 'abc', 'ab');
  assert.equal(await states(), 'serves serves behind');
  for (let n = 0; n < 10; n++) await asked();
  assert.deepEqual(
    copies.map(({ answers }) => answers),
    [5, 5, 0]
  );
  set('-', '-', 'ab');
  assert.equal(await asked(), 'third', 'before any look');
  assert.equal(await states(), 'unavailable unavailable serves');
});

test('an answer is never older than one that ended before it, also between two looks', async () => {
  set('ab', 'ab', 'ab');
  await states();
  set('ab', 'abc', 'ab');
  const heights: (number | null)[] = [];
  for (let n = 0; n < 9; n++) heights.push((await replicas.answer(QUESTION)).height);
  assert.deepEqual(heights, heights.toSorted());
  assert.equal(heights.at(-1), 2);
});

test('a cursor waits for its block where the copies that have it are away, and is told stale where all have lost it', async () => {
  set('abc', 'ab', 'ab');
  await states();
  set('-', 'ab', 'ab');
  const cursor = { ...QUESTION, cursor: '2' };
  await assert.rejects(replicas.answer(cursor), { code: 'DATABASE_UNAVAILABLE' });
  set('ab', 'ab', 'ab');
  await states();
  assert.equal((await replicas.answer(cursor)).height, 1, 'the copy itself says that the block does not stand');
});

test('a copy on another chain serves nobody, also when the others are lost; a reorg that all follow is none', async () => {
  set('abc', 'abc', 'abX');
  await states();
  assert.equal(await states(), 'serves serves forked');
  set('-', '-', 'abXY');
  assert.equal(await states(), 'unavailable unavailable forked');
  await assert.rejects(replicas.answer(QUESTION), { code: 'DATABASE_UNAVAILABLE' });
  set('abcd', '-', 'abXY');
  assert.equal(await states(), 'serves unavailable forked');
  set('ab', '-', 'ab');
  assert.equal(await states(), 'serves unavailable serves');
  set('abE', '-', 'ab');
  assert.equal(await states(), 'serves unavailable behind');
});

test('a reorg that one copy follows first is shown when more have it, or when the others stand still', async () => {
  set('abc', 'abc', 'abc');
  await states();
  set('abX', 'abc', 'abc');
  assert.equal(await states(), 'forked serves serves');
  assert.equal((await replicas.answer(QUESTION)).mark, 'c');
  set('abX', 'abX', 'abc');
  assert.equal(await states(), 'serves serves forked');
  set('abX', '-', 'abcd');
  assert.equal(await states(), 'serves unavailable forked');
  set('abX', '-', 'abcdefg');
  assert.equal(await states(), 'forked unavailable serves', 'it stands still by now');
});

test('a reorg while another copy is away is followed at once by the only one that is left', async () => {
  set('abc', '-', '-');
  await states();
  set('abXY', '-', '-');
  assert.equal(await states(), 'serves unavailable unavailable');
});
