import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { DOC_COLUMNS, docFiles, eachLine, isPlain, wrapDoc } from '../scripts/wrap-docs.ts';
import fc from './support/fast-check.ts';

test('documents end their lines at 100 columns, but for tables and code; if not: npm run wrap', () => {
  const long: string[] = [];
  for (const path of docFiles()) {
    let number = 0;
    eachLine(readFileSync(path, 'utf8'), (line, isCode) => {
      number += 1;
      const hasPlace = /\S\s+\S/.test(line.trimStart().replace(/^([-*]|\d+\.)\s+/, ''));
      if (line.length > DOC_COLUMNS && isPlain(line, isCode) && hasPlace) long.push(`${path}:${number}`);
    });
  }
  assert.deepEqual(long, []);
});

test('no entry of the changelog stands twice', () => {
  const entries = readFileSync('CHANGELOG.md', 'utf8')
    .split(/^(?=- |#)/m)
    .filter((entry) => entry.startsWith('- '))
    .map((entry) => entry.replace(/\s+/g, ' '));
  assert.deepEqual(
    entries.filter((entry, index) => entries.indexOf(entry) < index),
    []
  );
});

test('every link between documents leads somewhere, and docs/README.md names every page', () => {
  const index = readFileSync('docs/README.md', 'utf8');
  for (const path of docFiles()) {
    const text = readFileSync(path, 'utf8');
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s#]+)(?:#[^)\s]*)?\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      assert.ok(existsSync(join(dirname(path), target)), `${path} links to ${target}`);
    }
    if (/^docs\/[^/]+\.md$/.test(path) && path !== 'docs/README.md')
      assert.ok(index.includes(`(${path.slice('docs/'.length)})`), `docs/README.md does not name ${path}`);
  }
});

test('property: wrapping changes no word, and nothing the second time', () => {
  const word = fc.oneof(
    fc.stringMatching(/^[a-z.,`()]{1,14}$/),
    fc.constantFrom('-', '1.', '#', '|', '*', 'x'.repeat(120))
  );
  const paragraph = fc.array(word, { minLength: 1, maxLength: 60 }).map((words) => `w ${words.join(' ')}`);
  const document = fc.array(
    fc.oneof(
      paragraph,
      paragraph.map((text) => `- ${text}\n  ${text}`),
      fc.constant('```sh\na  b   c\n```'),
      fc.constant('| a  | b |\n|---|---|'),
      fc.constant('    code  here')
    ),
    { maxLength: 6 }
  );
  fc.assert(
    fc.property(document, (parts) => {
      const text = parts.join('\n\n');
      const wrapped = wrapDoc(text);
      assert.deepEqual(wrapped.split(/\s+/), text.split(/\s+/));
      assert.equal(wrapDoc(wrapped), wrapped);
    })
  );
});
