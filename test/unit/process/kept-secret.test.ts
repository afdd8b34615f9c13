import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { keptSecret } from '../../../src/process/kept-secret.ts';
import { temporaryDirectory } from '../../support/sync/sync-process.ts';

const FORM = { bytes: 16, what: 'key', remedy: 'remove the file' };

test('a secret that a full disk left empty is made anew; one that is there is kept, by all that begin at once', async () => {
  const directory = temporaryDirectory('secret');
  const path = join(directory, 'key');
  writeFileSync(path, '');
  const first = await keptSecret(path, FORM);
  assert.match(first, /^[0-9a-f]{32}$/);
  assert.equal(readFileSync(path, 'utf8'), `${first}\n`);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(await keptSecret(path, FORM), first);
  const other = join(directory, 'other');
  const [one, two] = await Promise.all([keptSecret(other, FORM), keptSecret(other, FORM)]);
  assert.equal(one, two);
  assert.deepEqual(readdirSync(directory), ['key', 'other']);
});

test('STATE_UNUSABLE: a file that holds something else is left as it is', async () => {
  const path = join(temporaryDirectory('secret'), 'key');
  writeFileSync(path, 'not a key');
  await assert.rejects(keptSecret(path, FORM), { code: 'STATE_UNUSABLE', message: /must hold a key of 32 hex digits/ });
  assert.equal(readFileSync(path, 'utf8'), 'not a key');
});
