import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Logger, silentLogger } from '../../../src/log.ts';
import { lockDirectory } from '../../../src/process/directory-lock.ts';
import { openStateDirectories } from '../../../src/sync/state-directories.ts';
import { atEnd } from '../../support/cleanup.ts';
import { temporaryDirectory } from '../../support/sync/sync-process.ts';

const HOLDER = fileURLToPath(new URL('../../fixtures/lock-holder.ts', import.meta.url));

/** A process that wants the directory, and what it says. */
async function contend(
  directory: string,
  what = 'a holder under test'
): Promise<{ readonly child: ChildProcess; readonly message: string }> {
  const child = fork(HOLDER, [directory, what]);
  atEnd(async () => void child.kill('SIGKILL'));
  const [message] = (await once(child, 'message')) as [string];
  return { child, message };
}

const take = (directory: string) => lockDirectory(directory, 'SYNC_STATE_DIR', 'the test');

test('STATE_LOCKED: a second process is refused, by the name of the first and with the remedy; the first goes on', async () => {
  const directory = temporaryDirectory('lock');
  const { child, message } = await contend(directory);
  assert.equal(message, 'taken');
  assert.equal(statSync(join(directory, 'lock')).mode & 0o777, 0o600);
  const words = `SYNC_STATE_DIR=${directory} is in use by process ${child.pid} on \\S+: set SYNC_STATE_DIR to .*holder=a holder under test`;
  for (let attempt = 0; attempt < 2; attempt++)
    assert.throws(() => take(directory), { code: 'STATE_LOCKED', message: new RegExp(words) });
  child.send('end');
  await once(child, 'exit');
  take(directory).release();
});

test('the lock of a killed process is free at once, also when its process id belongs to another one by then', async () => {
  const directory = temporaryDirectory('lock');
  const { child } = await contend(directory);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const holder = JSON.parse(readFileSync(join(directory, 'lock.json'), 'utf8')) as object;
  writeFileSync(join(directory, 'lock.json'), JSON.stringify({ ...holder, pid: process.pid }));
  const lock = take(directory);
  assert.match((await contend(directory)).message, new RegExp(`in use by process ${process.pid} .*holder=the test`));
  lock.release();
});

test('one of the processes that begin at once has the directory, and another one when that one is killed', async () => {
  const directory = temporaryDirectory('lock');
  for (let round = 0; round < 2; round++) {
    const found = await Promise.all(Array.from({ length: 4 }, () => contend(directory)));
    assert.equal(found.filter(({ message }) => message === 'taken').length, 1);
    for (const { child } of found) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  }
});

test('a lock is let go, and whatever stands beside it names nobody', () => {
  const directory = temporaryDirectory('lock');
  const first = take(directory);
  writeFileSync(join(directory, 'lock.json'), '{"pid":');
  assert.throws(() => take(directory), { code: 'STATE_LOCKED', message: /in use by another process: set/ });
  first.release();
  take(directory).release();
});

test('STATE_UNUSABLE: where no file can be made there is no lock', () => {
  assert.throws(() => take('/proc/self'), {
    code: 'STATE_UNUSABLE',
    message: /^SYNC_STATE_DIR=\/proc\/self cannot be/
  });
});

test('a successor with the same mode and port waits until its predecessor has ended; any other is refused at once', async () => {
  const directory = temporaryDirectory('lock');
  const { child } = await contend(directory, 'the sync server with SYNC_API_PORT=3006');
  const config = {
    SYNC_MODE: 'server',
    SYNC_API_PORT: 3006,
    SYNC_STATE_DIR: directory,
    SNAPSHOT_CACHE_DIR: undefined
  } as const;
  const warnings: string[] = [];
  const log = {
    ...silentLogger,
    warn: (message: string) => {
      warnings.push(message);
      child.kill('SIGKILL');
    }
  } as Logger;
  await assert.rejects(openStateDirectories({ ...config, SYNC_MODE: 'client' }, log), { code: 'STATE_LOCKED' });
  assert.deepEqual(warnings, []);
  const { release } = await openStateDirectories(config, log);
  assert.match(warnings.join(), /^waiting for the process that holds it to end: .* is in use by process /);
  release();
});

test('a successor waits for a predecessor that was killed before it wrote its name', async () => {
  const directory = temporaryDirectory('lock');
  const { child } = await contend(directory, 'anything');
  writeFileSync(join(directory, 'lock.json'), '');
  const config = {
    SYNC_MODE: 'server',
    SYNC_API_PORT: 3006,
    SYNC_STATE_DIR: directory,
    SNAPSHOT_CACHE_DIR: undefined
  } as const;
  const log = { ...silentLogger, warn: () => child.kill('SIGKILL') } as unknown as Logger;
  const { release } = await openStateDirectories(config, log);
  release();
});
