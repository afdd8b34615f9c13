import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { test } from 'node:test';

const BASICS = ['src/errors.ts', 'src/wire/', 'src/consensus/', 'src/tally.ts'];
const STATE = ['xstate', 'machines/'];

/**
 * Each room, then the packages and rooms it may import at run time; itself and `import type` are always free.
 * The first prefix that fits a file is its room.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'src/errors.ts': [],
  'src/log.ts': ['node:', 'pino', 'pino-pretty'],
  'src/metrics/': ['prom-client', 'src/tally.ts'],
  'src/tally.ts': [],
  'src/trace.ts': [],
  // Loaded by a dynamic import, and only where it is wanted.
  'src/tracing.ts': ['@fastify/otel', '@opentelemetry/'],
  'src/program.ts': ['node:', 'package.json', 'src/entry-directory.ts'],
  'src/entry-directory.ts': ['node:', 'src/config/', 'src/errors.ts'],
  'src/orphans.ts': ['node:'],
  'src/directory-lock.ts': ['node:', 'src/errors.ts'],
  'src/private-directory.ts': ['node:', 'src/errors.ts'],
  'src/binary-main.ts': ['node:'],
  'src/door/': ['node:', '@fastify/rate-limit', 'src/errors.ts'],
  'src/jsonrpc.ts': ['node:crypto', '@fastify/rate-limit', 'fastify', 'typebox', 'src/errors.ts'],
  'src/config/': ['node:', 'src/coin/', 'src/errors.ts'],
  // What a thread may hold is its own to say.
  'src/wire/parsed-limit.ts': ['node:'],
  'src/wire/': ['typebox', 'src/errors.ts'],
  'src/consensus/': ['node:crypto', 'tweetnacl', 'src/errors.ts'],
  'machines/': ['xstate', 'src/consensus/', 'src/errors.ts'],
  'src/verify/': ['node:', 'mysql2/promise', 'src/errors.ts'],
  'src/db/': ['node:', 'mysql2', ...STATE, ...BASICS],
  'src/coin/': ['node:', 'undici', 'typebox', ...BASICS],
  'src/source/': ['node:', 'undici', 'ws', 'typebox', ...STATE, ...BASICS],
  'src/snapshot/': ['node:', 'lru-cache', 'src/db/', 'src/trace.ts', ...STATE, ...BASICS],
  'src/hub/': [
    'node:',
    'fastify',
    '@fastify/',
    'typebox',
    'undici',
    'src/db/',
    'src/jsonrpc.ts',
    'src/door/',
    ...STATE,
    ...BASICS
  ],
  'src/decoder/': [
    'node:',
    'fastify',
    '@fastify/',
    'typebox',
    'src/coin/',
    'src/db/',
    'src/door/',
    'src/jsonrpc.ts',
    ...STATE,
    ...BASICS
  ],
  'workers/': ['node:', 'src/db/', 'src/snapshot/', ...BASICS],
  'src/http/': ['node:', 'fastify', '@fastify/', 'typebox', 'ws', 'src/door/', 'src/snapshot/', ...STATE, ...BASICS],
  'actors/': [
    ...['node:', 'piscina', 'src/log.ts', 'src/jsonrpc.ts', 'src/program.ts'],
    ...['src/coin/', 'src/db/', 'src/decoder/', 'src/hub/', 'src/snapshot/', 'src/source/'],
    ...STATE,
    ...BASICS
  ],
  // The compositions: they know every room and hold no logic of one.
  'src/sync/': ['node:', 'package.json', 'actors/', 'src/'],
  'src/devnet/': ['node:', 'mysql2/promise', 'actors/', 'src/'],
  'src/cli/': ['node:', 'typebox', 'actors/', 'src/'],
  'src/guardian.ts': ['node:', 'src/config/', 'src/log.ts', 'src/orphans.ts', 'src/program.ts'],
  'src/main.ts': ['src/cli/', 'src/config/', 'src/errors.ts', 'src/guardian.ts', 'src/program.ts']
};

/** Static imports and re-exports, bare imports, and dynamic imports of a literal. */
const IMPORTS = /^(?:import|export) (?!type )[^;]*?from '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gms;

