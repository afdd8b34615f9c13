import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { atEnd } from '../cleanup.ts';
import { PATIENCE_MS } from '../patience.ts';
import { recordFile } from '../records.ts';

const COMMAND_LINE = fileURLToPath(new URL('../../../scripts/platform-node', import.meta.url));
const STOP_DEADLINE_MS = 20_000;
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 200;

/** A sync service as an operator runs it: a process of its own, configured by its environment. */
export interface SyncProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** Everything that it logged so far. */
  log(): string;
  /** Body of a GET, with the key when there is one. */
  get(path: string): Promise<{ readonly status: number; readonly body: Record<string, unknown> }>;
  post(path: string): Promise<number>;
  /** Ends it and waits until it is gone. */
  end(signal?: NodeJS.Signals): Promise<void>;
}

/** A private directory that goes after the test file. */
export function temporaryDirectory(label: string): string {
  const directory = mkdtempSync(join(tmpdir(), `platform-${label}-`));
  atEnd(async () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The settings of a client whose replicas are at this server. */
export const replicasAt = ({ host, port, user, pass }: Omit<DatabaseCoordinates, 'name'>) => ({
  REPLICA_DB_HOST: host,
  REPLICA_DB_PORT: String(port),
  REPLICA_DB_USER: user,
  REPLICA_DB_PASS: pass
});

/** Starts a sync service and waits until its front door answers. */
export async function startSyncProcess(
  env: Readonly<Record<string, string | number>>,
  options: readonly string[] = [],
  /** A command that runs another one, with its own arguments. */
  within: readonly string[] = [],
  readyDeadlineMs = PATIENCE_MS
): Promise<SyncProcess> {
  const port = env['SYNC_API_PORT'] ?? (await freePort());
  const directory = temporaryDirectory('sync');
  const logFile = join(directory, 'sync.log');
  const output = await open(logFile, 'a');
  const [program = COMMAND_LINE, ...words] = [...within, COMMAND_LINE, 'sync', '--no-guardian', ...options];
  const environment = {
    PATH: process.env['PATH'],
    SYNC_API_HOST: '127.0.0.1',
    SYNC_API_PORT: String(port),
    SYNC_STATE_DIR: join(directory, 'state'),
    ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, String(value)]))
  };
  recordFile(logFile, environment);
  const child = spawn(program, words, {
    cwd: directory,
    env: environment,
    stdio: ['ignore', output.fd, output.fd]
  });
  await output.close();
  atEnd(() => endChild(child, 'SIGKILL'));
  const url = `http://127.0.0.1:${port}`;
  const headers = env['SYNC_API_KEY'] ? { authorization: `Bearer ${env['SYNC_API_KEY']}` } : {};
  const service: SyncProcess = {
    url,
    child,
    log: () => readFileSync(logFile, 'utf8'),
    get: async (path) => {
      const response = await fetch(`${url}${path}`, { headers, signal: AbortSignal.timeout(30_000) });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    },
    post: async (path) => (await fetch(`${url}${path}`, { method: 'POST', headers })).status,
    end: (signal = 'SIGTERM') => endChild(child, signal)
  };
  await eventually('the front door answers', readyDeadlineMs, async () => {
    if (child.exitCode !== null) throw new Error(`sync ended with ${child.exitCode}:\n${service.log()}`);
    return await service.get('/health').then(
      () => true,
      () => false
    );
  });
  return service;
}

async function endChild(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  const patience = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS);
  await gone;
  clearTimeout(patience);
}

type Condition = () => Promise<boolean>;

/**
 * Waits until the condition holds, looking less often the longer it takes: a look costs both sides some CPU.
 *
 * @param wait the condition, after a limit in milliseconds where the time is part of what is tested
 * @throws {Error} saying what did not happen
 */
export async function eventually(
  what: string,
  ...wait: readonly [holds: Condition] | readonly [deadlineMs: number, holds: Condition]
): Promise<void> {
  const [deadlineMs, holds] = wait.length === 1 ? [PATIENCE_MS, wait[0]] : wait;
  const deadline = Date.now() + deadlineMs;
  for (let pauseMs = FIRST_PAUSE_MS; !(await holds()); pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 1.25)) {
    if (Date.now() > deadline) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await sleep(pauseMs);
  }
}
