import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

/** A step: a link to its file, and the function to read. */
const STEP = /^\d+\. \[`([^`]+\.ts)`\]\s+`([A-Za-z]+)`/gm;

/** Whether a file declares a function, a method or a constant of that name. */
function declares(source: string, name: string): boolean {
  return new RegExp(
    `^(?:export )?(?:default )?(?:  )?(?:static )?(?:async )?(?:function[*]? |const )?${name}\\b[^\\n;]*[({=<]`,
    'm'
  ).test(source.replace(/^export default /gm, ''));
}

test('each step of the four ways in docs/architecture.md names a function that its file declares', () => {
  const [, section = ''] = readFileSync('docs/architecture.md', 'utf8').split('## Four ways, file by file');
  const steps = [...section.split('\n## ')[0]!.matchAll(STEP)];
  assert.ok(steps.length > 20, `${steps.length} steps`);
  const wrong = steps
    .filter(([, file = '', name = '']) => !existsSync(file) || !declares(readFileSync(file, 'utf8'), name))
    .map(([step]) => step);
  assert.deepEqual(wrong, []);
});

test('the way of a block has as many steps and files as the document says', () => {
  const text = readFileSync('docs/architecture.md', 'utf8');
  const [, way = ''] = text.split("A block, from the source's database to the replica's:");
  const files = [...way.split('\n\nA snapshot:')[0]!.matchAll(STEP)].map(([, file]) => file);
  assert.deepEqual([files.length, new Set(files).size], [15, 14]);
  assert.match(text, /has all fifteen steps, in fourteen files/);
});

test('a function that is only called is not declared', () => {
  assert.equal(declares('  async take(a: number) {', 'take'), true);
  assert.equal(declares('    await take(1);', 'take'), false);
});

test('each file that docs/architecture.md names in brackets is a link to it', () => {
  const text = readFileSync('docs/architecture.md', 'utf8');
  const targets = new Map(
    Array.from(text.matchAll(/^\[`([^`]+)`\]: \.\.\/(.+)$/gm), ([, name = '', target = '']) => [name, target] as const)
  );
  const named = Array.from(text.matchAll(/\[`([^`]+)`\](?!:)/g), ([, name = '']) => name);
  assert.ok(named.length > 20, `${named.length} links`);
  for (const name of named) assert.ok(targets.get(name) === name && existsSync(name), name);
  assert.deepEqual(
    Array.from(targets.keys()).filter((name) => !named.includes(name)),
    []
  );
});

test('docs/architecture.md has a row for each room of src and actors', () => {
  const [, house = ''] = readFileSync('docs/architecture.md', 'utf8').split('\n## The house\n');
  const table = house.split('\n## ')[0]!;
  const rooms = globSync(['src/*/', 'actors/*/']).map((path) => `${path.replace(/\/$/, '')}/`);
  assert.ok(rooms.length > 30, `${rooms.length} rooms`);
  assert.deepEqual(
    rooms.filter((room) => !table.includes(`\`${room}\``)),
    []
  );
});
