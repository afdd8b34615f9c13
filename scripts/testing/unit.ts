import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { ROOT } from '../root.ts';
import { FORCED_EXIT } from './forced-exit.ts';

const UNIT = ['test/*.test.ts', 'test/unit/**/*.test.ts'];
/** Files that start other programs or take seconds: `npm test` runs them. */
const LEFT_OUT = [
  'actor-handle',
  'artifact',
  'cli',
  'devnet',
  'directory-lock',
  'indexer/cost',
  'indexer/ledger',
  'indexer/reference',
  'indexer/shares',
  'ops',
  'replay',
  'row-encoder',
  'sql-literal',
  'coin/generated-transactions',
  'tracing',
  'transient-map'
];
/**
 * Files with a process of their own: they change process-wide state (environment, clock) or have deadlines that a busy
 * neighbour would break.
 */
const OWN_PROCESS = [
  '*source-quorum',
  '*directory',
  '*subscriber',
  'coin/node-rpc',
  'explorer/channels',
  'hub/client',
  'heap-share'
];
/**
 * Bundles of test files, each in one process that loads the modules once. More bundles than cores, because many tests
 * wait.
 */
const BUNDLES = availableParallelism() + 3;
const REPORTER = fileURLToPath(new URL('unit-reporter.ts', import.meta.url));
/** Cache of V8's bytecode from earlier runs. Not used for coverage, which needs a new compilation. */
const COMPILE_CACHE = join(ROOT, 'node_modules/.cache/unit');
const COVERED = ['src', 'actors', 'machines', 'workers'];

/** Returns test files by name. @throws {Error} when a name matches no file: the list is out of date */
function filesNamed(names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const files = globSync(`test/unit/**/${name}.test.ts`, { cwd: ROOT });
    if (files.length === 0)
      throw new Error(`no unit test is named ${name}; correct the lists in scripts/testing/unit.ts`);
    return files;
  });
}

/** Returns the files that `runUnit` runs: those with a process of their own, and those that share one. */
function unitFiles(): { readonly own: readonly string[]; readonly together: readonly string[] } {
  const own = filesNamed(OWN_PROCESS);
  const apart = new Set([...own, ...filesNamed(LEFT_OUT)]);
  return { own, together: globSync(UNIT, { cwd: ROOT }).filter((file) => !apart.has(file)) };
}

/** Returns the test files that `runUnit` leaves out. */
export function otherFiles(): readonly string[] {
  const { own, together } = unitFiles();
  const unit = new Set([...own, ...together]);
  return globSync('test/**/*.test.ts', { cwd: ROOT }).filter((file) => !unit.has(file));
}

/** Least percentages of the product that the unit tests alone run; below them they fail. */
const LEAST_COVERED = { lines: 80, branches: 90, functions: 72 } as const;

/** Runs the tests that need only Node. @returns the exit code of node:test */
export function runUnit(withCoverage: boolean): number {
  const { own, together } = unitFiles();
  const directory = mkdtempSync(join(tmpdir(), 'platform-unit-'));
  try {
    const bundles = Array.from({ length: BUNDLES }, (_, number) => {
      const bundle = join(directory, `bundle-${number + 1}.mjs`);
      const files = together.toSorted().filter((_, index) => index % BUNDLES === number);
      writeFileSync(bundle, files.map((file) => `import '${pathToFileURL(join(ROOT, file))}';\n`).join(''));
      return bundle;
    });
    const options = ['--test', ...FORCED_EXIT, '--test-timeout=60000', `--test-concurrency=${BUNDLES + 2}`];
    const coverage = [
      '--experimental-test-coverage',
      ...COVERED.map((room) => `--test-coverage-include=${room}/**/*.ts`),
      ...Object.entries(LEAST_COVERED).map(([what, percent]) => `--test-coverage-${what}=${percent}`)
    ];
    const reporting = [`--test-reporter=${REPORTER}`, '--test-reporter-destination=stdout'];
    const args = [...options, ...reporting, ...(withCoverage ? coverage : []), ...own, ...bundles];
    const env = withCoverage ? process.env : { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE };
    return spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit', env }).status ?? 1;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { coverage: { type: 'boolean', default: false } } });
  process.exitCode = runUnit(values.coverage);
}