function forbiddenImports(file: string, source: string): string[] {
  const room = Object.keys(MAY_IMPORT).find((prefix) => file.startsWith(prefix));
  if (room === undefined) return [`${file} is in no room`];
  const allowed = [room, ...MAY_IMPORT[room]!];
  return [...source.matchAll(IMPORTS)]
    .map(([, fromStatic, bare, dynamic]) => fromStatic ?? bare ?? dynamic ?? '')
    .map((specifier) => (specifier.startsWith('.') ? posix.join(posix.dirname(file), specifier) : specifier))
    .filter((target) => !allowed.some((prefix) => target.startsWith(prefix)))
    .map((target) => `${file} may not import ${target}`);
}

const files = globSync('{src,actors,machines,workers}/**/*.ts').map((file) => ({
  file,
  source: readFileSync(file, 'utf8')
}));

test('imports point downwards only', () => {
  assert.deepEqual(
    files.flatMap(({ file, source }) => forbiddenImports(file, source)),
    []
  );
});

test('the stand-ins for peers of other makes share no code with the project', () => {
  const allowed = /^(?:node:|ws$|mysql2\/promise$|\.\/)/;
  const stands = globSync('test/support/stand-in/*.ts');
  assert.ok(stands.length > 0);
  for (const file of stands) {
    const imports = [...readFileSync(file, 'utf8').matchAll(/ from '([^']+)'/g)].map(([, target = '']) => target);
    const foreign = imports.filter((target) => !allowed.test(target));
    assert.deepEqual(foreign, [], file);
  }
});

test('the environment is read only in src/config', () => {
  const readers = files.filter(
    ({ file, source }) => !file.startsWith('src/config/') && /\bprocess\.env\b/.test(source)
  );
  assert.deepEqual(
    readers.map(({ file }) => file),
    []
  );
});

test('where the program is on disk, or that it is in one file, is known in one place', () => {
  const knowing = files.filter(({ source }) => /\bimport\.meta\.|\bnode:sea\b/.test(source)).map(({ file }) => file);
  assert.deepEqual(knowing, ['src/binary-main.ts', 'src/program.ts']);
});

test('nothing is compressed synchronously outside workers', () => {
  const blockers = files.filter(
    ({ file, source }) =>
      !file.startsWith('workers/') && /\b(?:gzip|gunzip|deflate|inflate|brotli|zstd|unzip)\w*Sync\b/i.test(source)
  );
  assert.deepEqual(
    blockers.map(({ file }) => file),
    []
  );
});

test('no schema is a record by pattern, which leaves values under names with a line break unchecked', () => {
  const patterned = files.filter(({ source }) => /\bType\.Record\(/.test(source)).map(({ file }) => file);
  assert.deepEqual(patterned, [], 'ByName in src/wire/by-name.ts checks every name');
});

test('a property has the same cases in every run', () => {
  const unseeded = globSync('test/**/*.ts', { exclude: ['test/fuzz/**', 'test/support/fast-check.ts'] }).filter(
    (file) => /^import .*'fast-check'/m.test(readFileSync(file, 'utf8'))
  );
  assert.deepEqual(unseeded, [], 'test/support/fast-check.ts seeds it');
});

test('the rule catches what it is for, and lets types pass', () => {
  const seeded: readonly [file: string, source: string, refused: boolean][] = [
    ['machines/halt.ts', "import { createPool } from 'mysql2/promise';", true],
    ['src/http/routes/status.ts', "import { ActorHandle } from '../../../actors/actor-handle.ts';", true],
    ['src/http/routes/status.ts', "import type { ActorHandle } from '../../../actors/actor-handle.ts';", false],
    ['src/db/pool.ts', "import {\n  a,\n  b\n} from '../../actors/ring.ts';", true],
    ['workers/snapshot.ts', "import fastify from 'fastify';", true],
    ['src/verify/side.ts', "export { connect } from '../db/connection.ts';", true],
    ['src/wire/block.ts', "const fs = await import('node:fs');", true],
    ['src/coin/rows.ts', "import '../db/connection.ts';", true],
    ['src/nowhere/file.ts', '', true],
    ['src/cli/sync.ts', "import { Supervisor } from '../../actors/supervisor.ts';", false]
  ];
  for (const [file, source, refused] of seeded) {
    assert.equal(forbiddenImports(file, source).length > 0, refused, `${file}: ${source}`);
  }
});
