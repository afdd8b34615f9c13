import assert from 'node:assert/strict';
import { test } from 'node:test';
import nacl from 'tweetnacl';
import { canonicalJson } from '../../../src/consensus/canonical-json.ts';
import { isQuorum, type PinnedValidator, signedWeight } from '../../../src/consensus/quorum.ts';
import { PlatformError } from '../../../src/errors.ts';
import fc from '../../support/fast-check.ts';

const RECORD = { chain: 'bitcoin', network: 'regtest', block_index: 50, state_root: 'aa', block_hash: null };
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const KEYS = Array.from({ length: 6 }, (_, index) => nacl.sign.keyPair.fromSeed(new Uint8Array(32).fill(index + 1)));
const sign = (key: nacl.SignKeyPair, text: string) => ({
  pubkey: hex(key.publicKey),
  sig: hex(nacl.sign.detached(Buffer.from(text), key.secretKey))
});
const TEXT = '{"block_hash":null,"block_index":50,"chain":"bitcoin","network":"regtest","state_root":"aa"}';

test('the canonical form is that of RFC 8785: its example, sorted names, ECMAScript numbers', () => {
  const example = {
    numbers: [Number('333333333.33333329'), 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
    string: '\u20ac$\u000F\u000aA\'\u0042\u0022\u005c\\"/',
    literals: [null, true, false]
  };
  assert.equal(
    canonicalJson(example),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
  );
  const names = { '\ufb33': 1, '\u{1f600}': 2, '1': 3, a: { b: [], a: {} } };
  assert.equal(canonicalJson(names), '{"1":3,"a":{"a":{},"b":[]},"\u{1f600}":2,"\ufb33":1}');
  assert.equal(canonicalJson(RECORD), TEXT);
});

test('property: the canonical form says the same, however the names are ordered', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const reversed = Object.fromEntries(Object.entries(value).reverse());
      assert.equal(canonicalJson(reversed), canonicalJson(value));
      assert.deepEqual(JSON.parse(canonicalJson(value)), JSON.parse(JSON.stringify(value)));
    })
  );
});

test('SOURCE_INVALID: a record longer than any, of which every check would read all', () => {
  const validators = [{ pubkey: hex(KEYS[0]!.publicKey), weight: 1, source: 'a' }];
  assert.throws(() => signedWeight({ ...RECORD, more: 'x'.repeat(16_384) }, [], validators), /longer than 16384 bytes/);
});

test('a value without a canonical form is refused', () => {
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, undefined, 1n, '\ud800', { a: ['\udc00'] }])
    assert.throws(() => canonicalJson(value), PlatformError);
});

test('property: a quorum is more than two thirds of the weight, each source once, whoever else signs', () => {
  const validator = fc.record({ weight: fc.integer({ min: 1, max: 9 }), source: fc.constantFrom('a', 'b', 'c', 'd') });
  fc.assert(
    fc.property(fc.array(validator, { minLength: 1, maxLength: 5 }), fc.subarray([0, 1, 2, 3, 4]), (drawn, signing) => {
      const validators: PinnedValidator[] = drawn.map((each, index) => ({
        ...each,
        pubkey: hex(KEYS[index]!.publicKey)
      }));
      const signatures = [...signing, ...signing, 5].map((index) => sign(KEYS[index]!, TEXT));
      const heaviest = (of: PinnedValidator[], source: string) =>
        Math.max(0, ...of.filter((each) => each.source === source).map(({ weight }) => weight));
      const sum = (of: PinnedValidator[]) =>
        ['a', 'b', 'c', 'd'].reduce((all, source) => all + heaviest(of, source), 0);
      const expected = {
        signed: sum(validators.filter((_, index) => signing.includes(index))),
        total: sum(validators)
      };
      const found = signedWeight(RECORD, signatures, validators);
      assert.deepEqual(found, expected);
      assert.equal(isQuorum(found), expected.signed / expected.total > 2 / 3);
    }),
    { numRuns: 15 }
  );
});

test('exactly two thirds are no quorum', () => {
  assert.equal(isQuorum({ signed: 2, total: 3 }), false);
  assert.equal(isQuorum({ signed: 67, total: 100 }), true);
  assert.equal(isQuorum({ signed: 0, total: 0 }), false);
});

test('a signature of another record, of another key, or of the wrong length counts nothing', () => {
  const [key, other] = KEYS as [nacl.SignKeyPair, nacl.SignKeyPair];
  const validators = [{ pubkey: hex(key.publicKey).toUpperCase(), weight: 1, source: 'a' }];
  const good = sign(key, TEXT);
  const counts = (record: object, signature: { pubkey: string; sig: string }) =>
    signedWeight({ ...record }, [signature], validators).signed;
  assert.equal(counts(RECORD, good), 1);
  assert.equal(counts({ ...RECORD, block_index: 51 }, good), 0);
  assert.equal(counts(RECORD, { ...good, sig: sign(other, TEXT).sig }), 0);
  for (const sig of ['', 'zz', good.sig.slice(2), `${good.sig}00`, good.sig.replace(/../g, 'zz')])
    assert.equal(counts(RECORD, { ...good, sig }), 0);
});
