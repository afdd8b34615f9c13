import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markOf, ScriptMarks } from '../../../src/coin/script/script-marks.ts';

test('a mark is FNV-1a of a part of the bytes', () => {
  assert.equal(markOf(Buffer.from('')), 0x811c9dc5);
  assert.equal(markOf(Buffer.from('a')), 0xe40c292c);
  assert.equal(markOf(Buffer.from('<foobar>'), 1, 7), 0xbf9cf968);
});

test('marks are kept in order, any number of them, and looked for from a place on', () => {
  const scripts = Array.from({ length: 1_000 }, (_, index) => Buffer.from(`script ${index}`));
  const marks = new ScriptMarks();
  for (const script of scripts) marks.add(script, 0, script.length);
  assert.equal(marks.count, 1_000);
  assert.deepEqual(
    [...marks.toArray()],
    scripts.map((script) => markOf(script))
  );
  const wanted = new Set([markOf(scripts[500]!)]);
  assert.equal(marks.isAnyOf(wanted, 500), true);
  assert.equal(marks.isAnyOf(wanted, 501), false);
});
