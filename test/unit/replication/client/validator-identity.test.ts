import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authMessage, validatorIdentity } from '../../../../src/replication/client/validator-identity.ts';
import { ValidatorAuth } from '../../../../src/sync/fan-out/validator-auth.ts';

const SEED = '11'.repeat(32);

test('each signed time is another one', () => {
  const identity = validatorIdentity(SEED);
  const times = Array.from({ length: 5 }, () => authMessage(identity).ts);
  assert.equal(new Set(times).size, 5);
});

test('a clock that was an hour ahead, and is right again, hides the validator from no source', () => {
  const identity = validatorIdentity(SEED);
  identity.lastSigned[0] = Math.floor(Date.now() / 1000) + 3_600;
  const auth = new ValidatorAuth(undefined);
  for (let n = 0; n < 5; n++) assert.equal(auth.identify(authMessage(identity)), identity.id);
});
