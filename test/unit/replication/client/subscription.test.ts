import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { WebSocketServer } from 'ws';
import { SourceClient } from '../../../../src/replication/client/source-client.ts';
import { Subscription } from '../../../../src/replication/client/subscription.ts';

const ID = { dbType: 'decoder', chain: 'litecoin', network: 'regtest' } as const;
const PATIENCE = AbortSignal.timeout(30_000);

const reorg = (block_index: number) => JSON.stringify({ type: 'reorg', ...ID, block_index });

test('messages that wait are parsed ahead, in order, and a fault comes to the one who takes it', async (t) => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  t.after(() => server.close());
  await once(server, 'listening');
  const connected = once(server, 'connection');
  const stream = await Subscription.open(
    new SourceClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, undefined, ID)
  );
  t.after(() => stream.close());
  const [socket] = await connected;
  const messages = [reorg(5), reorg(6), '{"type":"reorg"', reorg(7)];
  for (const text of messages) socket.send(text);
  while (stream.waiting < messages.length) await turn();
  for (let turns = 0; turns < messages.length; turns++) await turn();
  assert.equal(stream.waiting, messages.length, 'whatever is parsed waits all the same');
  for (const expected of [5, 6]) {
    assert.equal(stream.nextBytes, messages[0]!.length);
    const message = await stream.next(0, PATIENCE);
    assert.equal(message?.type === 'reorg' && message.block_index, expected);
  }
  await assert.rejects(stream.next(0, PATIENCE), { code: 'SOURCE_INVALID' });
  const last = await stream.next(0, PATIENCE);
  assert.equal(last?.type === 'reorg' && last.block_index, 7);
  assert.equal(await stream.next(0, PATIENCE), null);
});
