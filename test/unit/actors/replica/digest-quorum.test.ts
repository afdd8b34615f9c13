import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countWords, type SourceWord } from '../../../../actors/replica/verifying/digest-quorum.ts';

const KEPT = ['tokens', 'sends', 'sync_meta'];
const keeps = (table: string) => KEPT.includes(table);
const word = (equal: readonly string[], different: readonly string[] = []): SourceWord => ({ equal, different });
const SAME = word(['sends', 'sync_meta', 'tokens']);

test('each table needs a strict majority of the configured sources, silent ones included', () => {
  const confirmed = (words: readonly SourceWord[], count: number) => countWords(words, count, keeps).unconfirmed;
  assert.deepEqual(confirmed([SAME, SAME], 3), []);
  assert.deepEqual(confirmed([SAME, SAME], 4), ['sends', 'tokens']);
  assert.deepEqual(confirmed([SAME], 2), ['sends', 'tokens']);
  assert.deepEqual(confirmed([SAME, word(['sends'], ['tokens'])], 3), ['tokens']);
  // Liars that lie of different tables keep no table from its majority.
  assert.deepEqual(confirmed([SAME, word(['sends'], ['tokens']), word(['tokens'], ['sends'])], 3), []);
});

test('a table that a source leaves out is not confirmed by it; one that only it names needs no majority', () => {
  const leaves = word(['sends', 'sync_meta']);
  assert.deepEqual(countWords([leaves, word(['sends'], ['tokens'])], 3, keeps).unconfirmed, ['tokens']);
  assert.deepEqual(countWords([SAME, SAME, word(['sends', 'tokens'], ['invented'])], 3, keeps).unconfirmed, []);
  assert.deepEqual(
    countWords([SAME, word(['sends', 'tokens'], ['missing']), word(['sends', 'tokens'], ['missing'])], 3, keeps)
      .unconfirmed,
    ['missing']
  );
});

test('the log is made of own blocks: nobody is asked of it', () => {
  assert.deepEqual(countWords([SAME, word(['sends', 'tokens'], ['sync_meta'])], 2, keeps).unconfirmed, []);
});

test('a contradiction is told from silence, and refuted is what a majority has otherwise', () => {
  const other = word(['sends'], ['tokens']);
  const { isContradicted, refuted } = countWords([SAME, other, other], 3, keeps);
  assert.deepEqual([isContradicted, refuted], [true, ['tokens']]);
  assert.deepEqual(countWords([SAME], 3, keeps).isContradicted, false);
  assert.deepEqual(countWords([SAME, other], 3, keeps).refuted, []);
});
