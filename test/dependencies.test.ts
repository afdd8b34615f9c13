import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
}

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'));
const manifest = read('package.json') as Record<string, Record<string, string>>;
const direct = { ...manifest['dependencies'], ...manifest['optionalDependencies'] };
const locked = Object.entries((read('package-lock.json') as { packages: Record<string, Locked> }).packages).filter(
  ([path]) => path !== ''
);

test('every version is exact, and every locked package has a checksum', () => {
  const loose = Object.entries({ ...direct, ...manifest['devDependencies'] }).filter(
    ([, version]) => !/^\d+\.\d+\.\d+$/.test(version)
  );
  assert.deepEqual(loose, []);
  assert.deepEqual(
    locked.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')).map(([path]) => path),
    []
  );
});

test('nothing that the services load runs a script when it is installed', () => {
  const scripted = locked.filter(([, { dev, hasInstallScript }]) => hasInstallScript && !dev);
  assert.deepEqual(scripted, []);
});

test('docs/dependencies.md judges every package that the services load', () => {
  const text = readFileSync('docs/dependencies.md', 'utf8');
  const named = new Set(text.match(/(?:@[\w-]+\/)?[\w-]+/g));
  const missing = Object.keys(direct).filter((name) => !named.has(name) && !name.startsWith('node-'));
  assert.deepEqual(missing, []);
});
