import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { MIN_BLOCKS } from '../../src/devnet/once.ts';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import type { Summary } from '../../src/devnet/summary.ts';
import { atEnd } from '../support/cleanup.ts';
import { recordPipes } from '../support/records.ts';
import { eventually, temporaryDirectory } from '../support/sync/sync-process.ts';

const KEY = 'key-of-the-binary';
const MAX_BYTES = 131e6;
const BUILD_DEADLINE_MS = 120_000;
const DEVNET_DEADLINE_MS = 180_000;
const DEADLINE_MS = 20_000;

/** Directory with the files from which the Dockerfile makes the image. */
const image = temporaryDirectory('image');
const PROGRAM = '/opt/platform-node/platform-node';
const program = join(image, PROGRAM);
execFileSync('scripts/build/image.sh', [image], { stdio: ['ignore', 'inherit', 'pipe'], timeout: BUILD_DEADLINE_MS });

/** The machine's programs but for Node and what comes with it. */
function pathWithoutNode(): string {
  const path = temporaryDirectory('path');
  for (const directory of ['/usr/sbin', '/usr/bin', '/sbin', '/bin'].filter((name) => existsSync(name)))
    for (const name of readdirSync(directory))
      if (!/^(node|nodejs|npm|npx|corepack)$/.test(name) && !existsSync(join(path, name)))
        symlinkSync(join(directory, name), join(path, name));
  return path;
}

/** Runs the program to its end with nothing but these variables. */
function run(args: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  return execFileSync(program, args, { env, encoding: 'utf8', timeout: DEADLINE_MS, cwd: image });
}

