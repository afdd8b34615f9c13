import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decoderChecks, decoderVariables } from '../../../src/config/decoder.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { nodeUrlOf } from '../../../src/config/node.ts';

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
  assert.equal(nodeUrlOf(load({})), 'http://127.0.0.1:19443');
  assert.equal(nodeUrlOf(load({ NODE_URL: 'node.local' })), 'http://node.local:19443');
  assert.equal(nodeUrlOf(load({ NODE_URL: 'http://node.local:1234/' })), 'http://node.local:1234');
  assert.equal(nodeUrlOf(load({ NODE_URL: 'https://node.local', NODE_PORT: '9' })), 'https://node.local:9');
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
  assert.ok(load({ NETWORK: 'dogecoin-mainnet', AUX_POW: '1' }));
});

test('NETWORK is taken in every spelling, and is litecoin-regtest afterwards', () => {
  for (const NETWORK of ['litecoin-regtest', 'LTC:regtest', 'LTC_Regtest', 'RLTC'])
    assert.equal(load({ NETWORK }).NETWORK, 'litecoin-regtest');
});
