import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcomeOf, reasonOf, verdict, verdictSentence } from '../../../src/explorer/pages/verdict.ts';
import fc from '../../support/fast-check.ts';

test('only a valid action looks carried out, whatever its status says', () => {
  assert.deepEqual(['valid', 'invalid: x', 'invalid', 'pending_coinpay', 'expired', 'empty'].map(outcomeOf), [
    'carried',
    'refused',
    'refused',
    'waiting',
    'ended',
    'ended'
  ]);
  fc.assert(
    fc.property(fc.string(), (text) => {
      if (text === 'valid') return;
      assert.notEqual(outcomeOf(text), 'carried');
      assert.equal(outcomeOf(`invalid: ${text}`), 'refused');
      for (const shown of [verdict('SEND', `invalid: ${text}`), verdictSentence('SEND', `invalid: ${text}`)]) {
        assert.match(shown.text, /data-state="failed"/);
        assert.doesNotMatch(shown.text, /paid|<(?!\/?(?:span|p)\b)/i);
      }
    })
  );
});

test('a refusal is told in words', () => {
  const reasons = {
    'invalid: insufficient funds': 'its source does not have enough',
    'invalid: insufficient funds (TICK)': 'its source does not have enough',
    'invalid: insufficient funds (GIVE_AMOUNT)': 'its source does not have enough for the give amount',
    'invalid: AMOUNT (format)': 'its amount is not written as it must be',
    'invalid: ORDER_ACTION_INDEX (unknown)': 'the order that it names does not exist',
    'invalid: TICK (parent unknown)': 'its token: parent unknown',
    'invalid: poll closed': 'poll closed'
  };
  for (const [status, reason] of Object.entries(reasons)) assert.equal(reasonOf(status), reason);
  assert.match(verdictSentence('SEND', 'invalid: AMOUNT (format)').text, />Refused because its amount is not written/);
  assert.match(verdict('SEND', 'valid').text, /data-state="well">paid</);
  assert.match(verdict('ORDER_MATCH', 'pending_coinpay').text, /data-state="waiting">waits for a payment in coin</);
});
