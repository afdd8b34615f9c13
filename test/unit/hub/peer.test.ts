import assert from 'node:assert/strict';
import { test } from 'node:test';
import { peerMachine } from '../../../machines/hub/peer.ts';
import { everyState, onSimulatedClock, reachedStates } from '../machines/reach.ts';

const INPUT = { baseMs: 2_000, longestMs: 60_000, denyMs: 600_000, handshakeMs: 10_000, draw: () => 0 };
const CLOSED = { type: 'socket.closed' } as const;

test('every state of an address is reached', () => {
  const events = [
    { type: 'socket.opened' },
    { type: 'key.proved' },
    CLOSED,
    { type: 'peer.denied' },
    { type: 'stop.requested' }
  ] as const;
  assert.deepEqual(reachedStates(peerMachine, { ...INPUT, longestMs: 2_000 }, events), everyState(peerMachine));
});

test('pauses double from two seconds to a minute, with up to a quarter more, until a key is proved', () => {
  const pauses: number[] = [];
  const { actor, clock, state } = onSimulatedClock(peerMachine, { ...INPUT, draw: () => 0.999 });
  for (let failure = 0; failure < 7; failure++) {
    actor.send(CLOSED);
    let pause = 0;
    for (; state() === 'backingOff'; pause += 500) clock.increment(500);
    pauses.push(pause);
  }
  assert.deepEqual(pauses, [2_500, 5_000, 10_000, 20_000, 40_000, 75_000, 75_000]);
  for (const type of ['socket.opened', 'key.proved', 'socket.closed'] as const) actor.send({ type });
  clock.increment(2_500);
  assert.equal(state(), 'dialling');
});

test('an address where no key is proved counts as a failure, and a denied one is left alone for ten minutes', () => {
  const { actor, clock, state } = onSimulatedClock(peerMachine, INPUT);
  actor.send({ type: 'socket.opened' });
  clock.increment(10_000);
  assert.equal(state(), 'backingOff');
  actor.send({ type: 'peer.denied' });
  clock.increment(599_000);
  assert.equal(state(), 'denied');
  clock.increment(1_000);
  assert.equal(state(), 'dialling');
});
