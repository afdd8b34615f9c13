import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startMariaDb } from '../src/devnet/mariadb.ts';

/** Test files at once: each has a process of its own, and many start services of several threads. */
const CONCURRENCY = 2;
/** No test file may take longer. */
const TEST_TIMEOUT_MS = 300_000;
/** How long the runner may take to end after a signal. */
const STOP_PATIENCE_MS = 20_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs node:test with one private MariaDB for all files, and removes it afterwards whatever happens.
 *
 * @param args globs of test files and options of `node --test`; without a glob all tests run
 * @returns the runner's exit code; 130 after a signal
 */
async function runTests(args: readonly string[]): Promise<number> {
  const interrupted = new AbortController();
  for (const signal of SIGNALS) process.on(signal, () => interrupted.abort());
  const directory = mkdtempSync(join(tmpdir(), 'platform-test-'));
  try {
    const database = await startMariaDb(directory, ['--max-connections=1000']);
    try {
      return interrupted.signal.aborted ? 130 : await runNodeTest(args, database.port, interrupted.signal);
    } finally {
      await database.stop();
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The runner leads a process group, so that a signal reaches it and its test processes once each. */
async function runNodeTest(args: readonly string[], port: number, interrupted: AbortSignal): Promise<number> {
  const files = args.some((arg) => !arg.startsWith('-')) ? args : [...args, 'test/**/*.test.ts'];
  // A test that failed may leave connections open: they must not hold up the run.
  const options = ['--test-force-exit', `--test-concurrency=${CONCURRENCY}`, `--test-timeout=${TEST_TIMEOUT_MS}`];
  const runner = spawn(process.execPath, ['--test', ...options, ...files], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, PLATFORM_TEST_MARIADB_PORT: String(port) },
    detached: true
  });
  const signalGroup = (signal: NodeJS.Signals) => {
    try {
      if (runner.pid !== undefined) process.kill(-runner.pid, signal);
    } catch {
      // The group is gone already.
    }
  };
  let patience: NodeJS.Timeout | undefined;
  interrupted.addEventListener('abort', () => {
    signalGroup('SIGTERM');
    patience = setTimeout(() => signalGroup('SIGKILL'), STOP_PATIENCE_MS);
  });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  runner.once('error', reject);
  runner.once('exit', (code) => resolve(interrupted.aborted ? 130 : (code ?? 1)));
  const code = await promise;
  clearTimeout(patience);
  signalGroup('SIGKILL');
  return code;
}

process.exitCode = await runTests(process.argv.slice(2));
