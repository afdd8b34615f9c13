import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  countReports as countNamed,
  type DigestReport
} from '../../../../src/replication/replica/verifying/digest-quorum.ts';

const KEPT = ['tokens', 'sends', 'sync_meta'];
const keeps = (table: string) => KEPT.includes(table);
const report = (equal: readonly string[], different: readonly string[] = []): DigestReport => ({ equal, different });
/** Counts reports of sources that are named by their places. */
const countReports = (
  reports: readonly DigestReport[],
  ...rest: [number, typeof keeps, ((source: string) => readonly string[])?]
) => countNamed(new Map(reports.map((each, place) => [String(place), each])), ...rest);
const SAME = report(['sends', 'sync_meta', 'tokens']);

test('each table needs a strict majority of the configured sources, silent ones included', () => {
  const confirmed = (reports: readonly DigestReport[], count: number) =>
    countReports(reports, count, keeps).unconfirmed;
  assert.deepEqual(confirmed([SAME, SAME], 3), []);
  assert.deepEqual(confirmed([SAME, SAME], 4), ['sends', 'tokens']);
  assert.deepEqual(confirmed([SAME], 2), ['sends', 'tokens']);
  assert.deepEqual(confirmed([SAME, report(['sends'], ['tokens'])], 3), ['tokens']);
  // Liars that lie of different tables keep no table from its majority.
  assert.deepEqual(confirmed([SAME, report(['sends'], ['tokens']), report(['tokens'], ['sends'])], 3), []);
});

test('a table that a source leaves out is not confirmed by it; one that only it names needs no majority', () => {
  const leaves = report(['sends', 'sync_meta']);
  assert.deepEqual(countReports([leaves, report(['sends'], ['tokens'])], 3, keeps).unconfirmed, ['tokens']);
  assert.deepEqual(countReports([SAME, SAME, report(['sends', 'tokens'], ['invented'])], 3, keeps).unconfirmed, []);
  assert.deepEqual(
    countReports([SAME, report(['sends', 'tokens'], ['missing']), report(['sends', 'tokens'], ['missing'])], 3, keeps)
      .unconfirmed,
    ['missing']
  );
});

test('the log is made of own blocks: nobody is asked of it', () => {
  assert.deepEqual(countReports([SAME, report(['sends', 'tokens'], ['sync_meta'])], 2, keeps).unconfirmed, []);
});

test('a contradiction is told from silence, and refuted is what a majority has otherwise', () => {
  const other = report(['sends'], ['tokens']);
  const { isContradicted, refuted } = countReports([SAME, other, other], 3, keeps);
  assert.deepEqual([isContradicted, refuted], [true, ['tokens']]);
  assert.deepEqual(countReports([SAME], 3, keeps).isContradicted, false);
  assert.deepEqual(countReports([SAME, other], 3, keeps).refuted, []);
});

test('two names of one source confirm no table together', () => {
  const marksOf = (place: string) => (place === '2' ? ['other'] : ['one']);
  assert.deepEqual(countReports([SAME, SAME], 3, keeps, marksOf).unconfirmed, ['sends', 'tokens']);
  assert.deepEqual(countReports([SAME, SAME, SAME], 3, keeps, marksOf).unconfirmed, []);
  assert.deepEqual(countReports([SAME, SAME, report(['sends'], ['tokens'])], 3, keeps, marksOf).unconfirmed, [
    'tokens'
  ]);
});
