import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

test('every test that docs/promises.md names is there', () => {
  const text = readFileSync('docs/promises.md', 'utf8');
  const rows = text.split('\n').filter((line) => line.startsWith('| ') && line.includes('`'));
  for (const row of rows) {
    const names = row.match(/`[\w/*.-]+\.test\.ts`/g) ?? [];
    let directory = '';
    for (const quoted of names) {
      const name = quoted.slice(1, -1);
      if (name.includes('/')) directory = name.slice(0, name.lastIndexOf('/') + 1);
      const path = name.includes('/') ? name : directory + name;
      assert.ok(globSync(path).length > 0, `${path} in: ${row}`);
    }
  }
  assert.ok(rows.length > 10);
});

test('every promise names the test or the command that shows it', () => {
  const text = readFileSync('docs/promises.md', 'utf8');
  const [table = ''] = /^\| what fails \|[\s\S]*?\n\n/m.exec(text) ?? [];
  const [, , ...rows] = table.trim().split('\n');
  const bare = rows.filter((row) => !/`[\w/*.-]+\.test\.ts`|`npm run /.test(row.split(' | ').at(-1)!));
  assert.deepEqual(bare, []);
  assert.ok(rows.length > 30);
});
