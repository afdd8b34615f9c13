import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { HALTS, haltOf, remedyOf } from '../../../src/wire/state/halts.ts';

test('each reason of a halt stands in docs/exactness.md as it is, and no other', () => {
  const text = readFileSync(new URL('../../../docs/exactness.md', import.meta.url), 'utf8');
  const [, section = ''] = text.split('\n## Halts\n');
  const rows = section
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  assert.deepEqual(
    rows,
    Object.entries(HALTS).map(([reason, { meaning, remedy }]) => `| \`${reason}\` | ${meaning} | ${remedy} |`)
  );
});

test('a halt says what to do, one that another program recorded too', () => {
  const halt = haltOf('digest-mismatch', { block_index: 7, mismatches: {}, sources: [] });
  assert.equal(remedyOf(halt), HALTS['digest-mismatch'].remedy);
  assert.match(remedyOf({ reason: 'constructor' }), /another program/);
});
