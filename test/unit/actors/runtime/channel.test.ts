import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { Channel, type Handlers, Transferred } from '../../../../actors/runtime/channel.ts';
import { hasCode, PlatformError } from '../../../../src/errors.ts';
import type { Exchange } from '../../../../src/wire/state/timeline.ts';
import fc from '../../../support/fast-check.ts';

type Left = { upper: { request: string; reply: string } };
type Right = {
  echo: { request: unknown; reply: unknown };
  hold: { request: null; reply: string };
  throw: { request: null; reply: never };
  stop: { request: null; reply: string };
  move: { request: ArrayBuffer; reply: ArrayBuffer };
};

type Notes = { report: number; odd: null };

function open(mailboxLimit = 4) {
  const { port1, port2 } = new MessageChannel();
  const held: ((text: string) => void)[] = [];
  const faults: PlatformError[] = [];
  const reports: number[] = [];
  const rightHandlers: Handlers<Right> = {
    echo: (body) => body,
    hold: () => new Promise((resolve) => held.push(resolve)),
    throw: () => {
      throw new TypeError('odd', { cause: 'deep' });
    },
    stop: () => 'stopped',
    move: (buffer) => new Transferred(buffer, [buffer])
  };
  const leftFaults: PlatformError[] = [];
  const exchanges: Exchange[] = [];
  const sent = { left: 0, right: 0 };
  port2.on('message', () => sent.left++);
  port1.on('message', () => sent.right++);
  const left = new Channel<Left, Right, Record<never, never>, Notes & { unknown: null }>(port1, {
    handlers: { upper: (text) => text.toUpperCase() },
    listeners: {},
    onFault: (error) => void leftFaults.push(error),
    onExchange: (exchange) => void exchanges.push(exchange),
    mailboxLimit
  });
  const right = new Channel<Right, Left, Notes>(port2, {
    handlers: rightHandlers,
    listeners: {
      report: (number) => void reports.push(number),
      odd: () => {
        throw new RangeError('cannot take it');
      }
    },
    onFault: (error) => void faults.push(error),
    mailboxLimit,
    urgent: ['stop']
  });
  return { left, right, held, faults, leftFaults, exchanges, sent, reports, [Symbol.dispose]: () => port1.close() };
}

test('both ends ask and answer', async () => {
  using ends = open();
  assert.deepEqual(await ends.left.ask('echo', { big: 12n, when: new Date(0) }), { big: 12n, when: new Date(0) });
  assert.equal(await ends.right.ask('upper', 'abc'), 'ABC');
});

test('any value that can be cloned arrives as it was sent, each answer at its own ask', async () => {
  using ends = open(100);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue(), { maxLength: 20 }), async (values) => {
      assert.deepEqual(await Promise.all(values.map((value) => ends.left.ask('echo', value))), values);
    }),
    { numRuns: 30 }
  );
});

test('routine of one turn goes in one message, each answer at its own ask, and only a failure is an exchange', async () => {
  using ends = open(100);
  const asks = Array.from({ length: 50 }, (_, at) => ends.left.ask('echo', at, { isRoutine: true }));
  assert.deepEqual(
    await Promise.all(asks),
    asks.map((_, at) => at)
  );
  assert.deepEqual([ends.sent.left, ends.sent.right, ends.exchanges], [1, 1, []]);
  await assert.rejects(ends.left.ask('throw', null, { isRoutine: true }), { code: 'INTERNAL' });
  assert.deepEqual(
    ends.exchanges.map(({ type, error }) => [type, error]),
    [['throw', 'INTERNAL']]
  );
  const buffer = new ArrayBuffer(8);
  const moved = await ends.left.ask('move', buffer, { isRoutine: true, transfer: [buffer] });
  assert.deepEqual([buffer.detached, moved.byteLength], [true, 8]);
});

test('PROTOCOL_VIOLATION: routine that cannot be cloned is a fault here, and its ask ends by its deadline', async () => {
  using ends = open();
  await assert.rejects(
    ends.left.ask('echo', () => undefined, { isRoutine: true, deadlineMs: 20 }),
    {
      code: 'ACTOR_TIMEOUT'
    }
  );
  assert.deepEqual(
    ends.leftFaults.map(({ code }) => code),
    ['PROTOCOL_VIOLATION']
  );
});

test('notices arrive in order, one way', async () => {
  using ends = open();
  ends.left.tell('report', 1);
  ends.left.tell('report', 2);
  await ends.left.ask('echo', null);
  assert.deepEqual(ends.reports, [1, 2]);
});

test('a notice whose taking fails, or that nobody listens to, is a fault here, not a death', async () => {
  using ends = open();
  ends.left.tell('unknown', null);
  ends.left.tell('odd', null);
  assert.equal(await ends.left.ask('echo', 'still well'), 'still well');
  assert.match(ends.faults[0]?.message ?? '', /no listener for unknown/);
  assert.match(ends.faults[1]?.message ?? '', /cannot take it/);
});

test('buffers move both ways instead of being copied', async () => {
  using ends = open();
  const buffer = new ArrayBuffer(8);
  const back = await ends.left.ask('move', buffer, { transfer: [buffer] });
  assert.equal(buffer.byteLength, 0);
  assert.equal(back.byteLength, 8);
});

test('ACTOR_TIMEOUT: no reply within the deadline; the late answer is dropped', async () => {
  using ends = open();
  await assert.rejects(ends.left.ask('hold', null, { deadlineMs: 20 }), (error) => hasCode(error, 'ACTOR_TIMEOUT'));
  assert.equal(await ends.left.ask('echo', 'still well'), 'still well'); // the one before has arrived by now
  ends.held[0]!('late');
  assert.equal(await ends.left.ask('echo', 'and after'), 'and after');
});

test('ACTOR_BUSY: a full mailbox refuses, takes what is urgent, and is measured', async () => {
  using ends = open(2);
  const waiting = [ends.left.ask('hold', null), ends.left.ask('hold', null)];
  await assert.rejects(ends.left.ask('echo', 1), (error) => hasCode(error, 'ACTOR_BUSY'));
  assert.equal(await ends.left.ask('stop', null), 'stopped');
  assert.equal(ends.right.mailboxDepth, 2);
  assert.ok(ends.right.oldestMs > 0);
  for (const release of ends.held) release('done');
  assert.deepEqual(await Promise.all(waiting), ['done', 'done']);
  assert.equal(ends.right.mailboxDepth, 0);
  assert.equal(ends.right.oldestMs, 0);
});

test('INTERNAL: a foreign error crosses without its cause, which onFault sees', async () => {
  using ends = open();
  await assert.rejects(
    ends.left.ask('throw', null),
    (error) => hasCode(error, 'INTERNAL') && /odd/.test(error.message)
  );
  assert.ok(ends.faults[0]?.cause instanceof TypeError);
});

test('PROTOCOL_VIOLATION: a type that nobody answers, also one that every object has', async () => {
  using ends = open();
  for (const type of ['missing', 'constructor', '__proto__']) {
    await assert.rejects(ends.left.ask(type as 'echo', null), (error) => hasCode(error, 'PROTOCOL_VIOLATION'));
  }
});

test('closing rejects all in flight and all that come after', async () => {
  using ends = open();
  const inFlight = [ends.left.ask('hold', null), ends.left.ask('hold', null)];
  ends.left.close(new PlatformError('ACTOR_EXITED', { exitCode: 1 }));
  for (const asked of [...inFlight, ends.left.ask('echo', 1)]) {
    await assert.rejects(asked, (error) => hasCode(error, 'ACTOR_EXITED'));
  }
});
