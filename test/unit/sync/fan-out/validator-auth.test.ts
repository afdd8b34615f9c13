import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { test } from 'node:test';
import { isTimeSigned, signingKey, signTime } from '../../../../src/consensus/auth-signature.ts';
import { ValidatorAuth } from '../../../../src/sync/fan-out/validator-auth.ts';
import type { AuthMessage } from '../../../../src/wire/validator.ts';
import fc from '../../../support/fast-check.ts';

const NOW_S = 1_700_000_000;
const KEY = signingKey('11'.repeat(32));
const OTHER = signingKey('22'.repeat(32));

const message = (ts: number, key = KEY, changes: Partial<AuthMessage> = {}): AuthMessage => ({
  type: 'auth',
  pubkey: key.pubkey,
  sig: signTime(ts, key),
  ts,
  ...changes
});

test('RFC 8032: key and signature are those of another implementation', () => {
  // The key of section 7.1, TEST 1.
  const seed = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60';
  const key = signingKey(seed);
  assert.equal(key.pubkey, 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a');
  const pkcs8 = Buffer.from(`302e020100300506032b657004220420${seed}`, 'hex');
  const otherKey = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
  assert.equal(signTime(NOW_S, key), sign(null, Buffer.from('1700000000'), otherKey).toString('hex'));
  assert.ok(createPublicKey(otherKey));
});

test('a signature holds for its time and key alone', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), (ts, otherTs) => {
      const sig = signTime(ts, KEY);
      assert.equal(isTimeSigned(ts, { pubkey: KEY.pubkey, sig }), true);
      assert.equal(isTimeSigned(otherTs, { pubkey: KEY.pubkey, sig }), ts === otherTs);
      assert.equal(isTimeSigned(ts, { pubkey: OTHER.pubkey, sig }), false);
    }),
    { numRuns: 15 }
  );
});

test('accepted within 300 s of the clock, either way, and each (pubkey, ts) once', () => {
  const auth = new ValidatorAuth(undefined);
  const identify = (ts: number, key = KEY) => auth.identify(message(ts, key), NOW_S * 1000);
  assert.equal(identify(NOW_S - 300), KEY.pubkey);
  assert.equal(identify(NOW_S + 300), KEY.pubkey);
  assert.equal(identify(NOW_S - 301), null);
  assert.equal(identify(NOW_S + 301), null);
  assert.equal(identify(NOW_S), KEY.pubkey);
  assert.equal(identify(NOW_S), null, 'a second time');
  assert.equal(identify(NOW_S, OTHER), OTHER.pubkey);
  const upper = message(NOW_S, KEY, { pubkey: KEY.pubkey.toUpperCase() });
  assert.equal(auth.identify(upper, NOW_S * 1000), null, 'the same key spelled otherwise');
});

test('a signature that names its server holds at that one alone, and its key is not believed without a name from then on', () => {
  const [here, elsewhere] = [new ValidatorAuth(undefined), new ValidatorAuth(undefined)];
  const bound = (ts: number, server: string) => ({ ...message(ts), sig: signTime(ts, KEY, server), server });
  const at = (auth: ValidatorAuth, what: AuthMessage, hosts = ['a.example']) =>
    auth.identify(what, NOW_S * 1000, hosts);
  assert.equal(at(here, bound(NOW_S, 'a.example')), KEY.pubkey);
  assert.equal(at(here, bound(NOW_S, 'a.example')), null, 'a second time');
  assert.equal(at(elsewhere, bound(NOW_S, 'a.example'), ['b.example']), null, 'at another server');
  assert.equal(at(elsewhere, { ...bound(NOW_S, 'a.example'), server: 'b.example' }, ['b.example']), null, 'renamed');
  const { server: _, ...nameless } = bound(NOW_S, 'a.example');
  assert.equal(at(elsewhere, nameless), null, 'its name taken away');
  assert.equal(at(elsewhere, message(NOW_S)), KEY.pubkey, 'others send the plain form');
  assert.equal(at(here, message(NOW_S + 1)), null, 'which may be another server’s to repeat');
  assert.equal(at(here, message(NOW_S, OTHER)), OTHER.pubkey);
  assert.equal(at(here, bound(NOW_S + 2, 'A.example')), KEY.pubkey, 'names have no case');
});

test('a time ahead of the clock stays remembered for as long as it would be accepted', () => {
  const auth = new ValidatorAuth(undefined);
  const ahead = message(NOW_S + 300);
  assert.equal(auth.identify(ahead, NOW_S * 1000), KEY.pubkey);
  for (const later of [1, 299, 599, 600, 601]) assert.equal(auth.identify(ahead, (NOW_S + later) * 1000), null);
});

test('an invalid signature is no use of its time; VALIDATOR_PUBKEYS admits its keys alone', () => {
  const auth = new ValidatorAuth([KEY.pubkey]);
  const forged = message(NOW_S, KEY, { sig: signTime(NOW_S, OTHER) });
  assert.equal(auth.identify(forged, NOW_S * 1000), null);
  assert.equal(auth.identify(message(NOW_S), NOW_S * 1000), KEY.pubkey);
  assert.equal(auth.identify(message(NOW_S, OTHER), NOW_S * 1000), null);
});

test('an address that fills the list of signatures keeps no validator of another address out', () => {
  const auth = new ValidatorAuth(undefined, 3);
  const identify = (ts: number, address: string, key = OTHER) =>
    auth.identify(message(ts, key), NOW_S * 1000, [], address);
  for (const ts of [1, 2, 3]) assert.equal(identify(NOW_S + ts, '192.0.2.1'), OTHER.pubkey);
  assert.equal(identify(NOW_S + 4, '192.0.2.1'), null, 'full');
  assert.equal(identify(NOW_S, '198.51.100.1', KEY), KEY.pubkey);
  assert.equal(identify(NOW_S, '198.51.100.1', KEY), null, 'it is remembered');
});
