import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket, { WebSocketServer } from 'ws';
import type { SigningKey } from '../../src/consensus/auth-signature.ts';
import { type Envelope, signEnvelope } from '../../src/hub/federation/gossip/envelope.ts';
import { Handshake } from '../../src/hub/federation/gossip/handshake.ts';
import {
  Intruder,
  KEYS,
  type MeshHub,
  SET,
  STRANGER,
  standingOf,
  startHub,
  until
} from '../support/federation/mesh-hub.ts';

const [A, B, C, D] = KEYS as [SigningKey, SigningKey, SigningKey, SigningKey];
let hub: MeshHub;
let friend: MeshHub;
before(async () => {
  hub = await startHub(A, { limits: { handshakeMs: 1_500, heartbeatMs: 500 } });
  friend = await startHub(B, { seeds: [hub.mesh.addr] });
  await until('they are connected', () => hub.mesh.peers.length === 1);
});
after(() => Promise.all([hub.mesh.stop(), friend.mesh.stop()]));

/** Returns a hub's answer to the first message of a socket. */
async function answerTo(send: (intruder: Intruder) => void): Promise<string> {
  const intruder = await Intruder.dial(hub.mesh.addr);
  send(intruder);
  return intruder.end();
}

test('refused at the door by name: what is no handshake of a member', async () => {
  const attacks: Record<string, [string, (intruder: Intruder) => void]> = {
    'a text': ['1008 no JSON', ({ socket }) => socket.send('hello')],
    bytes: ['1008 wrong shape', ({ socket }) => socket.send(Buffer.from('{}'))],
    'a bomb of brackets': ['1008 too deep', ({ socket }) => socket.send('['.repeat(50_000))],
    'a seventh field': ['1008 wrong shape', (one) => one.greet(C, {}, { extra: 1 } as object)],
    'a key of no member': ['1008 no member', (one) => one.greet(STRANGER)],
    'its own key': ['1000 own message', (one) => one.greet(A)],
    'a signature of another': ['1008 wrong signature', (one) => one.greet(C, {}, { sig: '00'.repeat(64) })],
    'a message of yesterday': ['1008 another time', (one) => one.greet(C, {}, { timestamp: Date.now() - 86_400_000 })],
    'another set': ['1008 another set', (one) => one.greet(C, { set: 'aa'.repeat(32) })],
    'no challenge': ['1008 no heartbeat', (one) => one.send('HEARTBEAT', standingOf(), C)],
    'another type': ['1008 no heartbeat', (one) => one.send('CONSENSUS', {}, C)],
    'an address that is none': ['1008 no heartbeat', (one) => one.greet(C, { addr: 'http://x/y' })],
    'a guessed answer': ['1008 wrong answer', (one) => one.greet(C, { answer: '00'.repeat(64) })]
  };
  for (const [what, [expected, send]] of Object.entries(attacks)) assert.equal(await answerTo(send), expected, what);
});

test('a socket that says nothing is ended, and so is one that sends much before it has proved its key', async () => {
  assert.equal(await answerTo(() => undefined), '1006');
  assert.equal(await answerTo(({ socket }) => socket.send('x'.repeat(500_000))), '1006');
});

test('the oldest socket of an address that has not greeted as a member gives its place up', async () => {
  const greeted = await Intruder.dial(hub.mesh.addr);
  greeted.greet(C);
  await until('it is answered', () => greeted.received.length > 0);
  const other = await Intruder.dial(hub.mesh.addr);
  other.greet(D);
  await until('the other one is answered', () => other.received.length > 0);
  const idle = [];
  for (let number = 0; number < 4; number++) idle.push(await Intruder.dial(hub.mesh.addr));
  assert.equal(await idle[0]!.end(), '1008 too many');
  for (const { socket } of [greeted, other, ...idle.slice(1)])
    assert.equal(socket.readyState, socket.OPEN, 'no member is put out for a stranger');
  const all = [greeted, other, ...idle];
  for (const { socket } of all) socket.terminate();
  await until('there is room', () => all.every(({ socket }) => socket.readyState === socket.CLOSED));
});

test('a member that greets by many sockets has one of them, and keeps no other member away', async () => {
  const first = await Intruder.dial(hub.mesh.addr);
  const greeting = first.greet(C);
  await until('it is answered', () => first.received.length > 0);
  const replayed = await Intruder.dial(hub.mesh.addr);
  replayed.socket.send(JSON.stringify(greeting));
  await until('the replayed one is answered', () => replayed.received.length > 0);
  assert.equal(first.socket.readyState, first.socket.OPEN, 'a replayed greeting puts nobody out');
  const more = [];
  for (let number = 0; number < 4; number++) {
    const one = await Intruder.dial(hub.mesh.addr);
    one.greet(C);
    await until('it is answered', () => one.received.length > 0);
    more.push(one);
  }
  assert.equal(await first.end(), '1008 second socket');
  const honest = await Intruder.dial(hub.mesh.addr);
  await honest.join(D);
  await until('another member is connected', () => hub.mesh.peers.includes(D.pubkey));
  const all = [first, replayed, ...more, honest];
  for (const { socket } of all) socket.terminate();
  await until('they are gone', () => hub.mesh.peers.length === 1);
});

