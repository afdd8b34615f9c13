import assert from 'node:assert/strict';
import { test } from 'node:test';
import { amount, linksIn } from '../../../src/explorer/pages/parts.ts';
import fc from '../../support/fast-check.ts';

/** Returns the text of HTML that has no entities. */
const textOf = (html: string): string => html.replace(/<[^>]*>/g, '');

test('a number is shown in groups of three digits, and its text is the number as it is', () => {
  assert.equal(amount('1234567.50').text, '<span class="amount"><i>1</i><i>234</i><i>567</i>.50</span>');
  assert.equal(amount('-1000').text, '<span class="amount">-<i>1</i><i>000</i></span>');
  assert.equal(amount('999').text, '<span class="amount">999</span>');
  assert.equal(amount(null).text, '<span class="amount"></span>');
  fc.assert(
    fc.property(fc.bigInt(), fc.option(fc.stringMatching(/^\.\d{1,18}$/), { nil: '' }), (whole, fraction) => {
      const text = `${whole}${fraction}`;
      assert.equal(textOf(amount(text).text), text);
    })
  );
  assert.equal(amount('<img>').text, '<span class="amount">&#60;img&#62;</span>');
});

test('a link to a market names both tokens, each as one part of the path', () => {
  assert.equal(linksIn('/LTC')('market', ['A/B', 'C'], 'A/B/C').text, '<a href="/LTC/market/A%2FB/C">A/B/C</a>');
});
