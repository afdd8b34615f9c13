import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ROOT } from '../scripts/root.ts';

const SCRIPT = join(ROOT, 'scripts', 'commit-subjects.sh');
const directory = mkdtempSync(join(tmpdir(), 'platform-subjects-'));
after(() => rmSync(directory, { recursive: true, force: true }));

/** Checks a message as Git's hook does. @returns the reasons; empty when it passes */
function check(message: string): string {
  const file = join(directory, 'message');
  writeFileSync(file, message);
  const { status, stderr } = spawnSync(join(ROOT, 'scripts', 'hooks', 'commit-msg'), [file], { encoding: 'utf8' });
  assert.equal(status, stderr === '' ? 0 : 1);
  return stderr;
}

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', '-c', 'commit.gpgsign=false', ...args], {
    cwd,
    encoding: 'utf8'
  });
const commit = (cwd: string, subject: string) => git(cwd, 'commit', '--quiet', '--allow-empty', '-m', subject);
const checkNew = (cwd: string) => spawnSync(SCRIPT, ['--new'], { cwd, encoding: 'utf8' });

test('a subject is a room and an imperative of at most 72 characters', () => {
  for (const subject of ['sync: bound the send buffer', 'chain, consensus: name errors', 'chore: release 1.2.3'])
    assert.equal(check(`${subject}\n\nWhy.\n`), '');
  assert.equal(check(`# a comment\nsync: ${'ä'.repeat(66)}\n`), '');
  assert.match(check(`sync: ${'ä'.repeat(67)}\n`), /73 characters, 72 are allowed/);
  assert.match(check('bound the send buffer\n'), /must begin with a room/);
  assert.match(check('Sync: bound the send buffer\n'), /must begin with a room/);
  assert.match(check('sync: bound the send buffer.\n'), /full stop/);
  for (const verb of ['adds', 'added', 'adding', 'fixes', 'removed', 'dropping'])
    assert.match(check(`sync: ${verb} a bound\n`), /must begin with an imperative/);
  assert.equal(check('sync: address a fault\n'), '');
  assert.equal(check("Merge branch 'one'\n"), '');
});

test('only commits that origin does not have are checked', () => {
  const [origin, clone] = [join(directory, 'origin'), join(directory, 'clone')];
  git(directory, 'init', '--quiet', '--initial-branch=main', origin);
  for (const subject of ['An old subject without a room', 'Another']) commit(origin, subject);
  git(directory, 'clone', '--quiet', origin, clone);
  assert.equal(checkNew(clone).status, 0);
  commit(clone, 'sync: bound the send buffer');
  assert.equal(checkNew(clone).status, 0);
  commit(clone, 'Bound another buffer');
  const { status, stderr } = checkNew(clone);
  assert.equal(status, 1);
  assert.match(stderr, /^[0-9a-f]{8}: Bound another buffer\n {2}it must begin with a room/);
  assert.doesNotMatch(stderr, /old subject/);
});

test('a shallow clone without the common commit passes, and so does a repository without origin', () => {
  const [whole, shallow] = [join(directory, 'whole'), join(directory, 'shallow')];
  git(directory, 'init', '--quiet', '--initial-branch=other', whole);
  for (const subject of ['One', 'Two', 'Three']) commit(whole, subject);
  assert.match(checkNew(whole).stderr, /nothing to compare with/);
  assert.equal(checkNew(whole).status, 0);
  git(whole, 'branch', 'main', 'HEAD~2');
  git(directory, 'clone', '--quiet', '--depth=1', '--no-single-branch', `file://${whole}`, shallow);
  git(shallow, 'remote', 'set-head', 'origin', 'main');
  assert.equal(checkNew(shallow).status, 0);
});