/** Children of a process, of all of its threads, those that have ended and that nobody waited for among them. */
function childrenOf(pid: number): number[] {
  const lists = readdirSync(`/proc/${pid}/task`).map((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim()
  );
  return lists.flatMap((list) => (list === '' ? [] : list.split(' ').map(Number)));
}

test('one file below 131 MB that finds its library beside it, says what it was built from, and what it is made of', () => {
  assert.ok(statSync(program).size < MAX_BYTES, `${statSync(program).size} bytes`);
  assert.match(execFileSync('readelf', ['-d', program], { encoding: 'utf8' }), /runpath: \[\$ORIGIN\]/);
  assert.match(run(['--version']), /^\d+\.\d+\.\d+ \(commit \S+.*, \d{4}-\d\d-\d\d\)\n$/);
  assert.match(run(['--help']), /^ {2}devnet +\S/m);
  const bill = JSON.parse(readFileSync(`${program}.cdx.json`, 'utf8'));
  assert.equal(bill.bomFormat, 'CycloneDX');
  const parts = new Set(bill.components.map(({ name }: { name: string }) => name));
  for (const name of [`node-linux-${process.arch}`, 'fastify', 'mysql2', 'libatomic']) assert.ok(parts.has(name), name);
  assert.ok(!parts.has('typescript'));
  const licences = run(['--licences']);
  assert.equal(licences, readFileSync(`${program}.licences.txt`, 'utf8'));
  for (const { name } of bill.components as readonly { readonly name: string }[])
    assert.ok(licences.includes(`${name}`), `the licence of ${name}`);
  for (const text of [
    /fastify [\d.]+: MIT\n\n.*Permission is hereby granted/s,
    /Apache License/,
    /Node\.js/,
    /GCC RUNTIME LIBRARY EXCEPTION/i
  ])
    assert.match(licences, text);
  for (const library of ['libc6', 'libgcc-s1', 'libstdc++6'])
    assert.ok(existsSync(join(image, 'usr/share/doc', library, 'copyright')), library);
});

/** Not every machine lets its users make namespaces. */
const MAY_ISOLATE = spawnSync('unshare', ['--pid', '--fork', '--mount-proc', 'true']).status === 0;
const noNamespaces = MAY_ISOLATE ? {} : { skip: 'no namespaces may be made here' };

test(
  'in a root directory of its own, without rights: it serves, starts no other program, and leaves nothing behind',
  noNamespaces,
  async () => {
    const port = await freePort();
    const isRoot = process.getuid?.() === 0;
    const user = isRoot ? ['--setuid', '10001', '--setgid', '10001'] : ['--map-root-user'];
    const namespaces = ['--pid', '--fork', '--kill-child', `--root=${image}`, '--mount-proc', ...user];
    const outer = spawn('unshare', [...namespaces, PROGRAM, 'sync'], {
      env: {
        PATH: process.env['PATH'],
        SYNC_MODE: 'server',
        SYNC_API_KEY: KEY,
        SYNC_API_HOST: '127.0.0.1',
        SYNC_API_PORT: String(port),
        HUB_API_HOST: '127.0.0.1',
        HUB_PORT: String(await freePort()),
        SYNC_STATE_DIR: '/var/lib/platform-node'
      },
      stdio: ['ignore', 'pipe', 'inherit']
    });
    recordPipes(outer, { SYNC_API_KEY: KEY });
    outer.stdout.resume();
    atEnd(async () => void outer.kill('SIGKILL'));
    const url = `http://127.0.0.1:${port}`;
    await eventually('it serves', () =>
      fetch(`${url}/livez`).then(
        ({ ok }) => ok,
        () => false
      )
    );
    assert.match(await (await fetch(url)).text(), /<script/);
    run(['status', '--live'], { SYNC_API_PORT: String(port) });
    const [entries] = readdirSync(join(image, 'tmp'));
    assert.equal(statSync(join(image, 'tmp', entries!)).mode & 0o777, 0o700);

    const guardian = childrenOf(outer.pid!)[0]!;
    assert.match(readFileSync(`/proc/${guardian}/status`, 'utf8'), /^NSpid:.*\t1$/m);
    const [, healthCheck = ''] = /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
    const entering = isRoot ? ['--setuid', '10001', '--setgid', '10001'] : ['--user', '--preserve-credentials'];
    const within = ['--target', String(guardian), '--pid', '--mount', '--root', ...entering];
    execFileSync('nsenter', [...within, ...(JSON.parse(healthCheck) as string[])], {
      env: { PATH: process.env['PATH'], SYNC_API_HOST: '127.0.0.1', SYNC_API_PORT: String(port) },
      timeout: DEADLINE_MS
    });
    // Nothing below them starts a program: no process can lose its parent, so nobody waits for such.
    const [service] = childrenOf(guardian);
    assert.deepEqual([childrenOf(guardian).length, childrenOf(service!)], [1, []]);

    process.kill(guardian, 'SIGTERM');
    await ended(outer);
    assert.deepEqual(readdirSync(join(image, 'tmp')), []);
  }
);

test('TEMP_UNUSABLE: no directory for what its threads start from; exit code 73', () => {
  const { status, stderr } = spawnSync(program, ['sync'], { env: { TMPDIR: '/nowhere' }, encoding: 'utf8' });
  assert.equal(status, 73);
  assert.match(stderr, /no directory can be made in \/nowhere.*\n*.*TMPDIR/);
});

test('without Node on the machine: a devnet with two reorgs, its threads killed meanwhile, whose replicas are equal to the row', async () => {
  const home = temporaryDirectory('home');
  const words = ['devnet', '--once', '--blocks', String(MIN_BLOCKS), '--seed', 'binary', '--edges', '2'];
  const devnet = spawn(program, words, {
    cwd: home,
    env: { PATH: pathWithoutNode(), HOME: home, TMPDIR: home },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: DEVNET_DEADLINE_MS
  });
  atEnd(async () => void devnet.kill('SIGTERM'));
  let [stdout, stderr] = ['', ''];
  devnet.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  devnet.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  assert.equal(await ended(devnet), 0, stderr.slice(-4_000) + stdout);
  assert.match(stdout, /^[^\n]+\n$/, 'one line on standard output');
  const { databases, ...summary } = JSON.parse(stdout) as Summary;
  assert.deepEqual(
    [summary.equal, summary.blocks, summary.reorgs, summary.actors_killed],
    [true, MIN_BLOCKS, 2, 3],
    stderr.slice(-4_000)
  );
  assert.equal(databases.length, 2);
  for (const { dbType, height, tables, rows, differences } of databases) {
    assert.deepEqual([height, differences], [MIN_BLOCKS, []], dbType);
    assert.ok(tables > 5 && rows > MIN_BLOCKS, `${dbType}: ${rows} rows in ${tables} tables`);
  }
  const left = readdirSync(home).filter((name) => name.startsWith('platform-node-'));
  assert.deepEqual(left, []);
});

async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}
