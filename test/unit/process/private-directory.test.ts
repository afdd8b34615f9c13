import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openPrivateDirectory } from '../../../src/process/private-directory.ts';

const base = mkdtempSync(join(tmpdir(), 'platform-private-'));
after(() => rmSync(base, { recursive: true, force: true }));

const modeOf = (path: string) => statSync(path).mode & 0o7777;

test('a private directory is made with its parents, which are private too', async () => {
  const path = join(base, 'a', 'b');
  await openPrivateDirectory(path, 'SYNC_STATE_DIR');
  await openPrivateDirectory(path, 'SYNC_STATE_DIR');
  assert.deepEqual([modeOf(join(base, 'a')), modeOf(path)], [0o700, 0o700]);
});

test('a directory that was there keeps its mode', async () => {
  const path = join(base, 'readable');
  mkdirSync(path);
  chmodSync(path, 0o755);
  await openPrivateDirectory(path, 'SNAPSHOT_CACHE_DIR');
  assert.equal(modeOf(path), 0o755);
});

test('STATE_UNUSABLE: a directory that others can write to is refused by the name of its variable, and stays as it is', async () => {
  for (const mode of [0o1777, 0o770, 0o2775, 0o702]) {
    const path = join(base, `open-${mode.toString(8)}`);
    mkdirSync(path);
    chmodSync(path, mode);
    await assert.rejects(openPrivateDirectory(path, 'SNAPSHOT_CACHE_DIR'), {
      code: 'STATE_UNUSABLE',
      message: new RegExp(`^SNAPSHOT_CACHE_DIR=${path} can be written to by other users \\(mode ${mode.toString(8)}\\)`)
    });
    assert.equal(modeOf(path), mode);
  }
});

test('STATE_UNUSABLE: a directory of another user', async (t) => {
  const path = join(base, 'foreign');
  mkdirSync(path, { mode: 0o700 });
  // Only root can give a directory away; for all others the user changes.
  if (process.getuid?.() === 0) chownSync(path, 12_345, 12_345);
  else t.mock.method(process as { getuid: () => number }, 'getuid', () => 12_345);
  await assert.rejects(openPrivateDirectory(path, 'SYNC_STATE_DIR'), {
    code: 'STATE_UNUSABLE',
    message: /belongs to another user \(uid \d+\)/
  });
});

test('STATE_UNUSABLE: a file is in the way, or the file system refuses', async () => {
  writeFileSync(join(base, 'file'), '');
  for (const path of [join(base, 'file'), join(base, 'file', 'below'), '/proc/nothing/below'])
    await assert.rejects(openPrivateDirectory(path, 'SYNC_STATE_DIR'), { code: 'STATE_UNUSABLE' });
});
