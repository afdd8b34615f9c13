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

/** Names that say nothing of a thing: by what it is, it is a report, a digest of the source, a reason, a line. */
const NO_NAMES =
  /(?<![\w$'])(?:told|said|untold|theirs|ours|want|deal|heir|plant|attend|mute|isSitting|isDeaf|Standing|Biography|[sS]iege|openHouse)(?![\w$'])/g;
/** Fields of log lines and of a halt, which operators read: their names stay. */
const READ_BY_OPERATORS: ReadonlySet<string> = new Set([
  'src/replication/commitment/followed-tree.ts',
  'src/replication/replica/following/follower.ts',
  'src/replication/replica/quorum/source-quorum.ts',
  'src/replication/replica/verifying/audit.ts',
  'src/replication/replica/verifying/index-map.ts',
  'test/integration/actors/replica/roots.test.ts',
  'test/unit/replication/replica/source-quorum.test.ts'
]);
/** Comments, strings, templates and regular expressions. */
const TEXTS =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\$]|\\.|\$(?!\{)|\$\{(?:[^{}`]|\{[^{}]*\}|`[^`]*`)*\})*`|(?<=(?:[(,=:[!&|?{};>]|return)\s*)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//g;

/** Returns the identifiers of a source that name nothing, each with its line. */
function emptyNames(source: string): string[] {
  const code = source.replace(TEXTS, (text) => text.replace(/[^\n]/g, ' '));
  return [...code.matchAll(NO_NAMES)].map(({ 0: name, index }) => `${code.slice(0, index).split('\n').length} ${name}`);
}

test('identifiers name what a thing is: none is told, said, ours or theirs', () => {
  const found = globSync('{src,actors,machines,workers,web,scripts,test,lab}/**/*.{ts,js,mjs}', {
    exclude: (path) => path.includes('node_modules')
  })
    .filter((file) => !READ_BY_OPERATORS.has(file))
    .sort()
    .flatMap((file) => emptyNames(readFileSync(file, 'utf8')).map((at) => `${file}:${at}`));
  assert.deepEqual(found, []);
});

test('a name is found in code, and not in a text or a comment', () => {
  const lines = ['const told = 1; // told', "const a = 'said';", 'f({ ours: /theirs/ });'];
  assert.deepEqual(emptyNames(lines.join('\n')), ['1 told', '3 ours']);
});

/** The field `database` of a log line, as far as it stands beside its call. */
const LOGGED = /\b(?:child|trace|debug|info|warn|error|fatal)\(\s*\{[^{}]*?\bdatabase\b(?::\s*(\w+))?/g;
const KEYS = ['databaseKey', 'actorKey', 'key', 'resource'];

test("the field database of a log line is a key such as indexer/litecoin/mainnet: MariaDB's name is its schema", () => {
  const read = globSync('{src,actors,workers}/**/*.ts').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(LOGGED)].map(([, value]) => ({ file, value }))
  );
  assert.ok(read.length > 10, `${read.length} lines`);
  assert.deepEqual(
    read.filter(({ value }) => !KEYS.includes(value ?? '')),
    []
  );
});
