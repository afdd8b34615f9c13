import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseDatabaseUrl } from '../../../src/verify/side.ts';

test('a database URL names host, port, account and database, or a socket', () => {
  assert.deepEqual(parseDatabaseUrl('mysql://me:p%40ss@db.example:3307/Platform_LTC'), {
    host: 'db.example',
    port: 3307,
    user: 'me',
    pass: 'p@ss',
    name: 'Platform_LTC'
  });
  assert.equal(parseDatabaseUrl('mysql://me@[::1]/x').host, '::1');
  assert.equal(parseDatabaseUrl('mysql://me@localhost/x?socket=/run/m.sock').socketPath, '/run/m.sock');
});

test('COMMAND_INVALID: what is no database URL, without a word of the password', () => {
  for (const text of ['', 'nonsense', 'http://a:secret@b/c', 'mysql://a:secret@b', 'mysql://a:secret@b/c/d'])
    assert.throws(
      () => parseDatabaseUrl(text),
      (error: Error & { code: string }) => error.code === 'COMMAND_INVALID' && !error.message.includes('secret'),
      text
    );
});

test('verify shares no code with what it checks', () => {
  const room = new URL('../../../src/verify/', import.meta.url);
  for (const file of readdirSync(room))
    for (const [, specifier = ''] of readFileSync(new URL(file, room), 'utf8').matchAll(/ from '([^']+)'/g))
      assert.match(
        specifier,
        /^(\.\/[\w-]+\.ts|\.\.\/errors\.ts|mysql2\/promise|node:.+)$/,
        `${file} imports ${specifier}`
      );
});
