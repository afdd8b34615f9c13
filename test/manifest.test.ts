import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

interface Manifest {
  readonly license: string;
  readonly private: boolean;
  readonly engines: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

const read = (path: string): string => readFileSync(path, 'utf8');
const manifest = JSON.parse(read('package.json')) as Manifest;
const locked = (JSON.parse(read('package-lock.json')) as { packages: Record<string, Manifest> }).packages['']!;

test('LICENSE, package.json and the lockfile say the same: unlicensed, not to be published', () => {
  const [first] = read('LICENSE').split('\n');
  assert.equal(first, manifest.license);
  assert.deepEqual([manifest.license, locked.license, manifest.private], ['UNLICENSED', 'UNLICENSED', true]);
  assert.match(read('LICENSE'), /No licence is granted\./);
  assert.match(read('LICENSE'), /All rights are reserved/);
});

test('engines name what npm needs on the machine; the program runs on the pinned Node, one version everywhere', () => {
  assert.deepEqual(manifest.engines, locked.engines);
  // `npm run` works with this Node; scripts/run-node takes the pinned one.
  assert.deepEqual(manifest.engines, { node: '>=20', npm: '>=10' });
  assert.match(read('README.md'), /with Node 20, npm and apt/);
  assert.match(read('Dockerfile'), /^FROM node:20-/m);
  const pinned = new Set(Object.values(manifest.optionalDependencies));
  assert.deepEqual([...pinned], [process.versions.node]);
});

test('.editorconfig says what Biome formats by', () => {
  const { formatter } = JSON.parse(read('biome.json')) as {
    formatter: { indentStyle: string; indentWidth: number; lineWidth: number };
  };
  const [, everything = ''] = read('.editorconfig').split(/^\[.+\]$/m);
  for (const line of [
    `indent_style = ${formatter.indentStyle}`,
    `indent_size = ${formatter.indentWidth}`,
    `max_line_length = ${formatter.lineWidth}`
  ])
    assert.ok(everything.split('\n').includes(line), line);
});
