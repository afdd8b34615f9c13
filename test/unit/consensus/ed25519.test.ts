import assert from 'node:assert/strict';
import { test } from 'node:test';
import nacl from 'tweetnacl';
import { isTimeSigned, signingKey, signTime } from '../../../src/consensus/auth-signature.ts';
import { isSigned } from '../../../src/consensus/ed25519.ts';
import { secondForm } from '../../support/second-signature.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

test('a signature has one form: the one with S + L is none', () => {
  const { publicKey, secretKey } = nacl.sign.keyPair();
  const message = new TextEncoder().encode('evidence');
  const sig = nacl.sign.detached(message, secretKey);
  assert.ok(nacl.sign.detached.verify(message, secondForm(sig), publicKey), 'a lenient verifier takes both');
  assert.ok(isSigned(message, hex(publicKey).toUpperCase(), hex(sig)));
  assert.ok(!isSigned(message, hex(publicKey), hex(secondForm(sig))));
  assert.ok(!isSigned(new TextEncoder().encode('other'), hex(publicKey), hex(sig)));
  for (const odd of [undefined, '', hex(sig).slice(2), `zz${hex(sig).slice(2)}`])
    assert.ok(!isSigned(message, hex(publicKey), odd));
  assert.ok(!isSigned(message, 'zz', hex(sig)));
});

test('a key made of a seed signs as another implementation does', () => {
  const seed = Buffer.alloc(32, 7);
  const other = nacl.sign.keyPair.fromSeed(seed);
  const key = signingKey(seed.toString('hex'));
  assert.equal(key.pubkey, hex(other.publicKey));
  const sig = signTime(1_700_000_000, key);
  assert.equal(sig, hex(nacl.sign.detached(Buffer.from('1700000000'), other.secretKey)));
  assert.ok(isTimeSigned(1_700_000_000, { pubkey: key.pubkey, sig }));
  assert.ok(!isTimeSigned(1_700_000_001, { pubkey: key.pubkey, sig }));
  assert.ok(!isTimeSigned(1_700_000_000, { pubkey: key.pubkey, sig: hex(secondForm(Buffer.from(sig, 'hex'))) }));
});
