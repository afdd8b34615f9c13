import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import { Followed } from '../../../src/explorer/live/followed.ts';
import { LiveStream } from '../../../src/explorer/live/live-stream.ts';
import type { Logger } from '../../../src/log.ts';
import { MemoryChain } from '../../support/channels.ts';

test('a stream follows so many subjects: who follows the most gives way to one that follows less', async (t) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const { coin } = new MemoryChain(3);
  const stream = new LiveStream(coin, { debug: () => undefined } as unknown as Logger, new Followed(3));
  t.after(() => {
    stream.close();
    for (const each of server.clients) each.terminate();
    server.close();
  });
  server.on('connection', (socket, { url }) => {
    const [, address = '', query = ''] = url!.split('/');
    const sendBuffer = () => ({ waitingBytes: 0, takenBytes: 0 });
    const subject = query === '' ? null : ({ type: 'token', query } as const);
    stream.subscribe(socket, { address, subject, sendBuffer });
  });
  const { port } = server.address() as AddressInfo;
  const follow = async (path: string) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/${path}`);
    const closed = once(socket, 'close') as Promise<[number]>;
    const isTaken = await Promise.race([once(socket, 'message').then(() => true), closed.then(() => false)]);
    return { socket, closed, isTaken };
  };
  const [first, second, third] = [await follow('many/A'), await follow('many/B'), await follow('many/C')];
  assert.equal((await follow('many/D')).isTaken, false, 'nobody follows more than it');
  assert.ok((await follow('many/')).isTaken, 'blocks alone take no room');
  const honest = await follow('honest/E');
  assert.ok(honest.isTaken);
  assert.equal((await third.closed)[0], 1013, 'the newest gives way');
  for (const { socket } of [first, second, honest]) assert.equal(socket.readyState, WebSocket.OPEN);
});
