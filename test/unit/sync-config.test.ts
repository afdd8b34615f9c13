import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findSyncFaults, syncVariables } from '../../src/config/sync.ts';
import { loadConfig } from '../../src/config/variables.ts';

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
