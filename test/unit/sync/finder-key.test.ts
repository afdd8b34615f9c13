import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { keyLiteral } from '../../../src/db/keys.ts';
import { openFinderKey } from '../../../src/sync/finder-key.ts';

const base = mkdtempSync(join(tmpdir(), 'platform-finder-'));
after(() => rmSync(base, { recursive: true, force: true }));

test("the finder's key is made once, is private, and is the same at the next start", async () => {
  const key = await openFinderKey(base);
  assert.match(key, /^[0-9a-f]{32}$/);
  assert.equal(await openFinderKey(base), key);
  assert.equal(statSync(join(base, 'finder.key')).mode & 0o777, 0o600);
  rmSync(join(base, 'finder.key'));
  assert.notEqual(await openFinderKey(base), key);
});

test('STATE_UNUSABLE: a key that is none is not replaced, nor is one made where nothing can be written', async () => {
  writeFileSync(join(base, 'finder.key'), 'short\n');
  await assert.rejects(openFinderKey(base), { code: 'STATE_UNUSABLE' });
  await assert.rejects(openFinderKey(join(base, 'nowhere')), { code: 'STATE_UNUSABLE' });
});

test('nothing but a key becomes one in SQL', () => {
  assert.equal(keyLiteral('ab'.repeat(16)), `'${'ab'.repeat(16)}'`);
  for (const bad of ['', "' OR 1", 'ab'.repeat(17), 'AB'.repeat(16)]) assert.throws(() => keyLiteral(bad));
});
