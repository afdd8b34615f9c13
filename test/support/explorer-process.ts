import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../src/devnet/free-port.ts';
import type { DatabaseCoordinates } from '../../src/wire/database.ts';
import { atEnd } from './cleanup.ts';
import { recordPipes } from './records.ts';
import { sql } from './sql.ts';

const MAIN = new URL('../../src/main.ts', import.meta.url).pathname;

interface Databases {
  readonly decoder: DatabaseCoordinates;
  readonly indexer: DatabaseCoordinates;
}

/** The same databases for an account that has the rights of docs/grants.md and no more. */
async function withGrants({ decoder, indexer }: Databases): Promise<Databases> {
  const text = readFileSync(new URL('../../docs/grants.md', import.meta.url), 'utf8');
  const granted = [...text.matchAll(/^GRANT (.*) ON `Platform_LTC_Mainnet_(Decoder|Indexer)`\.\* TO 'explorer'@/gm)];
  assert.deepEqual(
    granted.map(([, rights]) => rights),
    ['SELECT', 'SELECT']
  );
  const account = { user: indexer.name, pass: 'explorer-account-secret' };
  const to = `'${account.user}'@'%'`;
  await sql(
    indexer,
    `CREATE USER IF NOT EXISTS ${to} IDENTIFIED BY '${account.pass}'`,
    ...granted.map(
      ([, rights, name]) => `GRANT ${rights} ON \`${name === 'Decoder' ? decoder.name : indexer.name}\`.* TO ${to}`
    )
  );
  return { decoder: { ...decoder, ...account }, indexer: { ...indexer, ...account } };
}

/** Starts `platform-node explorer` for a bitcoin regtest as a process of its own; it ends with the test file. */
export async function startExplorer(databases: Databases, env: Readonly<Record<string, string>> = {}) {
  const { decoder, indexer } = await withGrants(databases);
  const port = await freePort();
  const account = (prefix: string, { host, port: at, name, user, pass }: DatabaseCoordinates) => ({
    [`${prefix}_DB_HOST`]: host,
    [`${prefix}_DB_PORT`]: String(at),
    [`${prefix}_DB_NAME`]: name,
    [`${prefix}_DB_USER`]: user,
    [`${prefix}_DB_PASS`]: pass
  });
  const environment = {
    PATH: process.env['PATH'],
    NETWORK: 'RBTC',
    ...account('DECODER', decoder),
    ...account('INDEXER', indexer),
    EXPLORER_API_HOST: '127.0.0.1',
    EXPLORER_API_PORT: String(port),
    ...env
  };
  const child = spawn(process.execPath, [MAIN, 'explorer', '--no-guardian'], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe']
  });
  recordPipes(child, environment);
  let output = '';
  child.stdout?.on('data', (chunk) => (output += String(chunk)));
  child.stderr?.on('data', (chunk) => (output += String(chunk)));
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  const stop = async () => {
    child.kill('SIGTERM');
    return await exited;
  };
  atEnd(async () => void (await stop()));
  const url = `http://127.0.0.1:${port}`;
  const deadline = Date.now() + 30_000;
  while ((await fetch(`${url}/readyz`).catch(() => undefined))?.status !== 200) {
    assert.ok(Date.now() < deadline && child.exitCode === null, output);
    await sleep(100);
  }
  return { url, port, stop, output: () => output };
}
