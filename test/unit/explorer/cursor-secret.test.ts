import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ExplorerConfig } from '../../../src/config/services/explorer.ts';
import { cursorSecretOf } from '../../../src/explorer/start/cursor-secret.ts';

test('the secret of cursors is set, or drawn and kept for its owner alone, or drawn for one run with a warning; never a password', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'cursors-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const warnings: unknown[] = [];
  const log = { warn: (...line: unknown[]) => void warnings.push(line) } as never;
  const secretOf = (more: object) =>
    cursorSecretOf({ INDEXER_DB_PASS: 'p', DECODER_DB_PASS: 'p', ...more } as ExplorerConfig, log);

  assert.equal(await secretOf({ EXPLORER_CURSOR_KEY: 'set', EXPLORER_STATE_DIR: '/nowhere' }), 'set');
  const [own, other] = ['own', 'other'].map((name) => ({ EXPLORER_STATE_DIR: join(directory, name) }));
  const kept = await secretOf(own!);
  assert.match(kept, /^[0-9a-f]{64}$/);
  const file = join(directory, 'own', 'explorer-cursors.key');
  assert.deepEqual([statSync(file).mode & 0o777, statSync(join(directory, 'own')).mode & 0o777], [0o600, 0o700]);
  assert.ok(readFileSync(file, 'utf8').includes(kept));
  assert.equal(await secretOf({ ...own, INDEXER_DB_PASS: 'another' }), kept, 'after a restart it is the same');
  assert.notEqual(await secretOf(other!), kept, 'the same password makes another one');
  assert.deepEqual(warnings, []);

  writeFileSync(join(directory, 'file'), '');
  const nowhere = { EXPLORER_STATE_DIR: join(directory, 'file', 'below') };
  const [first, second] = [await secretOf(nowhere), await secretOf(nowhere)];
  assert.match(first, /^[0-9a-f]{64}$/);
  assert.notEqual(first, second);
  assert.match(JSON.stringify(warnings[0]), /set EXPLORER_CURSOR_KEY/);
});
