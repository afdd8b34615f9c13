import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explore } from '../../lab/model/agreement.ts';

test('four hubs, one of which lies as leader of the first view, agree on two places through two views', () => {
  const { states, disagreement } = explore({ hubs: 4, rule: 'byzantine', views: 2, places: 2, liar: 0 });
  assert.equal(disagreement, null);
  assert.ok(states > 100_000, String(states));
});
