import { type ChildProcess, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createConnection } from 'mysql2/promise';
import { environment } from '../../config/environment.ts';
import { findProgram } from '../../config/programs.ts';
import { PlatformError } from '../../errors.ts';
import type { DatabaseCoordinates } from '../../wire/data/database.ts';
import { freePort } from './free-port.ts';
import { spawnLogged } from './spawn-logged.ts';
import { stopChild } from './stop-child.ts';

/** A private MariaDB: own data directory, socket and loopback port. It touches no system service. */
export interface PrivateMariaDb {
  readonly port: number;
  readonly socketPath: string;
  readonly pid: number;
  /** Account with all rights on this instance. */
  readonly root: Omit<DatabaseCoordinates, 'name'>;
  /** Stops the server and waits until its process is gone. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Account of a private MariaDB, which listens on the loopback address only. */
export const PRIVATE_ACCOUNT = { user: 'platform', pass: 'known-to-this-machine' } as const;

/** Name of the data directory below the directory of a private MariaDB. */
export const DATA = 'data';
const LOG = 'mariadb.log';
const LONGEST_SOCKET_PATH = 107;
const START_DEADLINE_MS = 60_000;

/**
 * Starts a private MariaDB in a directory, creating its system tables the first time.
 *
 * @param options further mariadbd options, such as `--max-connections=20`
 * @param fixedPort port of an earlier start; default: a free one
 * @throws {PlatformError} PREREQUISITE_MISSING, PROCESS_EXITED
 */
export async function startMariaDb(
  directory: string,
  options: readonly string[] = [],
  fixedPort?: number
): Promise<PrivateMariaDb> {
  const server = findProgram('mariadbd', ['/usr/sbin/mariadbd', '/usr/bin/mariadbd', '/usr/local/sbin/mariadbd']);
  const dataDirectory = join(directory, DATA);
  const socketPath = socketIn(directory);
  const logFile = join(directory, LOG);
  const temporaryDirectory = temporaryIn(directory);
  if (!existsSync(join(dataDirectory, 'mysql'))) makeDataDirectory(directory);
  const port = fixedPort ?? (await freePort());
  const child = spawnLogged(
    server,
    [
      '--no-defaults',
      `--datadir=${dataDirectory}`,
      `--user=${userInfo().username}`,
      `--tmpdir=${temporaryDirectory}`,
      `--socket=${socketPath}`,
      '--bind-address=127.0.0.1',
      `--port=${port}`,
      `--pid-file=${join(directory, 'mariadb.pid')}`,
      '--skip-name-resolve',
      '--skip-log-bin',
      '--character-set-server=utf8mb4',
      '--innodb-buffer-pool-size=256M',
      '--innodb-flush-log-at-trx-commit=2',
      '--sync-frm=OFF', // 145 tables are made in 0.5 s instead of 5
      '--local-infile=1',
      '--max-connections=300',
      '--performance-schema=OFF',
      ...options
    ],
    logFile
  );
  const root = { host: '127.0.0.1', port, user: 'root', pass: '', socketPath };
  try {
    await waitUntilReady(child, root, logFile);
  } catch (caught) {
    await stopChild(child, 'SIGKILL');
    throw caught;
  }
  return {
    port,
    socketPath,
    pid: child.pid!,
    root: { host: '127.0.0.1', port, ...PRIVATE_ACCOUNT },
    stop: (signal) => stopChild(child, signal)
  };
}

/**
 * Makes the data directory of a private MariaDB with its system tables, in place of an unfinished one.
 *
 * @throws {PlatformError} PREREQUISITE_MISSING
 */
export function makeDataDirectory(directory: string): void {
  rmSync(join(directory, DATA), { recursive: true, force: true });
  const installer = findProgram('mariadb-install-db', ['/usr/bin/mariadb-install-db']);
  const log = openSync(join(directory, LOG), 'a');
  try {
    execFileSync(
      installer,
      [
        '--no-defaults',
        `--datadir=./${DATA}`, // the installer cannot take a path with spaces
        `--user=${userInfo().username}`,
        '--auth-root-authentication-method=normal',
        '--skip-test-db',
        '--skip-name-resolve'
      ],
      { cwd: directory, env: { ...environment, TMPDIR: temporaryIn(directory) }, stdio: ['ignore', log, log] }
    );
  } finally {
    closeSync(log);
  }
}

/** Makes a directory for temporary files: in the shared one a starting server deletes files that others still use. */
function temporaryIn(directory: string): string {
  const path = join(directory, 'tmp');
  mkdirSync(path, { recursive: true });
  return path;
}

/**
 * Returns the path of the socket. A Unix socket's path holds 107 bytes; a longer one moves to the system's temporary
 * directory, named after the data directory.
 */
function socketIn(directory: string): string {
  const path = join(directory, 'm.sock');
  if (Buffer.byteLength(path) <= LONGEST_SOCKET_PATH) return path;
  return join(tmpdir(), `platform-${createHash('sha256').update(directory).digest('hex').slice(0, 16)}.sock`);
}

/** Waits for the server, then creates an account for TCP over the socket: services do not use sockets. */
async function waitUntilReady(
  child: ChildProcess,
  root: { user: string; socketPath: string },
  logFile: string
): Promise<void> {
  const account = `'${PRIVATE_ACCOUNT.user}'@'127.0.0.1'`;
  const identified = `${account} IDENTIFIED BY '${PRIVATE_ACCOUNT.pass}'`;
  const deadline = performance.now() + START_DEADLINE_MS;
  for (;;) {
    if (child.exitCode !== null)
      throw new PlatformError('PROCESS_EXITED', {
        reason: 'mariadbd ended at start',
        exitCode: child.exitCode,
        logFile
      });
    try {
      const connection = await createConnection({ user: root.user, socketPath: root.socketPath });
      await connection.query(`CREATE USER IF NOT EXISTS ${identified}`);
      await connection.query(`ALTER USER ${identified}`);
      await connection.query(`GRANT ALL ON *.* TO ${account} WITH GRANT OPTION`);
      await connection.end();
      return;
    } catch (caught) {
      if (performance.now() > deadline) throw PlatformError.from(caught, 'PROCESS_EXITED', { logFile });
      await sleep(50);
    }
  }
}
