import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AT, AttackedDoor } from '../support/attacked-door.ts';
import { until } from '../support/listener.ts';
import { frame } from '../support/raw-client.ts';

const PING = frame(0x89, Buffer.alloc(125));

test('WebSocket: what breaks a rule is closed with its code and cut, though its client stays', async () => {
  const attack = await AttackedDoor.begin();
  await spell(attack);
  const length64 = (...bytes: number[]) => Buffer.from([0x81, 0xff, ...bytes, 0, 0, 0, 0]);
  const closings = (
    [
      [1002, 'RSV bits', frame(0xf1)],
      [1002, 'RSV1 without an extension', frame(0xc1)],
      [1002, 'an unmasked frame', frame(0x81, Buffer.from('{}'), false)],
      [1002, 'a bad opcode', frame(0x83)],
      [1002, 'a continuation of nothing', frame(0x80)],
      [1002, 'a ping in pieces', frame(0x09)],
      [1002, 'a ping that is too long', frame(0x89, Buffer.alloc(126))],
      [1002, 'a bad closing code', frame(0x88, Buffer.from([0, 1]))],
      [1007, 'text that is no UTF-8', frame(0x81, Buffer.from([0xff]))],
      [1009, 'a frame of 2^63 bytes', length64(0x80, 0, 0, 0, 0, 0, 0, 0)],
      [1009, 'a frame of 2^32 bytes', length64(0, 0, 0, 1, 0, 0, 0, 0)],
      [1009, 'a message that is too long', frame(0x81, Buffer.alloc(4_097))],
      [1008, 'empty continuations', Buffer.concat([frame(0x01), frame(0x00), frame(0x00)])],
      [1008, 'many tiny frames', Buffer.concat(Array.from({ length: 1_001 }, () => frame(0x82)))]
    ] as const
  ).map(async ([code, what, bytes]) => {
    const client = (await attack.openSocket()).say(bytes);
    assert.equal(await client.closeCode(), code, what);
    await attack.block();
    await client.ended;
  });
  await Promise.all([...closings, floodWithPings(attack)]);
  await attack.end();
});

/** A frame in more reads than it may take. */
async function spell(attack: AttackedDoor): Promise<void> {
  const accepted = once(attack.frontDoor.app.server, 'connection') as Promise<[Socket]>;
  const client = await attack.open();
  const [there] = await accepted;
  await client.upgrade(`/subscribe/${AT}`);
  const bytes = frame(0x81, Buffer.alloc(125));
  const before = there.bytesRead;
  for (let sent = 1; sent <= 6 + 65; sent++) {
    client.say(bytes.subarray(sent - 1, sent));
    await until(() => there.bytesRead === before + sent, `byte ${sent} is read`);
  }
  assert.equal(await client.closeCode(), 1008);
  client.socket.destroy();
}

async function floodWithPings(attack: AttackedDoor): Promise<void> {
  const client = await attack.openSocket({ deaf: true });
  while (client.socket.writable) {
    if (!client.socket.write(PING)) await Promise.race([once(client.socket, 'drain').catch(() => null), client.ended]);
    else await nextTurn();
  }
}

test('half-open sockets: a subscriber that does not answer, or has half said goodbye, is gone after two pings', async () => {
  const attack = await AttackedDoor.begin({ config: { WS_PING_INTERVAL: 100 } });
  const silent = await attack.openSocket({ deaf: true });
  const half = (await attack.openSocket()).say(frame(0x88, Buffer.from([3, 0xe8])).subarray(0, 3));
  await half.ended;
  await attack.end();
  silent.socket.destroy();
});
