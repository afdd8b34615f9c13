import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeCsv } from '../../../src/explorer/read/csv.ts';
import fc from '../../support/fast-check.ts';

/** Fields of CSV, read letter by letter. */
function parse(text: string): string[][] {
  const lines: string[][] = [];
  let [line, field, isQuoted]: [string[], string, boolean] = [[], '', false];
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]!;
    if (isQuoted && sign === '"' && text[at + 1] === '"') field += text[at++];
    else if (sign === '"') isQuoted = !isQuoted;
    else if (isQuoted) field += sign;
    else if (sign === ',') {
      line.push(field);
      field = '';
    } else if (sign === '\n') {
      lines.push([...line, field]);
      [line, field] = [[], ''];
    } else if (sign !== '\r') field += sign;
  }
  return lines;
}

test('any text comes back from CSV as it was', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.string()), { maxLength: 5 }), (rows) => {
      const written = writeCsv(
        ['a', 'b'],
        rows.map(([a, b]) => ({ a, b }))
      );
      assert.deepEqual(parse(written), [['a', 'b'], ...rows]);
    })
  );
  assert.equal(writeCsv(['a', 'b'], [{ a: null, b: 1 }]), 'a,b\r\n,1\r\n');
});
