import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GAS_RULES } from '../../../lab/reference/chain.ts';
import { ReferenceRun } from '../../../lab/reference/run.ts';

test('statuses, movements, balances and hashes are those of a ledger written from the documentation', () => {
  const run = new ReferenceRun(1);
  for (let block = 0; block < 2_000; block++) run.extend();
  run.compareHoldings();
  const valid = [...run.statuses.keys()].filter((status) => status.endsWith(' valid'));
  assert.ok(valid.length > 35 && run.statuses.size > 340, `${valid.join()} of ${run.statuses.size} statuses`);
});

test('the same where actions cost gas, paid in the gas token or in coins', () => {
  const run = new ReferenceRun(1, GAS_RULES);
  for (let block = 0; block < 1_500; block++) run.extend();
  run.compareHoldings();
  const fees = [...run.statuses].flatMap(([status, count]) =>
    /fee|FEE|GAS|oracle price for/.test(status) ? count : []
  );
  const paid = run.statuses.get('fees valid') ?? 0;
  assert.ok(paid > 50 && run.feesInCoins > 3 && fees.length > 8, `${paid} fees, ${run.feesInCoins} in coins`);
});
