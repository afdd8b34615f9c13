import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { knownAmount } from '../../../src/consensus/amount.ts';
import { hasCode } from '../../../src/errors.ts';

/** Code that reads amounts or numbers of others. */
const CODE = '{src,actors,machines,workers}/**/*.ts';
/** Arguments of a call, with calls among them two deep. */
const INNER = String.raw`\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)`;
/** A reader that tells by null that a text is none, and 0 in its place; or null among the amounts that are compared. */
const FAILED_READ = new RegExp(
  [
    String.raw`\b(?:parse|read)\w*${INNER}\)*\s*(?:\?\?|\|\|)\s*0n?\b`,
    String.raw`\]\?\.\w+\s*\?\?\s*0n`,
    String.raw`\bparse\w*Amount${INNER}!\s*(?:[<>]|===)(?!\s*0n\b)`
  ].join('|'),
  'g'
);
/** Lines that are right: there is no row, which is not a text that cannot be read. */
const RIGHT: readonly (readonly [file: string, code: string])[] = [
  ['src/replication/source/reading/group-reader.ts', 'readFirstHeight(connection)) ?? 0']
];

const failedReads = (code: string) => [...code.matchAll(FAILED_READ)].map(([found]) => found.replaceAll(/\s+/g, ' '));

test('no text that cannot be read becomes 0', () => {
  const files = globSync(CODE);
  assert.ok(files.length > 500, `${files.length} files`);
  const found = files.flatMap((file) => failedReads(readFileSync(file, 'utf8')).map((code) => [file, code] as const));
  const wrong = found.filter(([file, code]) => !RIGHT.some(([own, right]) => own === file && code.includes(right)));
  assert.deepEqual(wrong, []);
});

test('the rule finds a reader whose failure is 0, over several lines too', () => {
  for (const code of [
    'const price = text === undefined ? 0n : (parseAmount(text) ?? 0n);',
    "extensions.push(readIndex(nameFields(fields, FORMATS[2], rest).get('EXPIRATION')) ?? 0);",
    'const amount = readDecimal(\n  row.amount\n) ||\n  0n;',
    'return { vout, amount: outputs[vout]?.amount ?? 0n, lock };',
    'signers.filter(({ stake }) => parseAmount(stake)! >= least)'
  ])
    assert.equal(failedReads(code).length, 1, code);
  for (const code of [
    'sums.get(key) ?? 0n',
    'knownAmount(text) >= least',
    'before?.amount ?? 0n',
    'parseAmount(text) ?? null'
  ])
    assert.deepEqual(failedReads(code), [], code);
});

test('INTERNAL: an amount that was checked when it was written, and is none', () => {
  assert.equal(knownAmount('1.5'), 15n * 10n ** 17n);
  for (const text of ['', '-1', '1e3', '9'.repeat(41), '1.'])
    assert.throws(
      () => knownAmount(text),
      (caught) => hasCode(caught, 'INTERNAL')
    );
});
