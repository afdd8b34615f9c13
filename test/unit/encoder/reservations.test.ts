import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Reservations } from '../../../src/encoder/reservations.ts';

const coin = (vout: number) => ({ txid: 'ab'.repeat(32), vout });

test('a reserved coin is taken until its time is over or it is released', () => {
  let now = 0;
  const reservations = new Reservations({ ttlMs: 100, most: 10 }, () => now);
  reservations.take([coin(0), coin(1)]);
  assert.throws(() => reservations.take([coin(2), coin(1)]), { code: 'COIN_UNUSABLE', message: /:1 is reserved/ });
  assert.equal(reservations.has(coin(2)), false, 'all or none');
  reservations.release([coin(0)]);
  assert.deepEqual([reservations.has(coin(0)), reservations.has(coin(1)), reservations.count], [false, true, 1]);
  now = 99;
  assert.equal(reservations.has(coin(1)), true);
  now = 100;
  assert.deepEqual([reservations.has(coin(1)), reservations.count], [false, 0]);
  reservations.take([coin(1)]);
});

test('RESERVATIONS_FULL: until the oldest ends', () => {
  let now = 0;
  const reservations = new Reservations({ ttlMs: 100, most: 2 }, () => now);
  reservations.take([coin(0)]);
  now = 50;
  reservations.take([coin(1)]);
  assert.throws(() => reservations.take([coin(2)]), { code: 'RESERVATIONS_FULL' });
  now = 100;
  reservations.take([coin(2)]);
  assert.equal(reservations.count, 2);
});
