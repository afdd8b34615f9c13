import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkBudget } from '../../../src/service/ingress/work-budget.ts';

test('calls, rows, bytes and time of an address add up, whichever way it asks', (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const budget = new WorkBudget();
  const megabytes = (count: number) => budget.charge('a', { bytes: count * 1e6 });
  assert.equal(megabytes(40), 0);
  assert.equal(budget.charge('a', { rows: 60_000, calls: 1_000, ms: 1_000 }), 0, 'nothing is left');
  assert.equal(budget.charge('a', { calls: 1 }), 1);
  assert.equal(megabytes(2), 251);
  assert.equal(megabytes(1_000), 10_000, 'a wait has a bound');
  assert.equal(budget.charge('b', { calls: 1 }), 0, 'nobody else waits');
  assert.equal(budget.request('a', 1), 0, 'what it cost ends no connection');
  now = 10_001;
  assert.equal(budget.charge('a', {}), 0);
});

test('all together cost more than a core: those that cost most wait, and nobody else', (t) => {
  t.mock.method(performance, 'now', () => 0);
  const budget = new WorkBudget();
  for (let n = 0; n < 10; n++) assert.equal(budget.charge(`crowd ${n}`, { bytes: 44e6 }), n < 9 ? 0 : 500);
  assert.equal(budget.charge('crowd 0', {}), 500);
  assert.equal(budget.charge('honest', { calls: 50, rows: 5_000, bytes: 1e6, ms: 200 }), 0);
});

test('addresses of one network of IPv6 have ten times as much as one of them, together', (t) => {
  t.mock.method(performance, 'now', () => 0);
  const budget = new WorkBudget();
  const address = (n: number) => `2001:db8:7:${n}::/64`;
  for (let n = 0; n < 20; n++) assert.equal(budget.request(address(n), 5_000), 0);
  assert.ok(budget.request(address(20), 5_000) > 0, 'of requests');
  assert.equal(budget.request('2001:db8:8:0::/64', 5_000), 0, 'of another network');
  for (let n = 0; n < 20; n++) budget.charge(address(n), { bytes: 40e6 });
  assert.ok(budget.charge(address(20), { calls: 1 }) > 0, 'of work');
  assert.equal(budget.charge('198.51.100.1', { calls: 1 }), 0);
});
