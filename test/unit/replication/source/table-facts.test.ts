import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  hasMoved,
  isSettled,
  isUnmoved,
  mayBeImported,
  type TableFacts
} from '../../../../src/replication/source/changes/table-facts.ts';

const FACTS: TableFacts = {
  name: 'notes',
  rows: 10,
  updateTime: '2026-01-01 10:00:00',
  changedAt: 1,
  isFresh: false,
  createTime: '2026-01-01 09:00:00',
  isNew: false,
  nextId: null,
  isTimed: true,
  started: 500,
  opened: [7, 7],
  altered: [2, 2]
};
const UNKNOWN = { ...FACTS, updateTime: null, changedAt: null };
const LATER = '2026-01-01 11:00:00';

test('a table is unmoved while its times stand still', () => {
  assert.ok(isUnmoved(FACTS, FACTS));
  assert.ok(isUnmoved(FACTS, { ...FACTS, rows: 11, started: 900, opened: [9, 9] }), 'the time says enough');
  assert.equal(isUnmoved(FACTS, { ...FACTS, updateTime: LATER }), false);
  assert.equal(isUnmoved(FACTS, { ...FACTS, createTime: LATER }), false);
  assert.equal(isUnmoved(FACTS, UNKNOWN), false);
});

test('a table without a time is unmoved while its server is the same, counts as many rows, and opened no table', () => {
  assert.ok(isUnmoved(UNKNOWN, UNKNOWN));
  assert.equal(isUnmoved(UNKNOWN, { ...UNKNOWN, rows: 11 }), false);
  assert.equal(isUnmoved(UNKNOWN, { ...UNKNOWN, started: 502 }), false);
  assert.equal(isUnmoved(UNKNOWN, { ...UNKNOWN, opened: [7, 8] }), false, 'opened for these facts');
  assert.equal(isUnmoved({ ...UNKNOWN, opened: [6, 7] }, UNKNOWN), false, 'opened for the facts before');
  assert.equal(hasMoved(UNKNOWN, { ...UNKNOWN, opened: [7, 8] }), false, 'it shows no change');
});

test('a table may have got the files of another while the server alters tables', () => {
  assert.equal(mayBeImported(FACTS, FACTS), false);
  assert.ok(mayBeImported(FACTS, { ...FACTS, altered: [2, 3] }), 'altered for these facts');
  assert.ok(mayBeImported({ ...FACTS, altered: [1, 2] }, FACTS), 'altered for the facts before');
});

test('times of a table that does not show every change say nothing', () => {
  const untimed = { ...FACTS, isTimed: false };
  assert.equal(isUnmoved(untimed, untimed), false);
  assert.equal(isSettled(untimed, LATER), false);
  assert.ok(isSettled(FACTS, LATER));
});
