import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type { WebSocket } from 'ws';
import { Subscriber } from '../../../../src/sync/fan-out/subscriber.ts';

const MESSAGE = Buffer.alloc(12);

/** A socket whose peer takes what the test says, and when. */
class SlowSocket extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  waitingBytes = 0;
  takenBytes = 0;
  closed: string | null = null;

  send(data: Buffer): void {
    this.waitingBytes += data.length;
  }

  take(bytes: number): void {
    this.waitingBytes -= bytes;
    this.takenBytes += bytes;
  }

  close(_code: number, reason: string): void {
    this.closed = reason;
    this.readyState = 2;
  }
}

test('stall: progress counts also when each message adds more than has drained, and its end is noticed', (t) => {
  let now = 1_000;
  t.mock.method(performance, 'now', () => now);
  const socket = new SlowSocket();
  const subscriber = new Subscriber(socket as unknown as WebSocket, {
    infraOnly: false,
    height: null,
    limits: { maxBytes: 1_000_000, stallMs: 30_000 },
    sendBuffer: () => socket,
    onFlood: () => undefined,
    onDrop: () => undefined,
    onHeartbeat: () => undefined,
    onAuth: () => false
  });
  const second = (drained: number) => {
    now += 1_000;
    socket.take(drained);
    subscriber.send(MESSAGE);
    subscriber.measure();
  };
  second(0);
  for (let seconds = 0; seconds < 100; seconds++) second(10);
  assert.equal(socket.closed, null);
  for (let seconds = 0; seconds < 29; seconds++) second(0);
  assert.equal(socket.closed, null);
  second(0);
  assert.equal(socket.closed, 'Backpressure: send buffer not draining for 30000ms');
});
