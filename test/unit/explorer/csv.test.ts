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
const shown = (text: string) =>
  text
    .split(/([;\t\r\n])/)
    .map((cell) => {
      if (/^[+-]?\d+(?:\.\d+)?$/.test(cell)) return cell;
      const seen = cell.replace(/^[\s\p{White_Space}\p{C}\p{M}'"]*/u, '').normalize('NFKC');
      return ['=', '+', '-', '@', '\u2212'].includes(seen.charAt(0)) ? `'${cell}` : cell;
    })
    .join('');

test('a formula for a spreadsheet is written as a text; numbers stay numbers', () => {
  const written = (value: unknown) => writeCsv(['a'], [{ a: value }]).split('\r\n')[1];
  for (const formula of ['=1+1', '+cmd', '-2+3', '@SUM(A1)', '-', '+1e5', ' =1', '\u200b=1'])
    assert.equal(written(formula), `'${formula}`);
  assert.equal(written('=HYPERLINK("x","y")'), `"'=HYPERLINK(""x"",""y"")"`);
  assert.equal(written('\r=1'), `"\r'=1"`);
  for (const form of ['\uff1d1', '\ufe66x', '\uff0b1', '\uff0dx', '\uff20A', '\u22125x', '\u207cx'])
    assert.equal(written(form), `'${form}`, 'of another width or height');
  assert.equal(written('a;=1+1'), `"a;'=1+1"`, 'a cell of its own where semicolons separate');
  assert.equal(written('a\t=1'), `"a\t'=1"`);
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
