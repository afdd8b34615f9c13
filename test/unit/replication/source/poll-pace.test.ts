import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PollPace } from '../../../../src/replication/source/feed/poll-pace.ts';

const HOUR_MS = 3_600_000;

/** A pause that is so much shorter than an hour, but for what this test takes. */
const isAbout = (pauseMs: number, expectedMs: number) => pauseMs <= expectedMs && pauseMs > expectedMs - 60_000;

/** Longer than a cheap poll takes. */
const DEAR_MS = HOUR_MS / 40;

test('the interval counts from the beginning of a poll, also when more polls follow in between', () => {
  const pace = new PollPace(HOUR_MS);
  pace.begin();
  assert.ok(isAbout(pace.pauseMs(DEAR_MS, false), HOUR_MS));
  pace.begin(); // right after a group
  assert.ok(isAbout(pace.pauseMs(HOUR_MS / 2, false), HOUR_MS), 'what a poll took is not counted twice');
});

test('while polls are cheap there are two in an interval', () => {
  const pace = new PollPace(HOUR_MS);
  pace.begin();
  assert.ok(isAbout(pace.pauseMs(HOUR_MS / 50, false), HOUR_MS / 2));
  assert.ok(isAbout(pace.pauseMs(HOUR_MS / 49, false), HOUR_MS));
});

test('a failed attempt waits for the rest of an interval of its own, and no pause is shorter than a tenth', () => {
  const pace = new PollPace(HOUR_MS);
  assert.equal(pace.pauseMs(HOUR_MS / 4, true), (HOUR_MS * 3) / 4);
  assert.equal(pace.pauseMs(2 * HOUR_MS, true), HOUR_MS / 10);
  assert.equal(pace.pauseMs(0, false), HOUR_MS / 10, 'a poll was due long ago');
});
