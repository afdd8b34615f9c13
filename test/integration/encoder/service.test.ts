import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serviceUrlOf } from '../../../src/config/service-url.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { runCommandLine } from '../../support/command-line.ts';
import { startTestLitecoind } from '../../support/litecoin.ts';

test('NODE_MISMATCH: an encoder ends beside a node of another chain', async () => {
  const { node } = await startTestLitecoind();
  const { code, stderr } = await runCommandLine(['encoder', '--no-guardian'], {
    NETWORK: 'bitcoin-regtest',
    NODE_PORT: String(node.rpcPort),
    NODE_USER: node.user,
    NODE_PASSWORD: node.password,
    ENCODER_API_HOST: '127.0.0.1',
    ENCODER_API_PORT: String(await freePort())
  });
  assert.equal(code, 78);
  assert.match(stderr, /first block is that of another chain/);
});

test('NETWORK says which node it asks; --check-config shows the usual ports', async () => {
  const settings = { NETWORK: 'RLTC', NODE_USER: 'u', NODE_PASSWORD: 'password-of-the-test' };
  const { code, stdout } = await runCommandLine(['encoder', '--check-config'], settings);
  assert.equal(code, 0);
  assert.match(stdout, /ENCODER_API_PORT\s+= 3003/);
  assert.match(stdout, /NETWORK\s+= litecoin-regtest/);
});

test('UTXO_TRACKER_API_PORT is the port of a tracker whose URL names none', () => {
  const of = (UTXO_TRACKER_URL: string | undefined, UTXO_TRACKER_API_PORT: number | undefined) =>
    serviceUrlOf(UTXO_TRACKER_URL, UTXO_TRACKER_API_PORT);
  assert.equal(of('http://tracker', 3001), 'http://tracker:3001');
  assert.equal(of('http://tracker:4000', 3001), 'http://tracker:4000');
  assert.equal(of('https://tracker.example', undefined), 'https://tracker.example');
  assert.equal(of(undefined, 3001), 'http://127.0.0.1:3001', 'a tracker with the same environment');
  assert.equal(of(undefined, undefined), undefined);
  assert.equal(of('http://tracker/utxo/RLTC', 3001), 'http://tracker:3001/utxo/RLTC');
});
