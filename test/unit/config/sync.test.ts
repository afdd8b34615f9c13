import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../../src/config/load.ts';
import { findSyncFaults, findSyncWarnings, sourcesOf, syncVariables } from '../../../src/config/services/sync.ts';
import fc from '../../support/fast-check.ts';

const CLIENT = {
  SYNC_MODE: 'client',
  HUB_API_HOST: 'hub',
  SYNC_SOURCES: 'http://sync1:3006',
  REPLICA_DB_HOST: 'db',
  REPLICA_DB_USER: 'sync'
};
const load = (env: Record<string, string>) =>
  loadConfig(syncVariables, { env: { ...CLIENT, ...env }, findFaults: findSyncFaults, prefixes: ['SYNC_'] });

for (const [variable, value] of [
  ['SYNC_BOOTSTRAP_DEPTH_BTC_MAINNET', '500'],
  ['SYNC_SUBSCRIBE_BITCOIN_MAINNET', 'infra-only']
] as const) {
  test(`CONFIG_INVALID: ${variable} with VERIFY_STATE_COMMITMENT, which it cannot satisfy; off, it is taken`, () => {
    assert.throws(() => load({ [variable]: value }), {
      code: 'CONFIG_INVALID',
      message: new RegExp(`^${variable} needs VERIFY_STATE_COMMITMENT=false: `)
    });
    assert.deepEqual(load({ [variable]: value, VERIFY_STATE_COMMITMENT: 'false' }).warnings, []);
  });
}

test('a subscription to everything needs nothing else', () => {
  assert.deepEqual(load({ SYNC_SUBSCRIBE_BTC_MAINNET: 'full' }).warnings, []);
});

const SOURCES = { SYNC_SOURCES: 'http://a,http://b,http://c', SYNC_API_KEY: 'shared' };
const sent = (env: Record<string, string>, file: Record<string, unknown> = {}) =>
  sourcesOf(loadConfig(syncVariables, { env: { ...CLIENT, ...SOURCES, ...env }, file }).values).map(
    ({ apiKey }) => apiKey
  );

test('each source gets the key of its own place, and no other; an empty place is no key', () => {
  assert.deepEqual(sent({}), ['shared', 'shared', 'shared']);
  assert.deepEqual(sent({ SYNC_SOURCE_API_KEYS: 'key-of-a,,key-of-c' }), ['key-of-a', undefined, 'key-of-c']);
  assert.deepEqual(sent({ SYNC_SOURCE_API_KEYS: ' , key-of-b ,' }), [undefined, 'key-of-b', undefined]);
  const file = { SYNC_SOURCE_API_KEYS: ['key-of-a', null, ''] };
  assert.deepEqual(sent({}, file), ['key-of-a', undefined, undefined]);
  const twice = { SYNC_SOURCES: 'http://a,http://a,http://b', SYNC_SOURCE_API_KEYS: 'one,two,three' };
  assert.deepEqual(sent(twice), ['one', 'three']);
});

test('property: a source is never sent the key of another, nor two keys, nor the own key beside keys of their own', () => {
  const key = fc.stringMatching(/^[!-+\--~]{1,12}$/);
  const places = fc.array(fc.option(key, { nil: '' }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(places, fc.array(key, { minLength: 1, maxLength: 3 }), (keys, own) => {
      const env = {
        SYNC_SOURCES: keys.map((_, index) => `http://sync${index}`).join(','),
        SYNC_API_KEY: own.join(','),
        SYNC_SOURCE_API_KEYS: keys.join(',')
      };
      if (keys.length > 1 || keys[0] !== '')
        assert.deepEqual(
          sent(env),
          keys.map((place) => place || undefined)
        );
      assert.deepEqual(
        sent({ ...env, SYNC_SOURCE_API_KEYS: '' }),
        keys.map(() => own[0])
      );
    })
  );
});

test('CONFIG_INVALID: a list of keys that is shorter or longer than that of the sources', () => {
  for (const keys of ['key-of-a', 'key-of-a,key-of-b', 'a,b,c,d'])
    assert.throws(() => load({ ...SOURCES, SYNC_SOURCE_API_KEYS: keys }), {
      code: 'CONFIG_INVALID',
      message: /^SYNC_SOURCE_API_KEYS has \d places for the 3 SYNC_SOURCES: one for each/
    });
  assert.ok(load({ ...SOURCES, SYNC_SOURCE_API_KEYS: 'a,,' }));
});

test('CONFIG_INVALID: a key that no header carries, no key at all, and one for readers and operators alike', () => {
  for (const [variable, value] of [
    ['SYNC_API_KEY', 'two words'],
    ['SYNC_API_KEY', ' , '],
    ['SYNC_OPERATOR_KEY', 'schlüssel'],
    ['SYNC_SOURCE_API_KEYS', 'a\u007f']
  ] as const)
    assert.throws(() => load({ [variable]: value }), {
      code: 'CONFIG_INVALID',
      message: new RegExp(`^${variable}=\\[secret\\] must be `)
    });
  assert.throws(() => load({ SYNC_API_KEY: 'old,same', SYNC_OPERATOR_KEY: 'same' }), {
    code: 'CONFIG_INVALID',
    message: /^SYNC_OPERATOR_KEY=\[secret\] must differ from SYNC_API_KEY/
  });
});

test('a key that reads and operates is warned about, the more so when sources get it', () => {
  const warnings = (env: Record<string, string>) => findSyncWarnings(load(env).values).join();
  assert.match(warnings({ SYNC_API_KEY: 'k' }), /SYNC_OPERATOR_KEY is not set.*the client sends it to every source/);
  assert.match(warnings({ SYNC_API_KEY: 'k', SYNC_SOURCE_API_KEYS: 'a' }), /SYNC_OPERATOR_KEY is not set.*end actors$/);
  assert.equal(warnings({ SYNC_API_KEY: 'k', SYNC_OPERATOR_KEY: 'o' }), '');
  assert.equal(warnings({}), '');
});
