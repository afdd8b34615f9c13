import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../config/variables.ts';
import { PlatformError } from '../../errors.ts';
import { spawnLogged } from './spawn-logged.ts';

/** A service of the devnet to start as a process. */
export interface ServiceOrder {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Environment;
  /** Working directory. It is not the caller's, whose config.json must not be read. */
  readonly directory: string;
  /** File to which standard output and error are appended. */
  readonly logFile: string;
  /** Returns true once it serves. False or an error leads to another attempt. */
  readonly isReady: () => Promise<boolean>;
}

/** A running service. */
export interface Service {
  readonly name: string;
  readonly pid: number;
  /** Rejects with PROCESS_EXITED when the process ends without `stop`. Never resolves. */
  readonly death: Promise<never>;
  /** Stops the process and returns when it is gone. It is killed when SIGTERM does not end it. @param signal  default: SIGTERM */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

const READY_DEADLINE_MS = 60_000;
const READY_INTERVAL_MS = 100;
const STOP_PATIENCE_MS = 20_000;
const LAST_LINES = 12;

/** Program that ends the child when this process is killed (Linux). Elsewhere Ctrl-C and SIGTERM still end it. */
const DEATH_SIGNAL = '/usr/bin/setpriv';

/**
 * Starts a process and waits until it is ready.
 *
 * @param signal ends the wait; the process is stopped then
 * @throws {PlatformError} PROCESS_EXITED with the path and the last lines of its log
 */
export async function startService(order: ServiceOrder, signal: AbortSignal): Promise<Service> {
  mkdirSync(order.directory, { recursive: true });
  mkdirSync(dirname(order.logFile), { recursive: true });
  const child = launch(order);
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()).once('error', () => resolve()));
  let stopping = false;
  const death = exited.then((): Promise<never> => {
    if (stopping) return new Promise(() => undefined);
    const ending = child.signalCode ?? `exit code ${child.exitCode}`;
    throw new PlatformError('PROCESS_EXITED', {
      reason: `${order.name} ended with ${ending}; its log is ${order.logFile}, which ends with:\n${lastLines(order.logFile)}\n`
    });
  });
  death.catch(() => undefined); // callers await it
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    stopping = true;
    if (!isRunning(child)) return;
    if (signal === 'SIGKILL') killGroup(child);
    else child.kill(signal);
    const patience = setTimeout(() => killGroup(child), STOP_PATIENCE_MS);
    await exited;
    clearTimeout(patience);
  };
  const decided = new AbortController();
  try {
    await Promise.race([waitUntilReady(order, AbortSignal.any([signal, decided.signal])), death]);
  } catch (caught) {
    await stop();
    throw caught;
  } finally {
    decided.abort();
  }
  return { name: order.name, pid: child.pid!, death, stop };
}

/** Starts a process in a group of its own: Ctrl-C reaches only the devnet, which then stops all parts in order. */
function launch({ command, args, env, directory, logFile }: ServiceOrder): ChildProcess {
  const line = [command, ...args];
  const guarded = existsSync(DEATH_SIGNAL) ? [DEATH_SIGNAL, '--pdeathsig', 'TERM', '--', ...line] : line;
  return spawnLogged(guarded[0]!, guarded.slice(1), logFile, { cwd: directory, env });
}

async function waitUntilReady({ name, isReady, logFile }: ServiceOrder, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + READY_DEADLINE_MS;
  let last: unknown;
  while (performance.now() < deadline) {
    try {
      if (await isReady()) return;
    } catch (caught) {
      last = caught;
    }
    await sleep(READY_INTERVAL_MS, undefined, { signal });
  }
  const reason = `${name} is not ready after ${READY_DEADLINE_MS / 1000} s; its log is ${logFile}, which ends with:\n${lastLines(logFile)}\n`;
  throw new PlatformError('PROCESS_EXITED', { reason }, { cause: last });
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code !== 'ESRCH') throw caught;
  }
}

function lastLines(logFile: string): string {
  return readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-LAST_LINES).join('\n');
}

const WATCH_INTERVAL_MS = 500;

/**
 * Watches a process that another module started. `death` rejects with PROCESS_EXITED once it is gone, until `end` is
 * called.
 */
export function watchProcess(
  name: string,
  pid: number,
  logFile: string
): { readonly death: Promise<never>; readonly end: () => void } {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined); // callers await it
  const timer = setInterval(() => {
    try {
      process.kill(pid, 0);
    } catch {
      clearInterval(timer);
      const reason = `${name} ended; its log is ${logFile}, which ends with:\n${lastLines(logFile)}\n`;
      reject(new PlatformError('PROCESS_EXITED', { reason }));
    }
  }, WATCH_INTERVAL_MS);
  return { death: promise, end: () => clearInterval(timer) };
}
