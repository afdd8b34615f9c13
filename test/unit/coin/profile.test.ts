import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ACTIONS, findAction } from '../../../src/coin/action/names.ts';
import { CHAIN_NETWORKS, chainNetwork } from '../../../src/coin/chains.ts';
import {
  activationHeight,
  DEFAULT_PROFILE,
  envelopeHeight,
  FEATURES,
  GAS_ITEMS,
  readProfile
} from '../../../src/coin/profile.ts';
import fc from '../../support/fast-check.ts';

const BITCOIN = chainNetwork('bitcoin', 'mainnet');
const RLTC = chainNetwork('litecoin', 'regtest');

test('the default profile asks no fee, names no role, and activates known actions alone', () => {
  assert.deepEqual(readProfile({ name: 'default' }), DEFAULT_PROFILE);
  assert.ok(GAS_ITEMS.every((item) => DEFAULT_PROFILE.gas[item] === 0));
  assert.deepEqual(DEFAULT_PROFILE.roles, {});
  const known = new Set<string>([...ACTIONS, ...FEATURES]);
  for (const name of Object.keys(DEFAULT_PROFILE.activations)) assert.ok(known.has(name), name);
  assert.equal(activationHeight(DEFAULT_PROFILE, BITCOIN, 'SEND'), 0);
  for (const later of ['ATTEST', 'PRICE', 'SLASH', 'VOTE'])
    assert.deepEqual(
      [BITCOIN, RLTC].map((network) => activationHeight(DEFAULT_PROFILE, network, later)),
      [Number.POSITIVE_INFINITY, 0]
    );
  assert.equal(activationHeight(DEFAULT_PROFILE, BITCOIN, 'DEPLOY'), Number.POSITIVE_INFINITY);
  assert.equal(activationHeight(DEFAULT_PROFILE, BITCOIN, 'TAPROOT_ENVELOPE'), Number.POSITIVE_INFINITY);
  assert.equal(activationHeight(DEFAULT_PROFILE, BITCOIN, 'REVEAL_KEY_CHECK'), 0, 'who only pays signs nothing');
  assert.equal(activationHeight(DEFAULT_PROFILE, BITCOIN, 'SIGNATURE_CHECK'), 0, 'nor who signs a part');
  assert.equal(activationHeight(DEFAULT_PROFILE, BITCOIN, 'constructor'), Number.POSITIVE_INFINITY);
});

test('envelopes begin with taproot at the earliest, and never on a chain without it', () => {
  const early = readProfile({ name: 'early', activations: { TAPROOT_ENVELOPE: 5 } });
  const heights = [BITCOIN, RLTC, chainNetwork('dogecoin', 'regtest')].map((network) => envelopeHeight(early, network));
  assert.deepEqual(heights, [709_632, 5, Number.POSITIVE_INFINITY]);
  assert.equal(envelopeHeight(DEFAULT_PROFILE, BITCOIN), Number.POSITIVE_INFINITY);
});

test('a profile replaces what it names; its networks may be spelled in any way', () => {
  const profile = readProfile({
    name: 'own',
    payloadMagic: 'ABCD',
    gas: { issue: 100_000 },
    roles: { BTC: { BURN: '1BitcoinEaterAddressDontSendf59kuE' } },
    activations: { ORDER: { 'BTC:mainnet': 960_000, RLTC: 0 }, MINT: null, SEND: 7, TAPROOT_ENVELOPE: 1 }
  });
  assert.equal(profile.payloadMagic, 'ABCD');
  assert.equal(profile.gasTick, DEFAULT_PROFILE.gasTick);
  assert.deepEqual([profile.gas.issue, profile.gas.recipient], [100_000, 0]);
  assert.deepEqual(profile.roles, { [BITCOIN.name]: { BURN: '1BitcoinEaterAddressDontSendf59kuE' } });
  const heights = [BITCOIN, RLTC, chainNetwork('dogecoin', 'mainnet')].map((network) =>
    ['ORDER', 'MINT', 'SEND', 'ISSUE'].map((action) => activationHeight(profile, network, action))
  );
  const never = Number.POSITIVE_INFINITY;
  assert.deepEqual(heights, [
    [960_000, never, 7, 0],
    [0, never, 7, 0],
    [never, never, 7, 0]
  ]);
  assert.deepEqual(structuredClone(profile), profile, 'it goes to threads');
});

test('a role may be named in another spelling of its address', () => {
  const roles = { LTC: { BURN: '3P14159f73E4gFr7JterCCQh9QjiTjiZrG', GAS: 'not an address' } };
  const profile = readProfile({ name: 'own', roles });
  assert.deepEqual(profile.roles, {
    'litecoin-mainnet': { BURN: 'MVDCJxZd4A5VUm81QmeC1qf6U7LASsr7LT', GAS: 'not an address' }
  });
});

test('a profile that is wrong is refused with the place', () => {
  const wrong: readonly [value: unknown, message: RegExp][] = [
    [[], /^must be a profile; it /],
    [{}, /^must be a profile; it .*name/],
    [{ name: 'x', payloadMagic: 'ABC' }, /\/payloadMagic/],
    [{ name: 'x', gasPrice: '1e3' }, /\/gasPrice/],
    [{ name: 'x', gas: { isue: 1 } }, /^must be a profile; \/gas\/isue is not known$/],
    [{ name: 'x', gas: { issue: -1 } }, /\/gas\/issue/],
    [{ name: 'x', roles: { BTC: { BRUN: 'a' } } }, /\/roles\/BTC/],
    [{ name: 'x', roles: { 'BTC:signet': {} } }, /\/roles\/BTC:signet must be one of bitcoin-mainnet/],
    [{ name: 'x', stakeDelays: { BTC: 0 } }, /\/stakeDelays\/BTC/],
    [{ name: 'x', activations: { SENT: 0 } }, /\/activations\/SENT is no action/],
    [{ name: 'x', activations: { SEND: -1 } }, /\/activations\/SEND/],
    [{ name: 'x', activations: { SEND: { moon: 1 } } }, /\/activations\/SEND\/moon must be one of/],
    [{ name: 'x', activation: {} }, /^must be a profile; \/activation is not known$/]
  ];
  for (const [value, message] of wrong) assert.throws(() => readProfile(value), { message }, JSON.stringify(value));
});

test('property: an activation height is read back as it was written', () => {
  const height = fc.option(fc.nat(), { nil: null });
  const names = fc.constantFrom(...ACTIONS, ...FEATURES);
  fc.assert(
    fc.property(names, fc.constantFrom(...CHAIN_NETWORKS), height, height, (action, network, here, everywhere) => {
      const own = readProfile({ name: 'x', activations: { [action]: { [network.code]: here } } });
      assert.equal(activationHeight(own, network, action), here ?? Number.POSITIVE_INFINITY);
      const all = readProfile({ name: 'x', activations: { [action]: everywhere } });
      assert.equal(activationHeight(all, network, action), everywhere ?? Number.POSITIVE_INFINITY);
    })
  );
});

test('an action is known by name and alias, in any case', () => {
  assert.deepEqual([' send ', 'Transfer', 'DROP', 'nothing', 'toString'].map(findAction), [
    'SEND',
    'SEND',
    'AIRDROP',
    undefined,
    undefined
  ]);
});
