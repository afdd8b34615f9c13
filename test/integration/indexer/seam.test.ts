import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runSeam } from '../../../lab/seam/run.ts';
import { createDatabase } from '../../support/mariadb.ts';

test('the decoder has stored everything that a ledger would serve, and nothing grows for what it never serves', async () => {
  const sums = { dispenses: 0, coinpays: 0, payments: 0, stored: 0 };
  for (const seed of [1, 2, 3]) {
    const figures = await runSeam(seed, 150, await createDatabase('seam'), seed === 3);
    for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += figures[name];
  }
  const { dispenses, coinpays, payments, stored } = sums;
  assert.ok(dispenses > 50 && coinpays > 20 && stored > 100, JSON.stringify(sums));
  assert.ok(stored < payments);
});
