import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort } from '../../../src/devnet/free-port.ts';
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

test('CF-04: NETWORK says which node it asks; --check-config shows the usual ports', async () => {
  const settings = { NETWORK: 'RLTC', NODE_USER: 'u', NODE_PASSWORD: 'password-of-the-test' };
  const { code, stdout } = await runCommandLine(['encoder', '--check-config'], settings);
  assert.equal(code, 0);
  assert.match(stdout, /ENCODER_API_PORT\s+= 3003/);
  assert.match(stdout, /NETWORK\s+= litecoin-regtest/);
});
