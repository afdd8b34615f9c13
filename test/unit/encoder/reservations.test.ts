import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../../src/config/load.ts';
import { encoderVariables } from '../../../src/config/services/encoder.ts';
import { Reservations, reservationLimits } from '../../../src/encoder/coins/reservations.ts';

const coin = (vout: number) => ({ txid: 'ab'.repeat(32), vout });
const open = (limits: Partial<ConstructorParameters<typeof Reservations>[0]> = {}) => {
  const clock = { now: 0 };
  const reservations = new Reservations({ ttlMs: 100, mostOfOne: 10, most: 10, ...limits }, () => clock.now);
  return {
    clock,
    reservations,
    holders: (...vouts: number[]) =>
      vouts.map((vout) => ['A', 'B', 'C'].find((holder) => reservations.leftMs(coin(vout), holder) !== undefined))
  };
};

test('coins that the encoder chose are reserved for five minutes, as encoders in use do', () => {
  assert.equal(encoderVariables.ENCODER_RESERVATION_MS.fallback, 300_000);
});

test('with a key, a caller may reserve all that there may be; without one, two thousand coins', () => {
  const of = (env: Record<string, string>) =>
    reservationLimits(
      loadConfig(encoderVariables, { env: { NETWORK: 'RLTC', NODE_USER: 'u', NODE_PASSWORD: 'p', ...env } }).values
    );
  const limits = { ENCODER_MAX_RESERVATIONS: '7000', ENCODER_RESERVATION_MS: '60000' };
  const key = { ENCODER_API_KEY: 'a-key-that-is-long-enough-for-everyone' };
  assert.deepEqual(of(limits), { ttlMs: 60_000, most: 7_000, mostOfOne: 2_000 });
  assert.deepEqual(of({ ...limits, ...key }), { ttlMs: 60_000, most: 7_000, mostOfOne: 7_000 });
});

test('a reserved coin is taken until its time is over or its holder releases it', () => {
  const { clock, reservations, holders } = open();
  reservations.take([coin(0), coin(1)], 'A');
  assert.throws(() => reservations.take([coin(2), coin(1)], 'A'), { code: 'COIN_UNUSABLE', message: /:1 is reserved/ });
  assert.deepEqual(holders(0, 1, 2), ['A', 'A', undefined], 'all or none');
  assert.equal(reservations.release([coin(0)], 'B'), 0);
  assert.equal(reservations.release([coin(0), coin(2)], 'A'), 1);
  assert.deepEqual([...holders(0, 1), reservations.count], [undefined, 'A', 1]);
  clock.now = 99;
  assert.equal(reservations.leftMs(coin(1), 'A'), 1);
  clock.now = 100;
  assert.deepEqual([...holders(1), reservations.count], [undefined, 0]);
  reservations.take([coin(1)], 'A');
});

test('coins that a call looked at for long are reserved for the whole time from its answer on, where it still has them', () => {
  const { clock, reservations, holders } = open();
  const taken = reservations.take([coin(0), coin(1)], 'A', 'slow');
  clock.now = 60;
  reservations.renew([coin(0), coin(1)], 'A', 'slow', taken);
  clock.now = 159;
  assert.deepEqual(holders(0, 1), ['A', 'A']);
  assert.equal(reservations.releaseOf('slow', [coin(1)], 'A'), 1);
  clock.now = 160;
  assert.deepEqual(holders(0, 1), [undefined, undefined]);

  const slower = reservations.take([coin(2), coin(3)], 'A');
  clock.now = 260;
  reservations.take([coin(3)], 'A');
  assert.throws(() => reservations.renew([coin(2), coin(3)], 'A', undefined, slower), { code: 'COIN_UNUSABLE' });
  assert.equal(reservations.release([coin(3)], 'A', slower), 0, 'that of another call stays');
  assert.deepEqual(holders(2, 3), [undefined, 'A']);
  const again = reservations.take([coin(5)], 'A');
  clock.now = 360;
  reservations.renew([coin(5)], 'A', undefined, again);
  assert.deepEqual(holders(5), ['A'], 'nobody else took it meanwhile');
});

