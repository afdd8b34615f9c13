import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { DOC_COLUMNS, docFiles, eachLine, isPlain, wrapDoc } from '../scripts/documents/wrap.ts';
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
    if (/^docs\/(?:(?:decisions|operating)\/)?[^/]+\.md$/.test(path) && path !== 'docs/README.md')
      assert.ok(index.includes(`(${path.slice('docs/'.length)})`), `docs/README.md does not name ${path}`);
  }
});

/** Returns the anchors of a document's headings, as GitHub makes them. */
function anchorsOf(path: string): Set<string> {
  const anchors = new Set<string>();
  eachLine(readFileSync(path, 'utf8'), (line, isCode) => {
    const [, heading] = /^#+ (.+)$/.exec(line) ?? [];
    if (isCode || heading === undefined) return;
    const slug = heading
      .replace(/\]\([^)]*\)/g, '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-');
    let anchor = slug;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${slug}-${count}`;
    anchors.add(anchor);
  });
  return anchors;
}

test('every link to a part of a document names one of its headings', () => {
  const missing = docFiles().flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/\]\(([^)\s#]*)#([^)\s]+)\)/g)].flatMap(([, target = '', anchor = '']) => {
      if (/^[a-z]+:/.test(target)) return [];
      const page = target === '' ? path : join(dirname(path), target);
      return anchorsOf(page).has(anchor) ? [] : [`${path}: ${target}#${anchor}`];
    })
  );
  assert.deepEqual(missing, []);
});

test('decisions are numbered without a gap, short, and have their four parts', () => {
  const pages = docFiles().filter((path) => path.startsWith('docs/decisions/'));
  for (const [index, path] of pages.entries()) {
    const text = readFileSync(path, 'utf8');
    const number = String(index + 1).padStart(4, '0');
    assert.ok(path.startsWith(`docs/decisions/${number}-`) && text.startsWith(`# ${number}: `), path);
    assert.ok(text.split('\n').length <= 40, `${path} is longer than 40 lines`);
    for (const part of ['Context', 'Decision', 'Figures', 'Consequences'])
      assert.ok(text.includes(`\n**${part}.**`), `${path} has no ${part}`);
    assert.match(text, /`(?:npm (?:run|test)|scripts\/)[^`]*`/, `${path} names no command`);
  }
});

test('every path that a document names is there', () => {
  // The changelog tells of what was.
  for (const path of docFiles().filter((each) => each !== 'CHANGELOG.md')) {
    const named = readFileSync(path, 'utf8').matchAll(
      /`((?:src|actors|machines|workers|test|lab|scripts|web|docs|ops)\/[\w./-]*)`/g
    );
    for (const [, target = ''] of named) assert.ok(existsSync(target), `${path} names ${target}`);
  }
});

test('every Markdown file of the project is a document', () => {
  const exclude = ['node_modules/**', 'dist/**', '.devnet/**', '.test-state/**'];
  assert.deepEqual(globSync('**/*.md', { exclude }).sort(), docFiles());
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
