import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connect } from '../../../src/db/connection.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { recordPipes } from '../../support/records.ts';

const url = ({ host, port, user, pass, name }: DatabaseCoordinates) =>
  `mysql://${user}:${pass}@${host}:${port}/${name}`;

/** The command as an operator calls it. */
async function command(args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const child = spawn('scripts/platform-node', ['verify', ...args], { cwd: root });
  recordPipes(child, {});
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: code as number, out, err };
}

test('the command exits 0 when equal, 1 when different, 64 on wrong usage, 69 when unreachable, 77 when refused', async () => {
  const [source, replica] = [await createDatabase('source'), await createDatabase('replica')];
  const both = ['--source', url(source), '--replica', url(replica)];
  const connection = await connect(source);
  assert.equal((await command(both)).code, 0);
  await connection.query('CREATE TABLE t (a INT)');
  await connection.end();
  const different = await command([...both, '--json']);
  assert.equal(different.code, 1);
  assert.deepEqual(JSON.parse(different.out).tables[0].schema, ['the table is missing in the replica']);
  assert.equal((await command(['--source', url(source)])).code, 64);
  assert.equal((await command(['--source', 'ftp://x/y', '--replica', url(replica)])).code, 64);
  assert.equal((await command([...both, '--table', 'nowhere'])).code, 64);
  const unreachable = await command([
    '--source',
    url({ ...source, port: 1 }),
    '--replica',
    url({ ...replica, pass: 'secret' })
  ]);
  assert.equal(unreachable.code, 69);
  assert.doesNotMatch(unreachable.err, /secret/);
  assert.equal(
    (await command(['--source', url(source), '--replica', url({ ...replica, pass: 'not-the-password' })])).code,
    77
  );
});