test('connections that ask for no WebSocket are few, and each of them ends', async () => {
  const few = await startHub(D, { limits: { connections: 5, handshakeMs: 1_500, heartbeatMs: 2_500 } });
  const port = Number(new URL(few.mesh.addr).port);
  const silent = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  const isClosed = (place: number) => () => silent[place]!.destroyed;
  await until('the first ones are ended', () => [0, 1, 2].every((place) => isClosed(place)()));
  assert.ok(!isClosed(7)());
  const member = await Intruder.dial(few.mesh.addr);
  await member.join(C);
  await until('a member is connected', () => few.mesh.peers.length === 1);
  await until('the others are ended in time', () => silent.every(({ destroyed }) => destroyed));
  assert.deepEqual(few.mesh.peers, [C.pubkey]);
  member.socket.terminate();
  await few.mesh.stop();
});

test('an answer that a member gave to one hub proves nothing to another', async () => {
  // A member that lies is dialled by an honest one, and passes its words on to a third, to be taken for it there.
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const victim = await startHub(D, { seeds: [`ws://127.0.0.1:${port}`] });
  const [fromVictim] = (await once(server, 'connection')) as [WebSocket];
  const words: string[] = [];
  fromVictim.on('message', (data) => words.push(String(data)));
  const toHub = await Intruder.dial(hub.mesh.addr);
  await until('the victim speaks', () => words.length === 1);
  toHub.socket.send(words[0]!);
  await until('the hub has a challenge', () => toHub.received.length > 0);
  const challenge = toHub.received[0]!.data['challenge'];
  const handshake = new Handshake(C, SET);
  const taken = handshake.take(JSON.parse(words[0]!) as Envelope) as { readonly answer: string };
  const data = { ...standingOf(), challenge, answer: taken.answer };
  fromVictim.send(JSON.stringify(signEnvelope({ type: 'HEARTBEAT', id: 'x', timestamp: Date.now(), data }, C)));
  await until('the victim answers', () => words.length > 1);
  toHub.socket.send(words[1]!);
  assert.equal(await toHub.end(), '1008 wrong answer');
  await victim.mesh.stop();
  server.close();
});

test('a member that is dialled cannot pass all on to a third one, to stand between the two', async () => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const address = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.on('connection', (fromVictim) => {
    const toHub = new WebSocket(hub.mesh.addr);
    const opened = once(toHub, 'open');
    fromVictim.on('message', (data) => void opened.then(() => toHub.send(String(data))));
    toHub.on('message', (data) => fromVictim.send(String(data)));
    for (const socket of [fromVictim, toHub]) socket.on('error', () => undefined);
    fromVictim.on('close', () => toHub.terminate());
  });
  const victim = await startHub(D, { seeds: [address], owners: new Map([[address, C.pubkey]]) });
  await until('the victim refuses it', () => victim.faults.some(({ fault }) => fault === 'another key'));
  assert.deepEqual(victim.mesh.peers, []);
  await victim.mesh.stop();
  server.close();
});

test('a replayed handshake of a member gets an answer that nobody else can use', async () => {
  const first = await Intruder.dial(hub.mesh.addr);
  const greeting = first.greet(C);
  const second = await Intruder.dial(hub.mesh.addr);
  for (let time = 0; time < 5; time++) second.socket.send(JSON.stringify(greeting));
  assert.equal(await second.end(), '1008 too many');
  assert.deepEqual(hub.mesh.peers, [B.pubkey]);
  first.socket.terminate();
});

test('a member that brings a hundred wrong signatures is cut off and named, and others go on', async () => {
  const liar = await Intruder.dial(hub.mesh.addr);
  await liar.join(C);
  await until('it is a peer', () => hub.mesh.peers.length === 2);
  for (let number = 0; number < 120; number++) liar.send('TEST', {}, B, { sig: '00'.repeat(64) });
  assert.equal(await liar.end(), '1008 denied');
  const forged = hub.faults.filter(({ fault, peer }) => fault === 'wrong signature' && peer === C.pubkey);
  assert.equal(forged.length, 100);
  await until('another one is heard', () => {
    friend.mesh.publish('TEST', { text: 'still here' });
    return hub.heard.some(({ data }) => data['text'] === 'still here');
  });
  const again = await Intruder.dial(hub.mesh.addr);
  again.greet(C);
  assert.equal(await again.end(), '1008 denied');
});

test('a member that tells one address after the other is dialled at a few of them', async () => {
  const dialled: string[] = [];
  const target = createServer((socket) => {
    dialled.push(socket.localAddress!);
    socket.destroy();
  });
  target.listen(0, '0.0.0.0');
  await once(target, 'listening');
  const { port } = target.address() as AddressInfo;
  const hearing = await startHub(A, { limits: { reconnectMaxMs: 60_000, reconnectBaseMs: 60_000 } });
  const member = await Intruder.dial(hearing.mesh.addr);
  await member.join(C);
  for (let place = 1; place <= 30; place++) {
    member.send('HEARTBEAT', { ...standingOf(), addr: `ws://127.0.0.${place}:${port}` }, C);
    await sleep(30);
  }
  assert.deepEqual(dialled, ['127.0.0.1'], 'one other than at first');
  member.socket.terminate();
  await hearing.mesh.stop();
  target.close();
});
