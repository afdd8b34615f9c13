import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { atEnd } from '../support/cleanup.ts';
import { createDatabase } from '../support/mariadb.ts';
import { startProgram } from '../support/service-process.ts';
import { appendBlocks, createDecoder } from '../support/sync/generated-decoder.ts';
import { appendBlocks as appendIndexerBlocks, createIndexer } from '../support/sync/generated-indexer.ts';
import { PAIR_KEY, startPair } from '../support/sync/sync-pair.ts';
import { eventually } from '../support/sync/sync-process.ts';

const NEW_BLOCKS = 3;
const path = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));

test('the examples download a snapshot of a real server and follow its blocks without a gap', async () => {
  const source = await createDatabase('examples');
  await createDecoder(source, { seed: 'examples', blocks: 20, rows: 200 });
  const first = await appendBlocks(source, 1, 'first');
  const { server } = await startPair('decoder', source);
  const database = 'decoder/litecoin/regtest';
  const env = { SYNC_API_KEY: PAIR_KEY, POLL_S: '0.2' };
  const examples = [
    startProgram(path('scripts/run-node'), [path('docs/examples/follow.ts'), server.url, database], env),
    startProgram(path('docs/examples/follow.sh'), [server.url, database], env)
  ];
  const prints = (wanted: RegExp) =>
    eventually(`each example prints ${wanted}`, async () => {
      for (const { child, output } of examples) assert.equal(child.exitCode, null, output());
      return examples.every(({ output }) => wanted.test(output()));
    });
  await prints(new RegExp(`^snapshot: [1-9]\\d* bytes of JSON at block ${first}$`, 'm'));
  const last = await appendBlocks(source, NEW_BLOCKS, 'followed');
  await prints(new RegExp(`^block ${last}$`, 'm'));
  const [stream] = examples;
  for (let height = first + 1; height <= last; height += 1) assert.ok(stream!.output().includes(`block ${height}\n`));
});

/** Packages that the declarations name; npm would install them beside the library. */
const NAMED = ['typebox', 'xstate', '@types'];
const LIBRARY_EXAMPLES = ['library-client.ts', 'library-machines.ts'];

/** Packs the library, and unpacks it as a dependency of an empty program with both examples. @returns its directory */
function installLibrary(): string {
  const directory = mkdtempSync(join(tmpdir(), 'platform-library-'));
  atEnd(async () => rmSync(directory, { recursive: true, force: true }));
  const run = (file: string, ...args: string[]) => execFileSync(file, args, { cwd: directory, stdio: 'pipe' });
  execFileSync('npm', ['pack', '--pack-destination', directory], { cwd: path(''), stdio: 'pipe' });
  const [tarball] = readdirSync(directory);
  mkdirSync(join(directory, 'node_modules'));
  run('tar', '-xzf', tarball!);
  run('mv', 'package', 'node_modules/platform-node');
  for (const name of NAMED) symlinkSync(path(`node_modules/${name}`), join(directory, 'node_modules', name));
  for (const name of LIBRARY_EXAMPLES) copyFileSync(path(`docs/examples/${name}`), join(directory, name));
  const options = {
    module: 'nodenext',
    target: 'es2024',
    lib: ['es2025', 'dom'],
    strict: true,
    noEmit: true,
    types: ['node']
  };
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ type: 'module' }));
  writeFileSync(
    join(directory, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...options, skipLibCheck: true } })
  );
  run(path('node_modules/.bin/tsc'), '-p', '.');
  return directory;
}

test('platform-node/client and platform-node/machines, from the file of npm pack: typed, and run against a server', async () => {
  const source = await createDatabase('library');
  await createIndexer(source, { seed: 'library', blocks: 20, rows: 200 });
  const { server } = await startPair('indexer', source, { MERKLE_EPOCH_SIZE: 5 });
  const directory = installLibrary();
  // The program itself is no part: it would not run from there.
  const packed = readdirSync(join(directory, 'node_modules', 'platform-node')).sort();
  assert.deepEqual(packed, ['LICENSE', 'README.md', 'dist', 'package.json']);
  const run = (name: string, ...args: string[]) =>
    startProgram(path('scripts/run-node'), [join(directory, name), server.url, ...args], {
      SYNC_API_KEY: PAIR_KEY,
      API_KEY: PAIR_KEY
    });
  const prints = (program: ReturnType<typeof run>, wanted: RegExp) =>
    eventually(`it prints ${wanted}`, async () => {
      assert.equal(program.child.exitCode, null, program.output());
      return wanted.test(program.output());
    });
  const machines = run('library-machines.ts');
  await prints(machines, /^circuitBreaker begins "closed"$/m);
  await prints(machines, /^indexer\/litecoin\/regtest source: \S+$/m);
  await eventually('an epoch is committed', async () => {
    const { body } = await server.get('/transparency/indexer/litecoin/regtest/root/latest');
    return body['epoch'] !== null;
  });
  const client = run('library-client.ts', 'litecoin', 'regtest');
  await prints(client, /^block \d+ is in its epoch: true\nsnapshot at block \d+$/m);
  const last = await appendIndexerBlocks(source, NEW_BLOCKS, 'followed');
  await prints(client, new RegExp(`^block ${last - 1}\nblock ${last}$`, 'm'));
});
