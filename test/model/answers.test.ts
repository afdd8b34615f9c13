import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AnswersModel, exploreAnswers } from '../../lab/model/answers.ts';

const FOUR: AnswersModel = { hubs: 4, qualified: 4, liars: 1 };

test('nothing false is attested of four hubs of which one lies, nor of three or two that qualify, in any order', () => {
  for (const qualified of [4, 3, 2]) {
    const { fault, states, attested } = exploreAnswers({ ...FOUR, qualified });
    assert.equal(fault, null);
    assert.ok(states > 50, String(states));
    assert.deepEqual([...attested].toSorted(), ['A', 'B'], 'each block is attested in its time');
  }
});

test('a liar that alone qualifies is asked nothing', () => {
  assert.deepEqual(exploreAnswers({ ...FOUR, qualified: 1 }).states, 0);
});

for (const [without, qualified] of [
  ['more than may lie', 1],
  ['one answer each', 4],
  ['the same block', 4],
  ['turns', 4]
] as const)
  test(`without the rule "${without}" something false is attested`, () => {
    assert.ok(exploreAnswers({ ...FOUR, qualified, without }).fault);
  });
