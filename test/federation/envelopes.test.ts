import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { signingKey } from '../../src/consensus/auth-signature.ts';
import { type Envelope, isGenuine, readEnvelope, signEnvelope } from '../../src/hub/federation/gossip/envelope.ts';

const SIGNED = signEnvelope(
  { type: 'HEARTBEAT', id: 'a1', timestamp: 1_700_000_000_000, data: { b: [1, 'é', null], a: { z: true } } },
  signingKey('07'.repeat(32))
);

test('a verifier in another language takes what is signed here, and nothing else', () => {
  const vectors = readFileSync(new URL('./vectors/envelopes.json', import.meta.url), 'utf8');
  const forged = { ...SIGNED, data: { ...SIGNED.data, b: [2] } };
  const input = JSON.stringify([...(JSON.parse(vectors) as unknown[]), SIGNED, forged]);
  const program = new URL('./verify_envelopes.py', import.meta.url).pathname;
  const { stdout, stderr } = spawnSync('python3', [program], { input, encoding: 'utf8' });
  const here = (JSON.parse(input) as Envelope[]).map((each) => {
    const read = readEnvelope(JSON.stringify(each));
    return typeof read !== 'string' && isGenuine(read);
  });
  assert.deepEqual(JSON.parse(stdout || 'null'), here, stderr);
  assert.deepEqual(here, [true, true, true, false, true, false]);
});
