import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const rows = readFileSync('docs/specification.md', 'utf8')
  .split('\n')
  .filter((line) => /^\| [A-Z]{1,4}-\d/.test(line));
const FAMILIES = new Set(rows.map((row) => row.slice(2, row.indexOf('-'))));
/** Title of a test, or of a group of tests. */
const TITLE = /\b(?:test|describe)\(\s*(['"`])((?:\\.|(?!\1).)*)\1/g;
const titlesOf = (file: string) =>
  Array.from(readFileSync(file, 'utf8').matchAll(TITLE), ([, , title = '']) =>
    title.replaceAll("\\'", "'").replaceAll(/\$\{[^}]*\}/g, '…')
  );

test('every test that docs/specification.md names is there', () => {
  assert.ok(rows.length > 250);
  for (const row of rows) {
    const named = [...row.matchAll(/`(test\/[\w/.-]+\.test\.ts)`: "(.*?)"(?=;| \|)/g)];
    assert.ok(named.length > 0, row);
    for (const [, file = '', title = ''] of named)
      assert.ok(titlesOf(file).includes(title.replaceAll('\\|', '|')), `${file}: ${title}`);
  }
});

test('codes of the specification stand in docs/specification.md, and titles have words only', () => {
  const coded = globSync('test/**/*.test.ts').flatMap((file) =>
    titlesOf(file).filter((title) =>
      [...title.matchAll(/\b([A-Z]{1,4})-\d+/g)].some(([, family = '']) => FAMILIES.has(family))
    )
  );
  assert.deepEqual(coded, []);
});
