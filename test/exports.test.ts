import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const NAME = /[A-Za-z_$][\w$]*/g;
const EXPORT =
  /^export (?:async )?(?:const|let|function\*?|(?:abstract )?class|interface|type|enum) ([A-Za-z_$][\w$]*)/gm;
/** `src/cli/commands.ts` computes these names; a service that a test writes has its own. */
const COMPUTED = /^(src\/cli\/commands\/\w+\.ts: \w+Command|test\/e2e\/new-service\.test\.ts: startClock)$/;

/** Returns the exports that no other file names, as `path: name`. @param files sources by path */
function unusedExports(files: ReadonlyMap<string, string>): string[] {
  /** The first file that has a word; null when several have it. */
  const places = new Map<string, string | null>();
  for (const [path, source] of files)
    for (const [word] of source.matchAll(NAME)) {
      const place = places.get(word);
      if (place === undefined) places.set(word, path);
      else if (place !== path) places.set(word, null);
    }
  return [...files].flatMap(([path, source]) =>
    [...source.matchAll(EXPORT)].filter(([, name]) => places.get(name!) === path).map(([, name]) => `${path}: ${name}`)
  );
}

test('only what another file names is exported', () => {
  const paths = globSync('{src,actors,machines,workers,web,scripts,test,lab,docs/examples}/**/*.{ts,tsx,mjs}');
  const files = new Map(paths.map((path) => [path, readFileSync(path, 'utf8')]));
  assert.ok(files.size > 1_500, `${files.size} files`);
  assert.deepEqual(
    unusedExports(files).filter((place) => !COMPUTED.test(place)),
    []
  );
});

test('an export that its own file alone uses is found', () => {
  const files = new Map([
    ['a.ts', 'export const used = 1;\nexport function alone() {}\nexport interface Used {}\nalone();\n'],
    ['b.ts', "import { used, type Used } from './a.ts';\nconst local = 1;\n"]
  ]);
  assert.deepEqual(unusedExports(files), ['a.ts: alone']);
});
