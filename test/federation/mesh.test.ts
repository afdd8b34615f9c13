import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SigningKey } from '../../src/consensus/auth-signature.ts';
import { isGenuine } from '../../src/hub/federation/gossip/envelope.ts';
import { MESH_LIMITS } from '../../src/hub/federation/gossip/options.ts';
import { Intruder, KEYS, type MeshHub, standingOf, startHub, until } from '../support/federation/mesh-hub.ts';

const started: MeshHub[] = [];
const start = async (...given: Parameters<typeof startHub>): Promise<MeshHub> => {
  const hub = await startHub(...given);
  started.push(hub);
  return hub;
};
after(() => Promise.all(started.map(({ mesh }) => mesh.stop())));

const [A, B, C, D] = KEYS as [SigningKey, SigningKey, SigningKey, SigningKey];
/** Each message comes by several ways, and two hubs that dial each other at once close one of the two sockets. */
const USUAL = ['seen before', 'own key'];
const textsOf = ({ heard }: MeshHub) => heard.map(({ data }) => data['text']);

test('four hubs that know one of them find each other, and each message reaches all once', async () => {
  const first = await start(A);
  const hubs = [first];
  for (const key of [B, C, D]) hubs.push(await start(key, { seeds: [first.mesh.addr] }));
  await until('each sees three', () => hubs.every(({ mesh }) => mesh.peers.length === 3));
  for (const hub of hubs) hub.mesh.publish('TEST', { text: hub.key.pubkey });
  await until('all have heard three', () => hubs.every(({ heard }) => heard.length >= 3));
  await sleep(200);
  for (const hub of hubs)
    assert.deepEqual(
      textsOf(hub).toSorted(),
      hubs.filter((other) => other !== hub).map(({ key }) => key.pubkey)
    );
  assert.deepEqual(
    hubs.flatMap(({ faults }) => faults.filter(({ fault }) => !USUAL.includes(fault))),
    []
  );
});

test('a message reaches a hub by another one, and one to a single hub goes to no third', async () => {
  const middle = await start(B);
  const [left, right, other] = [
    await start(A, { seeds: [middle.mesh.addr], denied: new Set([C.pubkey, D.pubkey]) }),
    await start(C, { seeds: [middle.mesh.addr], denied: new Set([A.pubkey, D.pubkey]) }),
    await start(D, { seeds: [middle.mesh.addr], denied: new Set([A.pubkey, C.pubkey]) })
  ];
  await until('the middle sees three', () => middle.mesh.peers.length === 3);
  left.mesh.publish('TEST', { text: 'for all' });
  left.mesh.sendTo(C.pubkey, 'TEST', { text: 'for one' });
  await until('it is there', () => right.heard.length === 2);
  await sleep(200);
  assert.deepEqual([left, middle, right, other].map(textsOf), [[], ['for all'], ['for all', 'for one'], ['for all']]);
  assert.deepEqual(left.mesh.peers, [B.pubkey]);
});

test('a hub whose key another process has finds that others close its sockets again and again', async () => {
  const others = [await start(B), await start(C)];
  const seeds = others.map(({ mesh }) => mesh.addr);
  const two = [await start(A, { seeds }), await start(A, { seeds })];
  const closesOf = ({ faults }: MeshHub, { pubkey }: SigningKey) =>
    faults.filter(({ fault, peer }) => fault === 'own key' && peer === pubkey).length;
  await until('one of the two knows', () => two.some((hub) => [B, C].every((key) => closesOf(hub, key) >= 2)));
});

test('two hubs that dial each other keep one socket, and dial again when it is lost', async () => {
  const one = await start(A);
  const other = await start(B, { seeds: [one.mesh.addr] });
  await until('they are connected', () => one.mesh.peers.length + other.mesh.peers.length === 2);
  const port = Number(new URL(other.mesh.addr).port);
  await other.mesh.stop();
  await until('it is noticed', () => one.mesh.peers.length === 0);
  const again = await start(B, { port, limits: { reconnectBaseMs: 60_000 } });
  await until('it is dialled at the address that it told', () => again.mesh.peers.length === 1);
});

test('hubs of two sets do not talk', async () => {
  const one = await start(A);
  const other = await start(B, { seeds: [one.mesh.addr], set: 'aa'.repeat(32) });
  await until('it is said', () => one.faults.length > 0);
  assert.equal(one.faults[0]!.fault, 'another set');
  assert.deepEqual([one.mesh.peers, other.mesh.peers], [[], []]);
});

test('a HEARTBEAT goes out every 15 seconds, signed, with how far the hub is', async () => {
  assert.equal(MESH_LIMITS.heartbeatMs, 15_000);
  const heartbeatMs = 300;
  const hub = await start(A, { limits: { heartbeatMs }, standing: () => ({ view: 2, seq: 7 }) });
  const peer = await Intruder.dial(hub.mesh.addr);
  await peer.join(B);
  await until('they are peers', () => hub.mesh.peers.length === 1);
  const first = peer.received.length;
  // A hub that says nothing itself is cut off after three.
  const speaking = setInterval(() => peer.send('HEARTBEAT', standingOf(), B), heartbeatMs / 3);
  await until('two have come', () => peer.received.length >= first + 2);
  clearInterval(speaking);
  peer.socket.terminate();
  const beats = peer.received.slice(first);
  for (const [at, beat] of beats.entries()) {
    assert.deepEqual([beat.type, beat.sender, isGenuine(beat)], ['HEARTBEAT', A.pubkey, true]);
    assert.deepEqual([beat.data['view'], beat.data['seq']], [2, 7]);
    if (at > 0) assert.ok(beat.timestamp >= beats[at - 1]!.timestamp + heartbeatMs / 2, 'they are not sent at once');
  }
});
