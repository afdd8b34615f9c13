import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type { WebSocket } from 'ws';
import { StreamSubscriber } from '../../../src/service/stream/stream-subscriber.ts';

test('a client of a stream may send two hundred frames in ten seconds: more end its connection', (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  for (const frame of ['message', 'ping', 'pong']) {
    let ended = 0;
    const socket = Object.assign(new EventEmitter(), { terminate: () => ended++ });
    new StreamSubscriber(socket as unknown as WebSocket, 'a', () => ({ waitingBytes: 0, takenBytes: 0 }), {
      sends: 1,
      bytes: 1
    });
    for (let n = 0; n < 200; n++) socket.emit(frame);
    now += 10_001;
    for (let n = 0; n < 200; n++) socket.emit(frame);
    assert.equal(ended, 0, frame);
    socket.emit(frame);
    assert.equal(ended, 1, frame);
  }
});
