import assert from 'node:assert/strict';
import { test } from 'node:test';
import nacl from 'tweetnacl';
import { isSigningKey } from '../../../src/coin/signing-key.ts';

test('a key is a point of the curve, and none under which a signature of nobody is one of every message', () => {
  for (const odd of ['', 'zz', 'ff'.repeat(32), '00'.repeat(32), `01${'00'.repeat(31)}`]) assert.ok(!isSigningKey(odd));
  for (let n = 0; n < 20; n++)
    assert.ok(isSigningKey(Buffer.from(nacl.sign.keyPair().publicKey).toString('hex').toUpperCase()));
});
