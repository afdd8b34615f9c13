import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWellFormed } from '../../../src/hub/federation/journal/set-state.ts';
import { readMatter } from '../../../src/hub/federation/matters/operations.ts';
import { isSubmission } from '../../../src/hub/federation/rounds/reading.ts';

/** An object of JSON that has no text. */
const TEXTLESS = { toString: 1, valueOf: 1 };
const [KEY, SIGNATURE] = ['ab'.repeat(32), 'cd'.repeat(64)];
const submissionOf = (pair: unknown) => ({
  submitter: KEY,
  round: 1,
  height: 1,
  prices: [[pair, '1.00000000']],
  sig: SIGNATURE
});

test('a type of a matter is a text: a list of one name is none, and no object ends the hub that reads it', () => {
  const vote = { type: 'vote', id: 'a', approves: true };
  assert.ok(readMatter(JSON.stringify({ matter: vote })));
  for (const type of [['vote'], [['vote']], TEXTLESS, null, 1, '__proto__', 'constructor'])
    assert.equal(isWellFormed(JSON.stringify({ matter: { ...vote, type } })), false, JSON.stringify(type));
});

test('a pair of a submission is a text, whatever else a hub sends', () => {
  let deep: unknown = [];
  for (let depth = 0; depth < 100_000; depth++) deep = [deep];
  for (const pair of [TEXTLESS, deep, ['BTC/USD'], null, 1]) assert.equal(isSubmission(submissionOf(pair)), false);
  const round = { round: 1, seen: [], submissions: [submissionOf(TEXTLESS)] };
  assert.equal(isWellFormed(JSON.stringify({ round })), false);
});

test('no long body is taken apart letter by letter', () => {
  const text = 'a'.repeat(260_000);
  const bodies = [text, { capability: text }, { validators: [text] }, { config: text }, { matter: text }];
  const since = performance.now();
  for (let time = 0; time < 10; time++)
    for (const body of bodies) assert.equal(isWellFormed(JSON.stringify(body)), false);
  const perBody = (performance.now() - since) / 50;
  assert.ok(perBody < 40, `${perBody} ms`);
});
