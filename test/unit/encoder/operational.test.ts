import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operationalData } from '../../../src/encoder/operational.ts';
import { PlatformError } from '../../../src/errors.ts';
import { failureOf } from '../../../src/service/rpc/replies.ts';

const funds = (available: number) => ({
  reason: 'too few',
  required: 700,
  available,
  outputs: 546,
  fee: 154,
  reserved: 9
});

test('-32010: the words and amounts that clients in use read of what keeps a transaction from being built', () => {
  const errorOf = (error: PlatformError) => failureOf(1, error, operationalData).error;
  const { code, message, data } = errorOf(new PlatformError('COINS_INSUFFICIENT', funds(100)));
  assert.deepEqual([code, message], [-32010, 'too few']);
  assert.deepEqual(data, { ...funds(100), code: 'COINS_INSUFFICIENT', reason: 'INSUFFICIENT_FUNDS' });
  assert.equal(errorOf(new PlatformError('COINS_INSUFFICIENT', funds(0))).data.reason, 'NO_UTXOS');
  const behind = errorOf(new PlatformError('TRACKER_BEHIND', { reason: 'the UTXO tracker is 9 blocks behind' }));
  assert.deepEqual([behind.code, behind.data.reason], [-32010, 'UTXO_TRACKER_STALE']);
  assert.equal(errorOf(new PlatformError('COIN_UNUSABLE', { reason: 'spent' })).code, -32602);
});

test('BROADCAST_UNKNOWN: its data tells the id of what may have been sent', () => {
  const txid = 'ab'.repeat(32);
  const { data } = failureOf(1, new PlatformError('BROADCAST_UNKNOWN', { reason: 'no answer', txid })).error;
  assert.deepEqual(data, { code: 'BROADCAST_UNKNOWN', reason: 'no answer', txid });
  const other = failureOf(1, new PlatformError('NODE_REFUSED', { reason: 'odd', txid, node: 'http://inside' })).error;
  assert.deepEqual(Object.keys(other.data), ['code', 'reason']);
});
