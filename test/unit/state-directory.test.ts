import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openStateDirectory } from '../../src/sync/state-directory.ts';

const base = mkdtempSync(join(tmpdir(), 'platform-state-'));
after(() => rmSync(base, { recursive: true, force: true }));

test('the state directory is made with its parents, private', async () => {
  const path = join(base, 'a', 'b');
  await openStateDirectory(path);
  await openStateDirectory(path);
  assert.equal(statSync(path).mode & 0o777, 0o700);
});

test('STATE_UNUSABLE: a file is in the way, or the file system refuses', async () => {
  writeFileSync(join(base, 'file'), '');
  await assert.rejects(openStateDirectory(join(base, 'file', 'below')), { code: 'STATE_UNUSABLE' });
  await assert.rejects(openStateDirectory('/proc/nothing/below'), { code: 'STATE_UNUSABLE' });
});
