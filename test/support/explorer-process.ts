import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { atEnd } from './cleanup.ts';
import { PATIENCE_MS } from './patience.ts';
import { databaseEnv, startServiceProcess } from './service-process.ts';
import { sql } from './sql.ts';

interface Databases {
  readonly decoder: DatabaseCoordinates;
  readonly indexer: DatabaseCoordinates;
}

/** The same databases for an account that has the rights of docs/operating/grants.md and no more. */
async function withGrants({ decoder, indexer }: Databases): Promise<Databases> {
  const text = readFileSync(new URL('../../docs/operating/grants.md', import.meta.url), 'utf8');
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

/** Starts `platform-node explorer` for a bitcoin regtest as a process of its own; it ends with the test file. `indexer` is how it reads. */
export async function startExplorer(databases: Databases, env: Readonly<Record<string, string>> = {}) {
  const { decoder, indexer } = await withGrants(databases);
  const running = await runExplorer({
    NETWORK: 'RBTC',
    ...databaseEnv('DECODER', decoder),
    ...databaseEnv('INDEXER', indexer),
    ...env
  });
  return { ...running, indexer };
}

/** The same with nothing set that names a database. */
export async function runExplorer(env: Readonly<Record<string, string>>) {
  const port = await freePort();
  const { child, exited, output } = startServiceProcess('explorer', {
    EXPLORER_API_HOST: '127.0.0.1',
    EXPLORER_API_PORT: String(port),
    ...env
  });
  const stop = async () => {
    child.kill('SIGTERM');
    return await exited;
  };
  atEnd(async () => void (await stop()));
  const url = `http://127.0.0.1:${port}`;
  const deadline = Date.now() + PATIENCE_MS;
  while ((await fetch(`${url}/readyz`).catch(() => undefined))?.status !== 200) {
    assert.ok(Date.now() < deadline && child.exitCode === null, output());
    await sleep(100);
  }
  return { url, port, stop, output, pid: child.pid! };
}
