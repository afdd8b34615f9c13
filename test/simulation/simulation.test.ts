import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simulate } from '../support/simulate.ts';

test('10,000 steps of faults break no invariant, and each episode ends whole', () => {
  const { status, output } = simulate('--steps', '10000', '--seed', '3');
  assert.equal(status, 0, output);
});

test('a seed plays the same steps again', () => {
  const play = () => simulate('--seed', '2', '--episode', '3').output;
  const [first, again] = [play(), play()];
  const trace = (output: string) => /trace \w{16}/.exec(output)?.[0];
  assert.ok(trace(first), first);
  assert.equal(trace(first), trace(again));
});
