import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { FairQueue } from '../../../src/service/turns/fair-queue.ts';
import { INDEXER } from '../../support/sync/front-door.ts';

/** The next question comes after a pause as long as the answer took, 50 ms at most; after this much, none comes. */
const PATIENCE_MS = 300;

/** ClientLimiter of one route whose questions are answered one after the other, when the test says so. */
class Crowd {
  readonly #turns = new FairQueue((raw) => (raw as unknown as { address: string }).address);
  readonly asked: string[] = [];
  #answer: ((text: string) => void) | undefined;

  ask(address: string, question: string) {
    const socket = { destroyed: false };
    const request = { params: INDEXER, raw: { socket, address } } as unknown as FastifyRequest;
    const answer = this.#turns.take(request, question, async () => {
      this.asked.push(`${address} ${question}`);
      return new Promise<string>((resolve) => {
        this.#answer = resolve;
      });
    });
    answer.catch(() => undefined);
    return {
      answer,
      leave: () => {
        socket.destroyed = true;
      }
    };
  }

  /** Answers what is asked now, and waits until the next question has come or nobody waits. */
  async answer(text = 'said'): Promise<void> {
    const answer = this.#answer;
    this.#answer = undefined;
    answer?.(text);
    const deadline = performance.now() + PATIENCE_MS;
    while (!this.#answer && performance.now() < deadline) await sleep(1);
  }
}

test('addresses take turns, however many questions one of them has', async () => {
  const crowd = new Crowd();
  for (let n = 0; n < 5; n++) crowd.ask('a', `${n}`);
  crowd.ask('b', 'x');
  crowd.ask('b', 'y');
  for (let n = 0; n < 7; n++) await crowd.answer();
  assert.deepEqual(crowd.asked, ['a 0', 'a 1', 'b x', 'a 2', 'b y', 'a 3', 'a 4']);
});

test('a network of IPv6 (48 bits) has as many turns as an address, and its addresses take them in turn', async () => {
  const crowd = new Crowd();
  crowd.ask('a', '0');
  for (const n of [1, 2, 3]) for (const question of ['x', 'y']) crowd.ask(`2001:db8:7:${n}::/64`, `${question}${n}`);
  for (const question of ['1', '2']) crowd.ask('b', question);
  for (let n = 0; n < 9; n++) await crowd.answer();
  const asked = crowd.asked.map((text) => text.split(' ').at(-1));
  assert.deepEqual(asked, ['0', 'x1', '1', 'x2', '2', 'x3', 'y1', 'y2', 'y3']);
});

test('questions that are alike and wait have one answer, and none that was begun before them', async () => {
  const crowd = new Crowd();
  const first = crowd.ask('a', 'q');
  const waiting = ['a', 'b', 'c'].map((address) => crowd.ask(address, 'q'));
  await crowd.answer('one');
  assert.equal(await first.answer, 'one');
  await crowd.answer('two');
  for (const { answer } of waiting) assert.equal(await answer, 'two');
  assert.equal(crowd.asked.length, 2);
});

test('a caller that has left is passed over, and takes nobody along who asked the same', async () => {
  const crowd = new Crowd();
  crowd.ask('a', '0');
  for (let n = 1; n <= 256; n++) crowd.ask('a', `${n % 60}`).leave();
  const left = crowd.ask('a', 'q');
  left.leave();
  const there = crowd.ask('b', 'q');
  await crowd.answer();
  await crowd.answer('two');
  assert.equal(await there.answer, 'two');
  await assert.rejects(left.answer, { code: 'ANSWERS_WAITING' });
  assert.deepEqual(crowd.asked, ['a 0', 'b q']);
});

test('ANSWERS_WAITING: one address may have 64 different questions waiting', async () => {
  const crowd = new Crowd();
  for (let n = 0; n <= 64; n++) crowd.ask('a', `${n}`);
  await assert.rejects(crowd.ask('a', 'another').answer, { code: 'ANSWERS_WAITING' });
  crowd.ask('a', '7');
  crowd.ask('b', 'another');
  for (let n = 0; n < 66; n++) await crowd.answer();
  assert.equal(crowd.asked.length, 66);
});
