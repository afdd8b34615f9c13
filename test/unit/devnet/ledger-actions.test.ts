import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatAmount, parseAmount } from '../../../src/consensus/amount.ts';
import fc from '../../support/fast-check.ts';
import { parseActions, parseCommand } from '../../support/ledger/actions.ts';

test('an amount survives its text, for any sum of 10^-18', () => {
  fc.assert(
    fc.property(fc.bigInt(0n, 10n ** 40n), (amount) => {
      assert.equal(parseAmount(formatAmount(amount)), amount);
    })
  );
  assert.equal(formatAmount(1_500_000_000_000_000_000n), '1.5');
  assert.equal(formatAmount(-1n), '-0.000000000000000001');
});

test('what is no plain decimal of at most 18 places is no amount', () => {
  for (const text of ['', '-1', '1e3', '.5', '1.', '1.0000000000000000001', ' 1', '0x1', 'NaN'])
    assert.equal(parseAmount(text), null, text);
});

test('a command: name in upper case, fields trimmed, a missing version filled in', () => {
  assert.deepEqual(parseCommand(' send | GAS | 1 | abc '), { name: 'SEND', fields: ['0', 'GAS', '1', 'abc'] });
  assert.deepEqual(parseCommand('MINT|1|GAS'), { name: 'MINT', fields: ['1', 'GAS'] });
  assert.deepEqual(parseCommand(''), { name: '', fields: [] });
});

test('a batch is its own action before its commands, and holds no other batch', () => {
  const names = parseActions('BATCH|0|MINT|0|GAS|5;SEND|0|GAS|1|abc;BATCH|0|MINT|0|GAS|5').map(({ name }) => name);
  assert.deepEqual(names, ['BATCH', 'MINT', 'SEND']);
  assert.equal(parseActions(`BATCH|0|${'MINT|0|GAS|1;'.repeat(400)}`).length, 251);
  assert.deepEqual(
    parseActions('SEND|0|GAS|1|abc|a;b').map(({ name }) => name),
    ['SEND']
  );
});
