import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { SigningKey } from '../../src/consensus/auth-signature.ts';
import { MOST_PARTS } from '../../src/hub/federation/gossip/long-messages.ts';
import { Intruder, KEYS, type MeshHub, startHub, until } from '../support/federation/mesh-hub.ts';

const [A, B, C] = KEYS as [SigningKey, SigningKey, SigningKey];
let hub: MeshHub;
let friend: MeshHub;
let member: Intruder;
before(async () => {
  hub = await startHub(A, { limits: { perMember: 200, heartbeatMs: 2_500, mostForged: 100_000 } });
  friend = await startHub(B, { seeds: [hub.mesh.addr], limits: { heartbeatMs: 2_500 } });
  await until('they are connected', () => hub.mesh.peers.length === 1);
  member = await Intruder.dial(hub.mesh.addr);
  await member.join(C);
  await until('it is a peer', () => hub.mesh.peers.length === 2);
});
after(() => {
  member.socket.terminate();
  return Promise.all([hub.mesh.stop(), friend.mesh.stop()]);
});

test('a member that signs too much is heard and passed on up to its share', async () => {
  for (let number = 0; number < 400; number++) member.send('TEST', { number }, C);
  await until('its share is used up', () => hub.faults.some(({ fault }) => fault === 'too many'));
  assert.ok(hub.heard.filter(({ sender }) => sender === C.pubkey).length <= 200);
  assert.ok(friend.heard.filter(({ sender }) => sender === C.pubkey).length <= 200);
});

test('ten thousand forged messages of a member do not hold up those of others', async () => {
  const forged = JSON.stringify(member.send('TEST', {}, B, { sig: '00'.repeat(64) }));
  for (let number = 0; number < 10_000; number++)
    member.socket.send(forged.replace('"TEST"', `"TEST_${'A'.repeat(number % 50)}"`));
  const since = Date.now();
  friend.mesh.publish('TEST', { text: 'honest' });
  await until('it is heard', () => hub.heard.some(({ data }) => data['text'] === 'honest'));
  assert.ok(Date.now() - since < 5_000, `${Date.now() - since} ms`);
});

test('a hub that answers a member over others is heard by these, however much that asks', async () => {
  const limits = { perMember: 200, heartbeatMs: 20_000 };
  const one = await startHub(A, { limits });
  // Its address leads nowhere: a second socket between the two would end the first, with what is on its way there.
  const answering = await startHub(B, { seeds: [one.mesh.addr], addr: 'ws://127.0.0.1:9', limits });
  const asking = await Intruder.dial(one.mesh.addr);
  try {
    await asking.join(C);
    await until('they are connected', () => one.mesh.peers.length === 2 && answering.mesh.peers.length === 1);
    for (let number = 0; number < 400; number++) answering.mesh.sendTo(C.pubkey, 'TEST', { number });
    answering.mesh.publish('TEST', { text: 'a vote' });
    await until('it is heard', () => one.heard.some(({ data }) => data['text'] === 'a vote'));
    const answers = () => asking.received.filter(({ data }) => data['number'] !== undefined).length;
    await until('it is answered', () => answers() > 0);
    assert.ok(answers() <= 200, `${answers()} answers`);
  } finally {
    asking.socket.terminate();
    await Promise.all([one.mesh.stop(), answering.mesh.stop()]);
  }
});

test('a member whose link is slow is not cut off by what another one has handed on to it', async () => {
  const one = await startHub(A, { limits: { heartbeatMs: 20_000 } });
  const [slow, liar] = [await Intruder.dial(one.mesh.addr), await Intruder.dial(one.mesh.addr)];
  try {
    await slow.join(B);
    await liar.join(C);
    await until('both are peers', () => one.mesh.peers.length === 2);
    slow.socket.pause();
    for (let number = 0; number < 24; number++) liar.send('TEST', { text: 'x'.repeat(1_000_000) }, C);
    await until('all are heard', () => one.heard.length === 24);
    // The longest message of a hub itself waits for who is slow.
    for (let part = 0; part < MOST_PARTS; part++) one.mesh.publish('OWN', { part, text: 'x'.repeat(700_000) });
    assert.deepEqual(one.mesh.peers, [B.pubkey, C.pubkey]);
    slow.socket.resume();
    const parts = () => slow.received.filter(({ type }) => type === 'OWN').length;
    await until('it has all of that', () => parts() === MOST_PARTS);
    assert.deepEqual(one.mesh.peers, [B.pubkey, C.pubkey]);
  } finally {
    for (const { socket } of [slow, liar]) socket.terminate();
    await one.mesh.stop();
  }
});

test('a member that sends no HEARTBEAT is cut off after three', async () => {
  assert.equal(await member.end(), '1000 silent');
  await until('the hub has closed it too', () => hub.mesh.peers.length < 2);
  assert.deepEqual(hub.mesh.peers, [B.pubkey]);
});
