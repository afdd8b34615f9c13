import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '../../src/db/connection.ts';
import { DATA, PRIVATE_ACCOUNT, type PrivateMariaDb, startMariaDb } from '../../src/devnet/processes/mariadb.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { atEnd } from './cleanup.ts';

type Server = Omit<DatabaseCoordinates, 'name'>;
let shared: Promise<Server> | undefined;

/** The test run's MariaDB: the one that scripts/test.sh started, or a private one for a file that runs alone. */
export function testServer(): Promise<Server> {
  shared ??= open();
  return shared;
}

async function open(): Promise<Server> {
  const port = process.env['PLATFORM_TEST_MARIADB_PORT'];
  if (port) return { host: '127.0.0.1', port: Number(port), ...PRIVATE_ACCOUNT };
  const own = await startOwnServer();
  return own.root;
}

/**
 * Makes a directory for a MariaDB of the calling test file's own, removed after it. A copy of the data directory that
 * scripts/test.sh prepared is in it, since installing takes longer.
 *
 * @param below  directory in which it is made; default: the system's one for temporary files
 */
export function makeServerDirectory(below = tmpdir()): string {
  const directory = mkdtempSync(join(below, 'platform-test-'));
  atEnd(async () => rmSync(directory, { recursive: true, force: true }));
  const prepared = process.env['PLATFORM_TEST_MARIADB_DATA'];
  if (prepared) cpSync(prepared, join(directory, DATA), { recursive: true });
  return directory;
}

/** A MariaDB of the calling test file's own, stopped and removed after it: for tests that stop or kill it. */
export async function startOwnServer(options: readonly string[] = []): Promise<PrivateMariaDb> {
  const starting = startMariaDb(makeServerDirectory(), options);
  // Also when the end comes before it is up.
  atEnd(async () => {
    const server = await starting.catch(() => null);
    await server?.stop();
  });
  return starting;
}

/** An empty database with a name of its own, dropped after the test file. @param on default: the test run's MariaDB */
export async function createDatabase(label = 'db', on?: Server): Promise<DatabaseCoordinates> {
  const server = on ?? (await testServer());
  const name = `t_${label}_${randomBytes(5).toString('hex')}`;
  const connection = await connect(server);
  await connection.query(`CREATE DATABASE \`${name}\``);
  await connection.end();
  dropAfterwards(server, name);
  return { ...server, name };
}

/** Drops a database that the test file makes by other means, when the file ends. */
export function dropAfterwards({ host, port, user, pass }: Server, name: string): void {
  atEnd(async () => {
    const closing = await connect({ host, port, user, pass });
    await closing.query(`DROP DATABASE IF EXISTS \`${name}\``);
    await closing.end();
  });
}
