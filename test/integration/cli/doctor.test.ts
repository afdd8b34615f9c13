import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RIGHTS } from '../../../src/config/rights.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { runCommandLine } from '../../support/command-line.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { databaseEnv } from '../../support/service-process.ts';
import { sql } from '../../support/sql.ts';

test('doctor finds what an account lacks, gives the statement that ends it, and finds nothing afterwards', async () => {
  const database = await createDatabase('doctor');
  const account = { ...database, user: database.name.slice(0, 60), pass: 'doctor-account-secret' };
  const user = `'${account.user}'@'%'`;
  const [missing, ...rights] = RIGHTS.hub.HUB.toReversed();
  await sql(
    database,
    `CREATE USER ${user} IDENTIFIED BY '${account.pass}'`,
    `GRANT ${rights.join(', ')} ON \`${database.name}\`.* TO ${user}`
  );
  const env = { ...databaseEnv('HUB', account), HUB_HOST: '127.0.0.1', HUB_PORT: String(await freePort()) };
  const ask = async () => {
    const { code, stdout, stderr } = await runCommandLine(['doctor', '--json'], env);
    assert.doesNotMatch(stdout + stderr, /doctor-account-secret/);
    return { code, found: JSON.parse(stdout) as { state: string; check: string; remedy: string }[] };
  };
  const before = await ask();
  const faults = before.found.filter(({ state }) => state === 'fault');
  assert.deepEqual([before.code, faults.map(({ check }) => check)], [1, [`rights on ${database.name}`]]);
  const statement = faults[0]!.remedy.split(';', 1)[0]!;
  assert.equal(statement, `GRANT ${missing} ON \`${database.name}\`.* TO ${user}`);
  await sql(database, statement);
  const after = await ask();
  assert.deepEqual([after.code, after.found.filter(({ state }) => state !== 'ok')], [0, []]);
  assert.ok(after.found.some(({ check }) => check.startsWith('clock of MariaDB')));
  assert.equal((await runCommandLine(['doctor', 'hub'], { ...env, HUB_DB_PASS: 'not-the-password' })).code, 1);
});
