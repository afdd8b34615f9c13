import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../../../../src/errors.ts';
import { openUnruly } from './handle.ts';

test('replies, asks back, and moves buffers', async () => {
  const { handle } = openUnruly({ generation: 3 });
  assert.deepEqual(await handle.ask('echo', { a: [1, 2] }), { a: [1, 2] });
  assert.equal(await handle.ask('relay', 21), 42);
  assert.equal((await handle.ask('buffer', { bytes: 1024 })).byteLength, 1024);
  assert.equal((await handle.ask('start.data', null)).generation, 3);
});

test('an error keeps code and detail; a foreign one becomes INTERNAL; what cannot be cloned is left out', async () => {
  const { handle } = openUnruly();
  await assert.rejects(
    handle.ask('throw.named', null),
    (error) => hasCode(error, 'BLOCKS_EMPTY') && error.detail['database'] === 'x'
  );
  await assert.rejects(handle.ask('throw.foreign', null), (error) => hasCode(error, 'INTERNAL'));
  await assert.rejects(handle.ask('throw.uncloneable', null), (error) => hasCode(error, 'DISK_FULL'));
  await assert.rejects(handle.ask('reply.uncloneable', null), (error) => hasCode(error, 'INTERNAL'));
});

test('the mailbox of an actor is bounded', async () => {
  const { handle } = openUnruly();
  const busy = [handle.ask('sleep', { ms: 100 }), handle.ask('sleep', { ms: 100 })];
  await assert.rejects(handle.ask('echo', 1), (error) => hasCode(error, 'ACTOR_BUSY'));
  await Promise.all(busy);
});

test('asks in flight are rejected when the thread exits, and one after death fails at once', async () => {
  const { handle } = openUnruly();
  const inFlight = assert.rejects(handle.ask('sleep', { ms: 10_000 }), (error) => hasCode(error, 'ACTOR_EXITED'));
  await assert.rejects(handle.ask('exit', { code: 9 }), (error) => hasCode(error, 'ACTOR_EXITED'));
  await inFlight;
  const death = await handle.exited;
  assert.equal(death.code, 'ACTOR_EXITED');
  assert.equal(death.detail['exitCode'], 9);
  await assert.rejects(handle.ask('echo', 1), (error) => hasCode(error, 'ACTOR_EXITED'));
});

for (const type of ['crash', 'crash.rejection'] as const) {
  test(`an error that nobody caught (${type}) ends the thread and is told`, async () => {
    const { handle } = openUnruly();
    await assert.rejects(
      handle.ask(type, null),
      (error) => hasCode(error, 'ACTOR_EXITED') && /nobody/.test(error.message)
    );
    const death = await handle.exited;
    assert.equal(death.code, 'INTERNAL');
    assert.match(death.message, /nobody/);
  });
}

test('threads that are ended while they make zlib objects do not take the process with them', async () => {
  for (let run = 0; run < 10; run++) {
    const { handle } = openUnruly();
    await handle.ask('zip', null);
    await sleep(2 * run);
    await handle.terminate();
    assert.equal((await handle.exited).code, 'ACTOR_EXITED');
  }
});

test('an error at start, before the actor is hosted, is the death', async () => {
  const { handle } = openUnruly({ crashAtStart: true });
  assert.match((await handle.exited).message, /cannot start/);
});

test('an actor that fails by name dies of that error', async () => {
  const { handle } = openUnruly();
  await assert.rejects(handle.ask('fail', { code: 'ROW_REFUSED' }));
  assert.equal((await handle.exited).code, 'ROW_REFUSED');
});

test('an actor is seen: beacon at once, transitions of its machine, what it waits for', async () => {
  const { handle, beacons, transitions, waits } = openUnruly();
  await handle.ask('transition', null);
  await handle.ask('wait', { on: 'the tip' });
  assert.ok(beacons[0]!.heapUsedBytes > 0);
  assert.deepEqual(
    transitions.map(({ machine, event, from, to }) => ({ machine, event, from, to })),
    [
      { machine: 'circuit', event: 'xstate.init', from: null, to: 'closed' },
      { machine: 'circuit', event: 'call.failed', from: 'closed', to: 'open' }
    ]
  );
  assert.equal(transitions[1]?.context?.['failures'], 2);
  assert.equal(waits.at(-1)!.on, 'the tip');
});
