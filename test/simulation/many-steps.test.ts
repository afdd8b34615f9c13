import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simulate } from '../support/simulate.ts';

test('100,000 steps of faults break no invariant, and each episode ends whole', () => {
  const { status, output } = simulate('--steps', '100000', '--seed', '1');
  assert.equal(status, 0, output);
});
