import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explore, type Model } from '../../lab/model/agreement.ts';

const FOUR: Omit<Model, 'liar'> = { hubs: 4, rule: 'byzantine', views: 2, places: 2 };

test('four hubs agree through three views, whether the first or the second leader lies', () => {
  for (const liar of [0, 1]) assert.equal(explore({ ...FOUR, liar, views: 3, places: 1 }).disagreement, null);
});

test('the quorum of the specification is unsafe against one liar of five hubs, and the other rule is safe', () => {
  const five = { hubs: 5, liar: 0, places: 1 };
  assert.ok(explore({ ...five, rule: 'specified', views: 1 }).disagreement);
  assert.equal(explore({ ...five, rule: 'byzantine', views: 2 }).disagreement, null);
});

for (const [without, views, places] of [
  ['commits in order', 2, 2],
  ['highest view', 3, 1],
  ['carried batches', 2, 1],
  ['one vote a place', 2, 1]
] as const)
  test(`without the rule "${without}" two hubs decide differently`, () => {
    assert.ok(explore({ ...FOUR, liar: 0, views, places, without }).disagreement);
  });
