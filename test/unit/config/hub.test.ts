import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hubsOf } from '../../../src/config/hub-client.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { decoderVariables } from '../../../src/config/services/decoder.ts';
import { hubVariables, unusedOf } from '../../../src/config/services/hub.ts';

const DATABASE = {
  ...{ HUB_DB_HOST: '127.0.0.1', HUB_DB_PORT: '3306', HUB_DB_NAME: 'Platform_Hub' },
  ...{ HUB_DB_USER: 'hub', HUB_DB_PASS: 'hub' }
};

test('defaults of a hub are as specified', () => {
  const { values } = loadConfig(hubVariables, { env: DATABASE });
  assert.deepEqual([values.HUB_HOST, values.HUB_PORT, values.HUB_RATE_LIMIT_RPM], ['0.0.0.0', 10_000, 100]);
  assert.deepEqual([values.GOV_VOTING_PERIOD, values.PRICE_FETCH_TIMEOUT], [7 * 86_400_000, 10_000]);
  assert.deepEqual([values.TELEMETRY_ENABLED, values.TELEMETRY_RETENTION_DAYS], [true, 90]);
  assert.equal(values.WS_BACKPRESSURE_LIMIT, 50);
});

test("its database's address and account must be set", () => {
  for (const name of Object.keys(DATABASE)) {
    const { [name]: _, ...env } = DATABASE as Record<string, string>;
    assert.throws(() => loadConfig(hubVariables, { env }), { message: new RegExp(`variable ${name}:`) }, name);
  }
});

test('hubs are those of HUB_VALIDATORS in their order, else HUB_API_HOST at HUB_PORT', () => {
  const hubs = (env: Record<string, string>) => {
    const required = {
      NETWORK: 'RLTC',
      NODE_USER: 'u',
      NODE_PASSWORD: 'p',
      DECODER_DB_HOST: 'h',
      DECODER_DB_NAME: 'd'
    };
    const account = { DECODER_DB_USER: 'u', DECODER_DB_PASS: 'p' };
    return hubsOf(loadConfig(decoderVariables, { env: { ...required, ...account, ...env } }).values);
  };
  const [b, a] = [
    { host: 'b', port: 2 },
    { host: 'a', port: 1 }
  ];
  assert.deepEqual(hubs({ HUB_VALIDATORS: 'b:2, a:1', HUB_API_HOST: 'c' }), [b, a]);
  assert.deepEqual(hubs({ HUB_API_HOST: 'c' }), [{ host: 'c', port: 10_000 }]);
  assert.deepEqual(hubs({ HUB_API_HOST: 'c', HUB_PORT: '7' }), [{ host: 'c', port: 7 }]);
  assert.deepEqual(hubs({}), []);
  for (const HUB_VALIDATORS of ['a', 'a:70000', 'http://a:1', 'a:1;b:2'])
    assert.throws(() => hubs({ HUB_VALIDATORS }), { message: /HUB_VALIDATORS=.* must be host:port entries/ });
});

test('CONFIG_INVALID: what only validator mode uses is checked all the same, and what is set in vain is named', () => {
  const wrong = {
    SIGNING_PRIVKEY_HEX: 'zz',
    P2P_PORT: '70000',
    SEED_NODES: 'a:1,b',
    ORACLE_EPOCH_START: 'soon',
    ORACLE_MIN_SUBMISSIONS: '0',
    P2P_RECONNECT_BASE: '-1',
    P2P_RECONNECT_MAX: '1e5'
  };
  for (const [name, value] of Object.entries(wrong))
    assert.throws(() => loadConfig(hubVariables, { env: { ...DATABASE, [name]: value } }), {
      message: new RegExp(name)
    });
  const seed = 'ab'.repeat(32);
  const { values } = loadConfig(hubVariables, {
    env: { ...DATABASE, SIGNING_PRIVKEY_HEX: seed, SEED_NODES: 'a:1, b:2' }
  });
  assert.deepEqual(unusedOf(values), ['SIGNING_PRIVKEY_HEX', 'SEED_NODES']);
  const near = {
    SIGNING_PRIVKEY_HEXX: seed,
    GOV_VOTING_PERIODS: '1',
    TELEMETRY_RETENTION_DAY: '1',
    ORACLE_MIN_SOURCE: '1'
  };
  const { warnings } = loadConfig(hubVariables, { env: { ...DATABASE, ...near }, prefixes: ['HUB_'] });
  assert.equal(warnings.length, Object.keys(near).length, warnings.join('\n'));
});
