import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { signingKey } from '../../src/consensus/auth-signature.ts';
import { type Envelope, isGenuine, readEnvelope, signEnvelope } from '../../src/hub/federation/gossip/envelope.ts';
import { Intruder, KEYS, startHub, until } from '../support/federation/mesh-hub.ts';

const PROGRAM = new URL('./verify_envelopes.py', import.meta.url).pathname;
const SIGNED = signEnvelope(
  { type: 'HEARTBEAT', id: 'a1', timestamp: 1_700_000_000_000, data: { b: [1, 'é', null], a: { z: true } } },
  signingKey('07'.repeat(32))
);

test('a verifier in another language takes what is signed here, and nothing else', () => {
  const vectors = readFileSync(new URL('./vectors/envelopes.json', import.meta.url), 'utf8');
  const forged = { ...SIGNED, data: { ...SIGNED.data, b: [2] } };
  const input = JSON.stringify([...(JSON.parse(vectors) as unknown[]), SIGNED, forged]);
  const { stdout, stderr } = spawnSync('python3', [PROGRAM], { input, encoding: 'utf8' });
  const here = (JSON.parse(input) as Envelope[]).map((each) => {
    const read = readEnvelope(JSON.stringify(each));
    return typeof read !== 'string' && isGenuine(read);
  });
  assert.deepEqual(JSON.parse(stdout || 'null'), here, stderr);
  assert.deepEqual(here, [true, true, true, false, true, false]);
});

test('an envelope signed in another language is genuine here, and the same to the byte', () => {
  const seed = '07'.repeat(32);
  const data: Record<string, unknown>[] = [
    {},
    SIGNED.data,
    { é: '😀', '\ue000': 1, 'a"b\\\n\u0001': [true, false, null, 1e15, 0.5, -1] },
    {
      set: '5e'.repeat(32),
      messages: [{ sender: 'a', message: { kind: 'prepare', view: 0, seq: 2 ** 53 - 1 }, sig: '' }]
    }
  ];
  const unsigned = data.map((each, at) => ({
    type: 'TEST',
    id: `~${at}`,
    timestamp: 1_700_000_000_000 + at,
    data: each
  }));
  const input = JSON.stringify(unsigned.map((each) => ({ ...each, seed })));
  const { stdout, stderr } = spawnSync('python3', [PROGRAM, 'sign'], { input, encoding: 'utf8' });
  const referenceEnvelopes = JSON.parse(stdout || 'null') as Envelope[];
  const ownEnvelopes = unsigned.map((each) => signEnvelope(each, signingKey(seed)));
  assert.deepEqual(
    referenceEnvelopes?.map(({ sig }) => sig),
    ownEnvelopes.map(({ sig }) => sig),
    stderr
  );
  for (const each of referenceEnvelopes) {
    const read = readEnvelope(JSON.stringify(each));
    assert.ok(typeof read !== 'string' && isGenuine(read), each.id);
  }
});

test('envelopes that a hub sends over its socket are verified in another language', async () => {
  const hub = await startHub(KEYS[0]!);
  const peer = await Intruder.dial(hub.mesh.addr);
  await peer.join(KEYS[1]!);
  await until('it is a peer', () => hub.mesh.peers.length === 1);
  hub.mesh.publish('TEST', { text: 'é', list: [1, { b: 2, a: null }] });
  await until('it is heard', () => peer.received.some(({ type }) => type === 'TEST'));
  const { stdout, stderr } = spawnSync('python3', [PROGRAM], {
    input: JSON.stringify(peer.received),
    encoding: 'utf8'
  });
  assert.deepEqual(
    JSON.parse(stdout || 'null'),
    peer.received.map(() => true),
    stderr
  );
  peer.socket.terminate();
  await hub.mesh.stop();
});
