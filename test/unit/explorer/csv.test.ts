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

/** A text as a spreadsheet may have it. */
const shown = (text: string) => (/^[=+@\t\r-]/.test(text) && !/^[+-]\d+(?:\.\d+)?$/.test(text) ? `'${text}` : text);

test('what a spreadsheet would run as a formula is a text; numbers stay numbers', () => {
  const written = (value: unknown) => writeCsv(['a'], [{ a: value }]).split('\r\n')[1];
  for (const formula of ['=1+1', '+cmd', '-2+3', '@SUM(A1)', '\tx', '-', '+1e5'])
    assert.equal(written(formula), `'${formula}`);
  assert.equal(written('=HYPERLINK("x","y")'), `"'=HYPERLINK(""x"",""y"")"`);
  assert.equal(written('\r=1'), `"'\r=1"`);
  for (const plain of ['-5', '+5.25', -3, 'a=1', '1-2', "'x"]) assert.equal(written(plain), String(plain));
});

test('any text comes back from CSV, but for the apostrophe of formulas', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.string()), { maxLength: 5 }), (rows) => {
      const written = writeCsv(
        ['a', 'b'],
        rows.map(([a, b]) => ({ a, b }))
      );
      assert.deepEqual(parse(written), [['a', 'b'], ...rows.map((row) => row.map(shown))]);
    })
  );
  assert.equal(writeCsv(['a', 'b'], [{ a: null, b: 1 }]), 'a,b\r\n,1\r\n');
});
