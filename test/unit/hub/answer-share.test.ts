import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnswerShares } from '../../../src/hub/federation/node/answer-share.ts';

const MIB = 2 ** 20;

test('a hub is answered a whole state at once, and then two megabytes a second; each has its own share', () => {
  const shares = new AnswerShares();
  let [now, sent] = [0, 0];
  const answer = (hub: string) => {
    now += shares.waitMs(hub, now);
    shares.spend(hub, MIB, now);
    sent += 1;
  };
  while (sent < 32) answer('a');
  assert.deepEqual([now, shares.waitMs('a', now)], [0, 0]);
  answer('a');
  assert.equal(shares.waitMs('a', now), 500);
  assert.equal(shares.waitMs('b', now), 0);
  while (sent < 53) answer('a');
  assert.equal(now, 10_000, 'twenty more take ten seconds');
  now += 60_000;
  sent = 0;
  while (sent < 32) answer('a');
  assert.equal(now, 70_000, 'a minute later it has its whole share again, and no more');
  answer('a');
  assert.ok(shares.waitMs('a', now) > 0);
});
