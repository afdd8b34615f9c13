import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReferenceRun } from '../../reference/run.ts';

test('statuses, movements, balances and hashes are those of a ledger written from the documentation', () => {
  const run = new ReferenceRun(1);
  for (let block = 0; block < 2_000; block++) run.extend();
  run.compareHoldings();
  const valid = [...run.statuses.keys()].filter((status) => status.endsWith(' valid'));
  assert.ok(valid.length > 35 && run.statuses.size > 340, `${valid.join()} of ${run.statuses.size} statuses`);
});
