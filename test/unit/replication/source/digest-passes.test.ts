import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DigestTip, isCurrent } from '../../../../src/replication/source/answers/digest-passes.ts';
import type { TableFacts } from '../../../../src/replication/source/changes/table-facts.ts';
import type { DigestPart } from '../../../../src/wire/data/digest.ts';

const OLD: Omit<TableFacts, 'name'> = {
  rows: 1,
  updateTime: '2026-01-01 10:00:00',
  changedAt: 1,
  isFresh: false,
  createTime: '2026-01-01 09:00:00',
  isTimed: true,
  isNew: false,
  nextId: null,
  started: 500,
  opened: [9, 9],
  altered: [2, 2]
};
const TABLES = ['notes', 'tokens', 'icons'];

const factsOf = (changed: Readonly<Record<string, Partial<TableFacts>>>) =>
  new Map(TABLES.map((name) => [name, { ...OLD, name, ...changed[name] }]));

function tipOf(
  readAt: number,
  changed: Readonly<Record<string, Partial<TableFacts>>> = {},
  more: Partial<DigestTip> = {}
): DigestTip {
  return {
    height: 7,
    hashes: { block_hash: 'h7' },
    fingerprint: 'f',
    reorgs: 0,
    amendments: 0,
    learned: null,
    readAt,
    facts: factsOf(changed),
    compared: new Set(['notes', 'tokens']),
    ...more
  };
}

const passOf = (part: DigestPart = null, tookMs: number | null = 100, tip = tipOf(0)) => ({
  part,
  tip,
  tookMs,
  isStale: false
});
const later = '2026-01-01 10:00:01';

test('a pass is shared while the times of its tables stand still', () => {
  assert.ok(isCurrent(passOf(), tipOf(50_000)));
  assert.ok(isCurrent(passOf(), tipOf(50_000, { icons: { updateTime: later } })), 'not compared');
  assert.ok(isCurrent(passOf({ only: 'notes' }), tipOf(50_000, { tokens: { updateTime: later } })), 'not in it');
  for (const moved of [{ updateTime: later }, { updateTime: null }, { createTime: later }])
    assert.equal(isCurrent(passOf(), tipOf(10, { tokens: moved })), false, JSON.stringify(moved));
  const gone = tipOf(10, {}, { facts: new Map() });
  assert.equal(isCurrent(passOf(), gone), false);
});

test('one that began after its caller looked has what that saw', () => {
  assert.ok(isCurrent(passOf(null, null, tipOf(20)), tipOf(10, { tokens: { updateTime: later } })));
});

test('a table whose time of change the server forgot is known until the server starts again', () => {
  const forgotten = { tokens: { updateTime: null } };
  const pass = passOf(null, 100, tipOf(0, forgotten));
  assert.ok(isCurrent(pass, tipOf(10, { tokens: { updateTime: null, started: 501 } })), 'a clock reading');
  for (const other of [{ started: 530 }, { rows: 0 }])
    assert.equal(isCurrent(pass, tipOf(10, { tokens: { updateTime: null, ...other } })), false, JSON.stringify(other));
});

test('a pass is not shared for longer than a minute or 20 times what it took; one of tables that just changed for less', () => {
  assert.equal(isCurrent(passOf(), tipOf(60_001)), false);
  assert.ok(isCurrent(passOf(null, 10_000), tipOf(200_000)));
  assert.equal(isCurrent(passOf(null, 10_000), tipOf(200_001)), false);
  assert.ok(isCurrent(passOf(null, null), tipOf(900_000)), 'it is being made');
  const fresh = { tokens: { isFresh: true } };
  const pass = passOf(null, 100, tipOf(0, fresh));
  assert.ok(isCurrent(pass, tipOf(10_000, fresh)));
  assert.equal(isCurrent(pass, tipOf(10_001, fresh)), false);
});

test('a pass is of one state of the chain, and of what its source knows of it', () => {
  for (const other of [{ height: 8 }, { reorgs: 1 }, { amendments: 1 }, { learned: 'id' }, { fingerprint: 'g' }])
    assert.equal(isCurrent(passOf(), tipOf(10, {}, other)), false, JSON.stringify(other));
  assert.equal(isCurrent({ ...passOf(), isStale: true }, tipOf(10)), false);
});
