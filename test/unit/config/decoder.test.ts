import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../../src/config/load.ts';
import { nodeRpcOf } from '../../../src/config/node.ts';
import { decoderChecks, decoderVariables } from '../../../src/config/services/decoder.ts';

const ENV = {
  NETWORK: 'litecoin-regtest',
  NODE_USER: 'u',
  NODE_PASSWORD: 'p',
  DECODER_DB_HOST: '127.0.0.1',
  DECODER_DB_NAME: 'Platform_LTC_Regtest_Decoder',
  DECODER_DB_USER: 'd',
  DECODER_DB_PASS: 'd'
};
const load = (env: Record<string, string>) =>
  loadConfig(decoderVariables, { env: { ...ENV, ...env }, ...decoderChecks }).values;

test('NODE_URL is a host or a URL; the port is NODE_PORT, else its own, else the usual one of the network', () => {
  assert.equal(nodeRpcOf(load({})).url, 'http://127.0.0.1:19443');
  assert.equal(nodeRpcOf(load({ NODE_URL: 'node.local' })).url, 'http://node.local:19443');
  assert.equal(nodeRpcOf(load({ NODE_URL: 'http://node.local:1234/' })).url, 'http://node.local:1234');
  assert.equal(nodeRpcOf(load({ NODE_URL: 'https://node.local', NODE_PORT: '9' })).url, 'https://node.local:9');
  assert.equal(nodeRpcOf(load({ NODE_URL: 'http://node.local:80' })).url, 'http://node.local');
  assert.equal(nodeRpcOf(load({ NODE_URL: 'https://[::1]:443' })).url, 'https://[::1]');
  assert.equal(nodeRpcOf(load({ NODE_URL: '[::1]' })).url, 'http://[::1]:19443');
});

test('CONFIG_INVALID: an account or a path in NODE_URL is refused by name, and no password is shown', () => {
  for (const [NODE_URL, reason] of [
    ['http://me:secret@node.local', /must hold no account: set NODE_USER and NODE_PASSWORD/],
    ['me:secret@node.local', /must hold no account/],
    ['http://node.local/wallet/mine', /must hold no path/],
    ['http://node.local:80?x=secret', /must hold no path/]
  ] as const)
    assert.throws(() => load({ NODE_URL }), { message: reason }, NODE_URL);
  for (const NODE_URL of ['http://me:secret@node.local', 'me:secret@node.local'])
    assert.throws(
      () => load({ NODE_URL }),
      ({ message }: Error) => message.includes('********@node.local') && !message.includes('secret')
    );
});

test('CONFIG_INVALID: wrong values are refused together, with an example each', () => {
  assert.throws(
    () => load({ NETWORK: 'litecoin-signet', PAYLOAD_MAGIC: 'ab', NODE_URL: 'http://[' }),
    (caught: Error) => {
      for (const part of [
        /NETWORK="litecoin-signet" must be one of bitcoin-mainnet \(BTC\), /,
        /PAYLOAD_MAGIC="ab" must be 4/,
        /NODE_URL=/
      ]) {
        assert.match(caught.message, part);
      }
      return true;
    }
  );
  assert.throws(() => load({ NETWORK: 'dogecoin-mainnet' }), { message: /AUX_POW/ });
  assert.throws(() => load({ NETWORK: 'dogecoin-mainnet', AUX_POW: 'No' }), { message: /AUX_POW/ });
  for (const AUX_POW of ['1', 'TRUE', 'please']) assert.ok(load({ NETWORK: 'dogecoin-mainnet', AUX_POW }));
});

test('user and password of the node are required', () => {
  for (const name of ['NODE_USER', 'NODE_PASSWORD'] as const) {
    const { [name]: _, ...env } = ENV;
    assert.throws(() => loadConfig(decoderVariables, { env, ...decoderChecks }), { message: new RegExp(name) });
  }
});

test('defaults are as specified', () => {
  const values = load({});
  assert.deepEqual(
    [values.DECODER_API_PORT, values.DECODER_POLL_INTERVAL, values.DECODER_RATE_LIMIT_RPM],
    [3002, 1_000, 100]
  );
  assert.deepEqual([values.NODE_RPC_TIMEOUT, values.DB_QUERY_TIMEOUT], [30_000, 30_000]);
  assert.deepEqual([values.DECODER_STALL_ALERT_MS, values.DECODER_STALL_FETCH_ATTEMPTS], [900_000, 20]);
});

test('NETWORK is taken in every spelling, and is litecoin-regtest afterwards', () => {
  for (const NETWORK of ['litecoin-regtest', 'LTC:regtest', 'LTC_Regtest', 'RLTC'])
    assert.equal(load({ NETWORK }).NETWORK, 'litecoin-regtest');
});
