import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const DOCSTRING = /\/\*\*([\s\S]*?)\*\//g;
/** A first word that begins a riddle: a function starts with its verb ("Returns"), a value with its noun. */
const RIDDLE = /^[\s*]*(?:What|Of|Whose|Who|Where|How|Which)\b/;

/** Rooms whose docstrings still begin that way. A room leaves the list when its last one is rewritten, and does not come back. */
const NOT_DONE = [
];

/** Returns the lines, counted from 1, on which docstrings of a source begin with one of the seven words. */
function riddles(source: string): number[] {
  return [...source.matchAll(DOCSTRING)]
    .filter(([, text = '']) => RIDDLE.test(text))
    .map(({ index }) => source.slice(0, index).split('\n').length);
}

const found = globSync('{src,actors,machines,workers,web,scripts}/**/*.{ts,tsx,js,mjs}', {
  exclude: (path) => path.includes('node_modules')
})
  .sort()
  .flatMap((file) => riddles(readFileSync(file, 'utf8')).map((line) => `${file}:${line}`));

test('a docstring begins with a verb or a noun, not with What, Of, Whose, Who, Where, How or Which', () => {
  assert.deepEqual(
    found.filter((place) => !NOT_DONE.some((room) => place.startsWith(room))),
    []
  );
});

test('a room that is done is not on the list of rooms that are not', () => {
  assert.deepEqual(
    NOT_DONE.filter((room) => !found.some((place) => place.startsWith(room))),
    [],
    'delete these from NOT_DONE'
  );
});

test('the first word of a docstring is found on the line of its beginning or the next', () => {
  const source = ['/** Who. */', '', '/**', ' * Where it is.', ' */', '/** Whether it is what. */'].join('\n');
  assert.deepEqual(riddles(source), [1, 3]);
});
