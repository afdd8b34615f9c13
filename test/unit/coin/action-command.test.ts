import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandsIn, MAX_COMMANDS, parseCommand } from '../../../src/coin/action/command.ts';
import { groupFields, groupWithMemo, readReference } from '../../../src/coin/action/fields.ts';
import fc from '../../support/fast-check.ts';

test('name, version and fields, without the spaces around them', () => {
  const { name, format, fields } = parseCommand(' send | 1 | TOKA | 5 |x ');
  assert.deepEqual({ name, format, fields }, { name: 'SEND', format: 1, fields: ['TOKA', '5', 'x'] });
});

test('versions: empty is 0, quotes fall away, what is no number of 0 to 255 is none', () => {
  const formatOf = (version: string) => parseCommand(`LIST|${version}|x`).format;
  assert.deepEqual(['', '0', '7', '255', "'2'", '"2"'].map(formatOf), [0, 0, 7, 255, 2, 2]);
  assert.deepEqual(['256', '1.5', '-1', 'x', '1e1', '１'].map(formatOf), [null, null, null, null, null, null]);
});

test('ISSUE, MINT and SEND may leave the version out, others may not', () => {
  assert.deepEqual(parseCommand('MINT|TOKA|5').fields, ['TOKA', '5']);
  assert.equal(parseCommand('MINT|TOKA|5').format, 0);
  assert.equal(parseCommand('MINT|X|5').format, 0);
  assert.deepEqual(parseCommand('MINT|1234|5').fields, ['1234', '5']);
  assert.equal(parseCommand('DESTROY|TOKA|5').format, null);
});

test('a reference is a caret and digits', () => {
  assert.deepEqual(['^12', '^', '^1x', '12', '^-1', `^${'9'.repeat(16)}`].map(readReference), [
    12,
    ...Array(5).fill(null)
  ]);
});

test('a BATCH has the commands that follow it; one with too many runs none', () => {
  const namesOf = (text: string) => commandsIn(text).map(({ name, fields }) => [name, ...fields].join(' '));
  assert.deepEqual(namesOf('BATCH||SEND|0|A|1;; coinpay | 0 |7'), [
    'BATCH SEND 0 A 1;; coinpay 0 7',
    'SEND A 1',
    'COINPAY 7'
  ]);
  assert.deepEqual(namesOf('SEND|0|A|1;COINPAY|0|7').length, 1);
  const many = (count: number) => `BATCH|0|${Array(count).fill('COINPAY|0|7').join(';')}`;
  assert.equal(commandsIn(many(MAX_COMMANDS)).length, MAX_COMMANDS + 1);
  assert.equal(commandsIn(many(MAX_COMMANDS + 1)).length, 1);
});

test('no text makes it throw, and nothing of a text is lost', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 8_000 }), (text) => {
      const { fields, rest } = parseCommand(text);
      assert.deepEqual(
        fields.join('|'),
        rest
          .split('|')
          .map((field) => field.trim())
          .join('|')
      );
    })
  );
});

test('groups are filled up', () => {
  assert.deepEqual(groupFields(['a', 'b', 'c'], 2), [
    ['a', 'b'],
    ['c', '']
  ]);
  assert.deepEqual(groupFields([], 2), []);
});

test('each group ends with the memo of all: a last field too many, or an empty one', () => {
  assert.deepEqual(groupWithMemo(['a', 'b', 'c', 'd', 'hi'], 2), [
    ['a', 'b', 'hi'],
    ['c', 'd', 'hi']
  ]);
  fc.assert(
    fc.property(fc.array(fc.string()), fc.integer({ min: 2, max: 4 }), fc.option(fc.string()), (fields, size, memo) => {
      const whole = fields.slice(0, fields.length - (fields.length % size));
      const groups = groupWithMemo(memo === null ? whole : [...whole, memo], size);
      assert.deepEqual(
        groups,
        groupFields(whole, size).map((group) => [...group, memo ?? ''])
      );
    })
  );
});
