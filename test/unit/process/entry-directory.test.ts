import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { hasCode } from '../../../src/errors.ts';
import { type Entry, EntryDirectory, SHARED_DIRECTORY } from '../../../src/process/entry-directory.ts';
import type { Placing } from '../../support/entry-placer.ts';

const CONTENT = 'export default 1;\n';
const sha256 = createHash('sha256').update(CONTENT).digest('hex');
const entries: Record<string, Entry> = {
  'actors/one.mjs': { sha256, loads: ['chunk.mjs'] },
  'actors/other.mjs': { sha256, loads: [] },
  'chunk.mjs': { sha256, loads: ['late.mjs'] },
  'late.mjs': { sha256, loads: ['chunk.mjs'] }
};
const bytes = () => Buffer.from(CONTENT);

/** Places the first entry. @returns the directory */
function openDirectory(read: (entry: string) => Uint8Array = bytes): string {
  const path = new EntryDirectory(entries, read).place('actors/one.mjs');
  return path.slice(0, -'/actors/one.mjs'.length);
}

const place = mkdtempSync(join(tmpdir(), 'platform-entries-'));
after(() => rmSync(place, { recursive: true, force: true }));
beforeEach(() => {
  process.env['TMPDIR'] = place;
  delete process.env[SHARED_DIRECTORY];
});

test('an entry is written with all that it loads, and nothing else, into a new directory that nobody else may enter', () => {
  const [one, other] = [openDirectory(), openDirectory()];
  assert.notEqual(one, other);
  assert.equal(statSync(one).mode & 0o777, 0o700);
  const files = readdirSync(one, { recursive: true, encoding: 'utf8' }).sort();
  assert.deepEqual(files, ['actors', 'actors/one.mjs', 'chunk.mjs', 'late.mjs']);
  for (const file of files.slice(1)) assert.equal(readFileSync(join(one, file), 'utf8'), CONTENT);
});

test('in a shared directory an entry that was changed is written anew; one that is right is left alone', () => {
  const shared = mkdtempSync(join(place, 'shared-'));
  process.env[SHARED_DIRECTORY] = shared;
  const reads: string[] = [];
  const open = () =>
    openDirectory((entry) => {
      reads.push(entry);
      return bytes();
    });
  assert.equal(open(), shared);
  assert.equal(open(), shared);
  assert.deepEqual(reads.sort(), ['actors/one.mjs', 'chunk.mjs', 'late.mjs']);
  const path = join(shared, 'actors/one.mjs');
  chmodSync(path, 0o600);
  writeFileSync(path, 'export default 2;\n');
  open();
  assert.equal(readFileSync(path, 'utf8'), CONTENT);
});

test('an entry is whole for all readers at any time, and two that place it at once leave no drafts', async () => {
  const shared = mkdtempSync(join(place, 'shared-'));
  const bytes = Buffer.alloc(16 * 2 ** 20, 'entry');
  const entry = { sha256: createHash('sha256').update(bytes).digest('hex'), loads: [] };
  const names = ['first.mjs', 'second.mjs'];
  const placing: Placing = { entries: Object.fromEntries(names.map((name) => [name, entry])), bytes };
  const file = new URL('../../support/entry-placer.ts', import.meta.url);
  const env = { ...process.env, [SHARED_DIRECTORY]: shared };
  let isDone = false;
  const ends = Promise.all([1, 2].map(() => once(new Worker(file, { workerData: placing, env }), 'exit')));
  const ended = ends.finally(() => {
    isDone = true;
  });
  const sizes = new Set<number>();
  while (!isDone) {
    for (const name of names) sizes.add(statSync(join(shared, name), { throwIfNoEntry: false })?.size ?? bytes.length);
    await setImmediate();
  }
  await ended;
  assert.deepEqual([...sizes], [bytes.length]);
  assert.deepEqual(readdirSync(shared).sort(), names);
});

test('TEMP_UNUSABLE: a shared directory that others may enter, one that is none, an entry whose bytes are not its own', () => {
  const open = mkdtempSync(join(place, 'open-'));
  chmodSync(open, 0o755);
  for (const shared of [open, join(place, 'absent')]) {
    process.env[SHARED_DIRECTORY] = shared;
    assert.throws(() => openDirectory(), /is not a private directory of this user/);
  }
  delete process.env[SHARED_DIRECTORY];
  const wrong = () => openDirectory(() => Buffer.from('else'));
  assert.throws(wrong, (error) => hasCode(error, 'TEMP_UNUSABLE') && /does not hold/.test(error.message));
});

test('leftovers of a killed process are removed a day later, and nothing else', () => {
  const left = openDirectory();
  const living = openDirectory();
  const old = new Date(Date.now() - 25 * 3_600_000);
  utimesSync(left, old, old);
  const names = new Set(readdirSync(place));
  openDirectory();
  const gone = [...names].filter((name) => !readdirSync(place).includes(name));
  assert.deepEqual(
    gone.map((name) => join(place, name)),
    [left]
  );
  assert.ok(readdirSync(living).length > 0);
});
