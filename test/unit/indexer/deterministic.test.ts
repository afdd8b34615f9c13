import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

/** Rooms whose results are rows of the ledger. */
const ROOMS = 'src/indexer/{actions,definitions,fees,offers,polls,rules,staking,state}/**/*.ts';
/** Whatever differs between two machines, two moments or two runs; floats round. */
const FOREIGN =
  /Date\.now|new Date\b|performance\.|process\.|Math\.random|random\w*\(|toLocale|localeCompare|Intl\.|parseFloat|\bsqrt|Math\.(pow|log|exp)|\.toFixed/;
/** Looks at the clock that end an attempt: it begins again, and decides nothing. */
const TURNS = new Set(['src/indexer/rules/parts.ts', 'src/indexer/state/scouting.ts']);

test('no row of the ledger depends on a clock, a locale, chance or a float', () => {
  const files = globSync(ROOMS).filter((file) => !TURNS.has(file));
  assert.ok(files.length > 60, `${files.length} files`);
  const lines = files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .map((line, at) => ({ line: line.replace(/^\s*(\*|\/\/|\/\*).*/, ''), where: `${file}:${at + 1}` }))
  );
  assert.deepEqual(
    lines.filter(({ line }) => FOREIGN.test(line)).map(({ where }) => where),
    []
  );
});

test('the rule finds a clock', () => {
  assert.match('const now = Date.now();', FOREIGN);
  assert.match("names.sort((a, b) => a.localeCompare(b, 'en'))", FOREIGN);
});
