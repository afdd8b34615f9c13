import { spawn } from 'node:child_process';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DATA, makeDataDirectory, startMariaDb } from '../../src/devnet/processes/mariadb.ts';
import { ROOT } from '../root.ts';
import { FORCED_EXIT } from './forced-exit.ts';
import { makeWorkplace, removeWorkplace } from './workplace.ts';

/** Test files at once, unless a run says otherwise: one more than two cores, since most files wait half of their time. */
const CONCURRENCY = 3;
/** Cache of V8's bytecode by the modules' content: a process of tests loads some hundreds of modules. */
const COMPILE_CACHE = join(ROOT, 'node_modules/.cache/tests');
/** Options of MariaDB. Three files have a thousand tables; a definition that is not held is read again at each look. */
const OPTIONS = ['--max-connections=1000', '--table-definition-cache=4000'];
/** Time for the runner to end after a signal. */
const STOP_PATIENCE_MS = 20_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs node:test with the one database. @returns its exit code, 130 after a signal, and its output if `quiet` */
export type RunTests = (args: readonly string[], options?: RunOptions) => Promise<{ code: number; output: string }>;

interface RunOptions {
  readonly directory?: string;
  readonly quiet?: boolean;
  /** Test files at once. */
  readonly concurrency?: number;
  /** Directory for the output of started processes. */
  readonly records?: string;
}

/**
 * Starts one private MariaDB for all test files of `work` and removes it afterwards, with all that the tests wrote.
 *
 * @param work gets the directory in which the tests write
 * @returns the result of `work`; 130 after a signal
 */
export async function withTestDatabase(work: (run: RunTests, workplace: string) => Promise<number>): Promise<number> {
  const interrupted = new AbortController();
  for (const signal of SIGNALS) process.on(signal, () => interrupted.abort());
  const directory = makeWorkplace();
  try {
    // Copied for each MariaDB that a test starts.
    const prepared = join(directory, 'prepared');
    mkdirSync(prepared);
    makeDataDirectory(prepared);
    cpSync(join(prepared, DATA), join(directory, DATA), { recursive: true });
    const database = await startMariaDb(directory, OPTIONS);
    try {
      if (interrupted.signal.aborted) return 130;
      const place = { port: database.port, directory, prepared: join(prepared, DATA) };
      const run: RunTests = (args, options) => runNodeTest(args, place, interrupted.signal, options);
      const code = await work(run, directory);
      return interrupted.signal.aborted ? 130 : code;
    } finally {
      await database.stop();
    }
  } finally {
    removeWorkplace(directory);
  }
}

/** Runs node:test in a process group, so that a signal reaches the runner and each test process once. */
async function runNodeTest(
  args: readonly string[],
  place: { readonly port: number; readonly directory: string; readonly prepared: string },
  interrupted: AbortSignal,
  { directory, quiet = false, concurrency = CONCURRENCY, records }: RunOptions = {}
): Promise<{ code: number; output: string }> {
  if (interrupted.aborted) return { code: 130, output: '' };
  // A test that fails may leave a connection open, and its file would not end.
  const options = ['--test', ...FORCED_EXIT, `--test-concurrency=${concurrency}`];
  const runner = spawn(process.execPath, [...options, ...args], {
    stdio: ['ignore', quiet ? 'pipe' : 'inherit', 'inherit'],
    env: {
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...process.env,
      TMPDIR: place.directory,
      PLATFORM_TEST_MARIADB_PORT: String(place.port),
      PLATFORM_TEST_MARIADB_DATA: place.prepared,
      ...(records ? { PLATFORM_TEST_RECORDS: records } : {})
    },
    detached: true,
    ...(directory === undefined ? {} : { cwd: directory })
  });
  const signalGroup = (signal: NodeJS.Signals) => {
    try {
      if (runner.pid !== undefined) process.kill(-runner.pid, signal);
    } catch {
      // The group is gone already.
    }
  };
  let patience: NodeJS.Timeout | undefined;
  const stop = () => {
    signalGroup('SIGTERM');
    patience = setTimeout(() => signalGroup('SIGKILL'), STOP_PATIENCE_MS);
  };
  interrupted.addEventListener('abort', stop, { once: true });
  let output = '';
  runner.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  runner.once('error', reject);
  runner.once('exit', (code) => resolve(interrupted.aborted ? 130 : (code ?? 1)));
  const code = await promise;
  clearTimeout(patience);
  interrupted.removeEventListener('abort', stop);
  signalGroup('SIGKILL');
  return { code, output };
}
