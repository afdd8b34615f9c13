import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const DOCSTRING = /\/\*\*([\s\S]*?)\*\//g;
/** Beginnings of a riddle: the docstring of a function starts with its verb ("Returns"), that of a value with its noun. */
const RIDDLE =
  /^[\s*]*(?:What|Of|Whose|Whom|Who|Where|How|Which|That|Those|Told|Between|So (?:many|much|long|often)|(?:Under|By|At|After|In|From|To|With|For|Since) (?:which|what|whom|how|when)|Since when)\b/;

/** Returns the lines, counted from 1, on which docstrings of a source begin with a riddle. */
function riddles(source: string): number[] {
  return [...source.matchAll(DOCSTRING)]
    .filter(([, text = '']) => RIDDLE.test(text))
    .map(({ index }) => source.slice(0, index).split('\n').length);
}

const found = globSync('{src,actors,machines,workers,web,scripts,test,lab}/**/*.{ts,tsx,js,mjs}', {
  exclude: (path) => path.includes('node_modules') || path.endsWith('voice.test.ts') // which quotes some
})
  .sort()
  .flatMap((file) => riddles(readFileSync(file, 'utf8')).map((line) => `${file}:${line}`));

test('a docstring begins with a verb or a noun, not with What, Of, Whose, Where or By which', () => {
  assert.deepEqual(found, []);
});

test('the beginning of a docstring is found on its first line or the next', () => {
  const docstrings = [
    '/** Who. */',
    '',
    '/**\n * Where it is.\n */',
    '/** Whether it is what. */',
    '/** By which it is. */'
  ];
  assert.deepEqual(riddles(docstrings.join('\n')), [1, 3, 7]);
});

/** A docstring with the line behind it. */
const FOLLOWED = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n([^\n]*)/g;
/** The line behind a docstring that declares a function or a method. */
const FUNCTION =
  /^\s*(?:export )?(?:default )?(?:(?:private|static|override) )*(?:async )?(?:function\b|\*?#?(?!constructor|if|for|while|return|switch)\w+(?:<[^>]*>)?\([^;]*$)/;
/** Beginnings of a function's docstring: a verb in the third person, or a tag. */
const VERB = /^[\s*]*(?:@|[A-Z][a-z]+s\b)/;
/** Docstrings of functions that may begin otherwise, of a thousand. */
const MOST_OTHERS = 5;

test('the docstring of a function begins with its verb', () => {
  const others: string[] = [];
  let count = 0;
  for (const file of globSync('{src,actors,machines,workers,web,scripts}/**/*.ts').sort()) {
    const source = readFileSync(file, 'utf8');
    for (const { 1: text = '', 2: line = '', index } of source.matchAll(FOLLOWED)) {
      if (!FUNCTION.test(line)) continue;
      count += 1;
      if (!VERB.test(text)) others.push(`${file}:${source.slice(0, index).split('\n').length}`);
    }
  }
  assert.ok(count > 3_500, `${count} functions`);
  assert.ok(others.length * 1_000 <= count * MOST_OTHERS, others.join('\n'));
});

/** Titles of tests, each up to its end or its first part that is computed. */
const TITLE = /^\s*test\(\s*(['"`])(.*?)(?:\1|\$\{)/gm;

test('a title of a test begins with its subject, not with what, who, of, where or whatever', () => {
  const titles = globSync('{test,lab}/**/*.ts', { exclude: (path) => path.includes('node_modules') })
    .sort()
    .flatMap((file) => [...readFileSync(file, 'utf8').matchAll(TITLE)].map(([, , title = '']) => ({ file, title })));
  assert.ok(titles.length > 2_000, String(titles.length));
  assert.deepEqual(
    titles.filter(({ title }) =>
      /^(?:what|whatever|who|whoever|whose|whom|of|where|how|which|that|those)\b/.test(title)
    ),
    []
  );
});