test('nobody locks a coin for others, or ends their reservation of it: each has one of its own', () => {
  const { clock, reservations } = open();
  const left = () => ['A', 'B'].map((holder) => reservations.leftMs(coin(0), holder));
  reservations.take([coin(0)], 'A');
  clock.now = 50;
  reservations.take([coin(0)], 'B');
  assert.deepEqual([left(), reservations.count], [[50, 100], 2]);
  assert.throws(() => reservations.take([coin(0)], 'A'), { code: 'COIN_UNUSABLE' });
  assert.equal(reservations.release([coin(0)], 'B'), 1);
  assert.deepEqual([left(), reservations.isHeld(coin(0))], [[50, undefined], true]);
  clock.now = 100;
  assert.deepEqual([left(), reservations.isHeld(coin(0))], [[undefined, undefined], false]);
});

test('RESERVATIONS_FULL: one caller has no more than its part, until its oldest ends; others have theirs', () => {
  const { clock, reservations } = open({ mostOfOne: 2 });
  reservations.take([coin(0)], 'A');
  clock.now = 50;
  reservations.take([coin(1)], 'A');
  assert.throws(() => reservations.take([coin(2)], 'A'), { code: 'RESERVATIONS_FULL', message: /release_tx/ });
  reservations.take([coin(2), coin(3)], 'B');
  clock.now = 100;
  reservations.take([coin(4)], 'A');
  assert.equal(reservations.count, 4);
});

test('without room for all callers, the holder that has the most loses its oldest reservation: nobody ends those of a smaller one', () => {
  const { reservations, holders } = open({ most: 4 });
  reservations.take([coin(0)], 'A');
  reservations.take([coin(1), coin(2), coin(3)], 'B');
  reservations.take([coin(4)], 'C');
  assert.deepEqual(holders(0, 1, 2, 3, 4), ['A', undefined, 'B', 'B', 'C']);
  reservations.take([coin(5)], 'C');
  assert.throws(() => reservations.take([coin(6), coin(7)], 'C'), { code: 'RESERVATIONS_FULL' });
  assert.deepEqual(holders(0, 2, 3, 4, 5, 6), ['A', undefined, 'B', 'C', 'C', undefined]);
});

test('addresses of one network give way as one caller', () => {
  const { reservations } = open({ most: 4 });
  const network = ['2001:db8:7:1::/64', '2001:db8:7:2::/64', '2001:db8:7:3::/64'];
  reservations.take([coin(0), coin(1)], 'A');
  for (const [vout, holder] of network.entries()) reservations.take([coin(2 + vout)], holder);
  assert.deepEqual(
    [...[0, 1].map((vout) => reservations.leftMs(coin(vout), 'A')), reservations.leftMs(coin(2), network[0]!)],
    [100, 100, undefined]
  );
});

test('a request ends the reservations that it made, and none that another one made of the same coins', () => {
  const { clock, reservations, holders } = open();
  reservations.take([coin(0)], 'A', 'first');
  reservations.take([coin(1)], 'A');
  assert.equal(reservations.releaseOf('second', [coin(0), coin(1)], 'A'), 0, 'it named coins of other calls');
  assert.equal(reservations.releaseOf('first', [coin(0), coin(1)], 'B'), 0);
  assert.equal(reservations.releaseOf('first', [coin(0), coin(1)], 'A'), 1);
  reservations.take([coin(2)], 'A', 'first');
  clock.now = 100;
  reservations.take([coin(2)], 'A', 'later');
  assert.equal(reservations.releaseOf('first', [coin(2)], 'A'), 0, 'its own had ended by itself');
  assert.deepEqual(holders(0, 1, 2), [undefined, undefined, 'A']);
});
